import { WirefaultError } from './errors.js';
import type { ServerEvent } from './events.js';
import type { ResolvedOptions } from './options.js';
import { type Bookkeeper, bookkeeper } from './proof/bookkeeper.js';
import type { ByteStore } from './proof/byte-store.js';
import { openCapture } from './proof/capture.js';
import { EVIDENCE_SOURCES, type EvidenceSource, type Kernel } from './proof/counters.js';
import { type Journal, journals, openJournal } from './proof/journal.js';
import { kernelOf } from './proof/kernel.js';
import type { ByteCounts } from './proof/recorder.js';
import type { Naming } from './refused.js';

/** What a server keeps its books with: the source of evidence, the journal, the capture. */
export interface BooksDeps {
  readonly evidence: EvidenceSource;
  readonly ledgerHistory: number;
  readonly redact: boolean;
  readonly bytes: ByteStore | undefined;
  /** Besides the file. */
  readonly beside: Journal | undefined;
  emit(event: ServerEvent): void;
  onBytes(bytes: ByteCounts, lost: number | null): void;
}

/** @throws WirefaultError `bad_option` where the machine doesn't have the source that was asked for */
export async function chosenKernel({ evidence }: ResolvedOptions, naming: Naming): Promise<Kernel> {
  const kernel = await kernelOf(evidence);
  if (kernel) return kernel;
  const allowed = EVIDENCE_SOURCES.join(', ');
  const message = `${naming('evidence')}: "${evidence}" is not to be had on this machine; expected auto, or another of ${allowed}`;
  throw new WirefaultError('bad_option', message);
}

/** The journal and the capture that the options ask for, and the books that are kept with them. */
export async function openBooks(options: ResolvedOptions, deps: BooksDeps): Promise<Bookkeeper> {
  const { emit, redact, ledgerHistory: history, beside, ...rest } = deps;
  const { journal: path, journalMaxBytes: maxBytes, capture: dir, settleTimeoutMs, timeScale } = options;
  const capture =
    dir === undefined
      ? undefined
      : await openCapture({ dir, redact, onLost: (reason) => emit({ type: 'capture_failed', reason }) });
  const file =
    path === undefined
      ? undefined
      : await openJournal({
          path,
          maxBytes,
          onLost: (reason, lostLines) => emit({ type: 'journal_failed', reason, lostLines }),
        });
  const journal = journals([...(file ? [file] : []), ...(beside ? [beside] : [])]);
  const contentBlocks = options.contentBlocks > 0;
  return bookkeeper({ ...rest, history, redact, contentBlocks, settleTimeoutMs, timeScale, journal, capture });
}
