import type { Selection } from '../fault/script.js';
import { type WirePlan, writtenPart } from '../fault/wire-plan.js';
import type { Request, RequestHead } from '../http/request.js';
import { type Intent, intentOf, ledgerOf, lostOf, rounded } from './account.js';
import type { ByteStore } from './byte-store.js';
import type { Capture } from './capture.js';
import type { EvidenceSource } from './counters.js';
import type { Ledger, UpstreamAccount } from './ledger.js';
import type { ByteCounts, ExchangeEvidence, ExchangeRecorder } from './recorder.js';

/** The books of one exchange, from its request to the ledger that can be made of it. */
export interface Entry {
  readonly connection: number;
  readonly onConnection: number;
  /** `undefined` where the fault came before it was read. */
  readonly head: RequestHead | undefined;
  /** `undefined` where it was not read whole. */
  readonly request: Request | undefined;
  /** Empty where it is not known. */
  readonly protocol: string;
  readonly selection: Selection;
  readonly generation: number;
  readonly droppedLanes: number;
  /** Its number, where exchanges of several processes are counted together. */
  readonly exchange?: number | undefined;
  /** Which state its fault was taken from, where there is a shared one. */
  readonly state?: 'shared' | 'local' | undefined;
  readonly plan: WirePlan;
  /** `undefined` where no upstream was asked. */
  readonly upstream?: undefined;
}

/** What an answer from somewhere else came to be, which isn't known before it has ended. */
export interface CameToBe {
  /** Without its bytes. */
  readonly plan: WirePlan;
  readonly intent: Intent;
  readonly upstream: UpstreamAccount;
  /** What the upstream sent, where bytes are kept. */
  readonly upstreamBytes?: readonly Buffer[];
}

export interface OpenExchange {
  /** The plan, whose bytes may end where nothing more is written. */
  readonly plan: WirePlan;
  onWrite(segment: Buffer): void;
  onTeardown(): void;
  /** The play has ended: the evidence is settled in the background. */
  ended(end: ExchangeEnd, recorder: ExchangeRecorder): void;
}

export interface ExchangeEnd {
  readonly outcome: string;
  readonly teardown: string;
  readonly flushedBytes: number;
  /** Nothing has ended the connection. */
  readonly goesOn: boolean;
  /** Read of a request that was not looked at. */
  readonly requestBytes: number;
  /** Instead of the plan that was given when the books were opened. */
  readonly came?: CameToBe | undefined;
}

/** What the books of all exchanges are kept with. */
export interface HowKept {
  readonly evidence: EvidenceSource;
  readonly redact: boolean;
  /** Whether answers are told in numbered paragraphs. */
  readonly contentBlocks: boolean;
  readonly settleTimeoutMs: number;
  readonly timeScale: number;
  readonly capture: Capture | undefined;
  /** The newest exchanges' bytes, where somebody may ask for them. */
  readonly bytes: ByteStore | undefined;
  /** Told of the bytes of each exchange, as it is settled. */
  onBytes?(bytes: ByteCounts, lost: number | null): void;
}

export interface ExchangeBooks extends HowKept {
  /** Whether there will be ledgers. */
  readonly wanted: boolean;
  /** Counts whole answers by their key; returns the count with this one. */
  countDelivered(key: string, whole: boolean): number;
  /** The ledger can be made. */
  settle(exchange: number, make: () => Ledger): void;
  /** Nothing more will come of this exchange. */
  close(exchange: number): void;
}

/** What a ledger is made of is kept up to this size until somebody asks for it; of what is longer it is made at once. */
const MAX_LATER_BYTES = 16_384;

export function openExchange(exchange: number, entry: Entry, options: ExchangeBooks): OpenExchange {
  const { capture, bytes, wanted } = options;
  const requestAtMs = Date.now();
  const startMs = performance.now();
  const plan = writtenPart(entry.plan);
  const { connection, onConnection, head, request, protocol, selection, generation, droppedLanes, state } = entry;
  const size = plan.bytes.length + (request?.body.length ?? 0);
  // The bytes of the plan that aren't written aren't kept, and keyed answers are counted as they settle.
  const later = plan === entry.plan && size <= MAX_LATER_BYTES && !isKeyed(selection);
  const intended = wanted && !later ? intentOf(entry.plan, options.contentBlocks) : undefined;
  let segments: Buffer[] | undefined = capture || bytes ? [] : undefined;
  let keptBytes = 0;
  let firstWriteMs: number | undefined;
  let lastWriteMs: number | undefined;
  let teardownMs: number | undefined;
  const sinceStart = (ms: number | undefined): number | null =>
    ms === undefined ? null : Math.max(0, rounded(ms - startMs));

  function settled(end: ExchangeEnd, endMs: number, seen: ExchangeEvidence): void {
    const { came } = end;
    const make = (): Ledger => {
      const times = {
        requestAt: new Date(requestAtMs).toISOString(),
        firstWriteMs: sinceStart(firstWriteMs),
        lastWriteMs: sinceStart(lastWriteMs),
        endMs: Math.max(0, rounded(endMs - startMs)),
        clientEndMs: sinceStart(seen.clientEndAtMs),
        teardownMs: sinceStart(teardownMs),
      };
      const { outcome, teardown, requestBytes } = end;
      return ledgerOf({
        exchange,
        connection,
        onConnection,
        evidence: options.evidence,
        head,
        request,
        requestBytes,
        protocol,
        timeScale: options.timeScale,
        selection,
        generation,
        droppedLanes,
        state,
        countDelivered: options.countDelivered,
        plan: came?.plan ?? plan,
        intent: came?.intent ?? intended ?? intentOf(plan, options.contentBlocks),
        upstream: came?.upstream,
        seen,
        outcome,
        teardown,
        redact: options.redact,
        times,
      });
    };
    if (wanted) options.settle(exchange, came || !later ? constant(make()) : make);
    options.onBytes?.(seen.bytes, lostOf(seen));
    if (!segments) return;
    const raw = request?.raw ?? NO_BYTES;
    const all = segments.length === 1 && segments[0] ? segments[0] : Buffer.concat(segments);
    const sent = all.subarray(0, seen.bytes.flushed);
    capture?.store(exchange, raw, sent, came?.upstreamBytes);
    bytes?.store(exchange, raw, sent);
  }

  return {
    plan,
    onWrite: (segment) => {
      lastWriteMs = performance.now();
      firstWriteMs ??= lastWriteMs;
      keptBytes += segment.length;
      // What is too long for memory isn't kept there: an answer that passes has any length.
      if (!capture && bytes && keptBytes > bytes.maxBytes) segments = undefined;
      segments?.push(segment);
    },
    onTeardown: () => {
      teardownMs = performance.now();
    },
    ended: (end, recorder) => {
      if (!wanted && !capture && !bytes) {
        options.close(exchange);
        return;
      }
      const endMs = performance.now();
      const { flushedBytes, goesOn } = end;
      recorder.evidence({ flushedBytes, goesOn, timeoutMs: options.settleTimeoutMs }, (seen) => {
        try {
          settled(end, endMs, seen);
        } finally {
          options.close(exchange);
        }
      });
    },
  };
}

const NO_BYTES = Buffer.alloc(0);

function constant<T>(value: T): () => T {
  return () => value;
}

function isKeyed(selection: Selection): boolean {
  return selection.kind === 'behavior' && selection.key !== undefined;
}
