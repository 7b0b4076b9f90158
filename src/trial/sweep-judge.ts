import type { Ledger } from '../proof/ledger.js';
import type { Judgement, RunEvidence } from './evidence.js';
import { judge } from './judge.js';
import { isWhole, shownBlocks } from './shown-blocks.js';

/** What the plan of a cut says, which the ledger has to prove. */
export interface PlannedCut {
  readonly position: string;
  /** In its own framing, which for `eof` is another one than that of the whole answer. */
  readonly offset: number;
  readonly planBytes: number;
  readonly writtenBytes: number;
}

export interface CutTrial {
  readonly run: RunEvidence;
  readonly usual: RunEvidence;
  readonly planned: PlannedCut;
}

/**
 * The verdict on one cut: the matrix's, but that a cut behind the protocol's end is no failure, and that the ledger has
 * to prove the very byte. Pure.
 */
export function judgeCut({ run, usual, planned }: CutTrial): Judgement {
  const judged = judge({ run, healthy: false, control: undefined, usual });
  const [first] = run.main;
  if (!first) return judged;
  const elsewhere = misplaced(first, planned);
  if (elsewhere !== undefined) return { verdict: 'invalid', because: elsewhere };
  if (first.terminal?.delivered && claimsSuccess(run) && isSilentOrUnproved(judged)) {
    // It may go as soon as it has the terminal, and then nothing proves what comes behind; nothing has to.
    const whole = isWhole(first, shownBlocks(run.shown, run.main));
    if (whole) return { verdict: 'complete', because: 'the terminal was delivered, and the whole answer was shown' };
  }
  if (judged.verdict !== 'invalid' && first.bytes.written !== planned.writtenBytes) {
    const because = `${first.bytes.written} bytes were written, not ${planned.writtenBytes}`;
    return { verdict: 'invalid', because };
  }
  return judged;
}

function misplaced({ plan, cut }: Ledger, planned: PlannedCut): string | undefined {
  if (plan.bytes !== planned.planBytes) {
    return `its answer had ${plan.bytes} bytes, not ${planned.planBytes}: it did not ask as it did without a fault`;
  }
  if (cut?.position === planned.position && cut.offset === planned.offset) return undefined;
  return `the cut was at ${cut ? `${cut.position}, byte ${cut.offset}` : 'no place'}, not at ${planned.position}`;
}

function claimsSuccess({ exitCode, structuredError, timedOut, capped }: RunEvidence): boolean {
  return exitCode === 0 && structuredError === null && !timedOut && !capped;
}

function isSilentOrUnproved({ verdict }: Judgement): boolean {
  return verdict === 'silent' || verdict === 'invalid';
}
