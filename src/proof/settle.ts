import type { Counters, SocketProbe } from './counters.js';

/**
 * Waits until bytes have arrived, for any number of sockets at once: one timer, growing intervals, and a budget for
 * each turn of the event loop, so that thousands of waiting sockets neither block it nor ask the kernel in a storm.
 */
export type EvidenceLevel = 'flushed' | 'acked' | 'read';

export interface Settled {
  /** The level that was waited for: the best one at or below the wanted one that the source can give. */
  readonly level: EvidenceLevel;
  /** Whether that level came to equal the target in time. */
  readonly reached: boolean;
  /** The last counters that were seen; `undefined` where there were none. */
  readonly counters: Counters | undefined;
  /** The socket went away while it was waited for. */
  readonly gone: boolean;
  readonly waitedMs: number;
}

export interface SettleRequest {
  readonly probe: SocketProbe;
  readonly until: EvidenceLevel;
  /** Bytes of the connection that have to be there. */
  readonly target: number;
  readonly timeoutMs: number;
}

export interface Settler {
  settle(request: SettleRequest, done: (settled: Settled) => void): void;
}

/** The first question comes at once; clients on the same host have mostly read by the second or third. */
const FIRST_INTERVAL_MS = 1;
const LONGEST_INTERVAL_MS = 32;
/** Questions cost 50 to 100 µs; a turn of the loop is not held up for longer than this. */
const BUDGET_MS = 4;

interface Waiting {
  readonly request: SettleRequest;
  readonly done: (settled: Settled) => void;
  readonly sinceMs: number;
  dueMs: number;
  intervalMs: number;
  last: Counters | undefined;
}

/** The best level that `counters` can tell of, up to the wanted one. */
function levelOf(counters: Counters, wanted: EvidenceLevel): EvidenceLevel {
  if (wanted === 'read' && counters.read !== null) return 'read';
  return wanted !== 'flushed' && counters.acked !== null ? 'acked' : 'flushed';
}

export function settler(): Settler {
  let waiting: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;
  let wakeMs = Number.POSITIVE_INFINITY;

  function wakeAt(dueMs: number): void {
    if (dueMs >= wakeMs) return;
    clearTimeout(timer);
    wakeMs = dueMs;
    // At least a millisecond, in which the loop is left to others.
    timer = setTimeout(tick, Math.ceil(dueMs - performance.now()));
  }

  function tick(): void {
    wakeMs = Number.POSITIVE_INFINITY;
    const startMs = performance.now();
    const asked = waiting;
    waiting = [];
    const left = asked.filter((one) => {
      const itsTurn = one.dueMs <= startMs && performance.now() - startMs <= BUDGET_MS;
      if (itsTurn) ask(one);
      return !itsTurn;
    });
    // Who was left is the first the next time.
    waiting = [...left, ...waiting];
    wakeAt(left.reduce((earliest, { dueMs }) => Math.min(earliest, dueMs), Number.POSITIVE_INFINITY));
  }

  function ask(one: Waiting): void {
    const looked = one.request.probe.look();
    if (looked instanceof Promise) looked.then((counters) => judge(one, counters));
    else judge(one, looked);
  }

  function judge(one: Waiting, counters: Counters | undefined): void {
    const { until, target, timeoutMs } = one.request;
    const waitedMs = performance.now() - one.sinceMs;
    one.last = counters ?? one.last;
    const level = one.last ? levelOf(one.last, until) : 'flushed';
    const reached = counters !== undefined && (counters[level] ?? 0) >= target;
    const gone = counters === undefined;
    if (reached || gone || waitedMs >= timeoutMs) {
      one.done({ level, reached, counters: one.last, gone, waitedMs });
      return;
    }
    one.dueMs = performance.now() + Math.min(one.intervalMs, timeoutMs - waitedMs);
    one.intervalMs = Math.min(one.intervalMs * 2, LONGEST_INTERVAL_MS);
    waiting.push(one);
    wakeAt(one.dueMs);
  }

  return {
    settle: (request, done) => {
      const nowMs = performance.now();
      ask({ request, done, sinceMs: nowMs, dueMs: nowMs, intervalMs: FIRST_INTERVAL_MS, last: undefined });
    },
  };
}
