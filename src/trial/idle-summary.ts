import { rounded } from '../proof/account.js';
import type { Ledger } from '../proof/ledger.js';
import type { RefusedRun } from './idle-refused.js';
import type { IdleRepeat, ProbeRow, Retries } from './idle-results.js';
import type { IdleRun } from './idle-run.js';

/** What runs tell of a client's patience. Pure. */

type Read = Omit<IdleRepeat, 'repeat'>;

/** An answer of the server's that keeps nobody waiting. */
const FAILED: readonly string[] = ['cut_unreached', 'server_error'];

function notMeasured(because: string): Read {
  return { outcome: 'not_measured', patienceMs: null, closed: 'none', retries: null, because };
}

/** Whether the client ended an exchange by itself, and how. */
export function closedBy(ledger: Ledger, { open }: Pick<IdleRun, 'open'>): 'fin' | 'rst' | undefined {
  if (open.has(ledger.exchange)) return undefined;
  const { first } = ledger.teardown;
  return first === 'client_fin' ? 'fin' : first === 'client_rst' ? 'rst' : undefined;
}

/** Milliseconds from the request, or from the write that `since` names if there was one, to the client's end; `undefined` where it didn't end it. */
export function livedMs(
  ledger: Ledger,
  run: Pick<IdleRun, 'open'>,
  since: 'request' | 'first_write' | 'last_write',
): number | undefined {
  const { clientEndMs, firstWriteMs, lastWriteMs } = ledger.times;
  if (!closedBy(ledger, run) || typeof clientEndMs !== 'number') return undefined;
  const start = { request: 0, first_write: firstWriteMs, last_write: lastWriteMs }[since] ?? 0;
  return Math.max(0, rounded(clientEndMs - start));
}

export function whyNoRequest({ over, process }: Pick<IdleRun, 'over' | 'process'>): string {
  if (process.failed !== undefined) return `it could not be started: ${process.failed}`;
  if (over === 'no_request') return 'it sent no main request';
  const how = process.signal ?? `exit code ${process.exitCode}`;
  const [said] = process.stderr.trim().split('\n').slice(-1);
  return `it ended (${how}) without a main request${said ? `: ${said.slice(0, 200)}` : ''}`;
}

/** A silence that was met by the first of the main requests. */
export function readSilence(run: IdleRun): Read {
  const [first] = run.main;
  if (!first) return notMeasured(whyNoRequest(run));
  if (FAILED.includes(first.outcome)) return notMeasured('its answer has no such place');
  const patienceMs = livedMs(first, run, 'last_write');
  const retries = retriesOf(run);
  if (patienceMs !== undefined) {
    return { outcome: 'gave_up', patienceMs, closed: closedBy(first, run) ?? 'none', retries, because: null };
  }
  const [, next] = run.main;
  if (run.open.has(first.exchange) && next) {
    const askedAgainMs = startOf(next) - startOf(first) - (first.times.lastWriteMs ?? 0);
    return {
      outcome: 'gave_up',
      patienceMs: Math.max(0, rounded(askedAgainMs)),
      closed: 'none',
      retries,
      because: LEFT,
    };
  }
  if (run.open.has(first.exchange)) {
    return { outcome: 'no_limit', patienceMs: null, closed: 'none', retries, because: null };
  }
  return notMeasured('the connection was not ended by the client');
}

const LEFT = 'it asked again, and left the connection open: until then';

const startOf = ({ times }: Ledger): number => Date.parse(times.requestAt);

function retriesOf({ main, over, open }: IdleRun): Retries {
  const pausesMs = main.slice(1).map((ledger, n) => {
    const before = main[n];
    const ended = before ? startOf(before) + (before.times.clientEndMs ?? before.times.endMs) : 0;
    return Math.max(0, rounded(startOf(ledger) - ended));
  });
  return { count: pausesMs.length, pausesMs, capped: over === 'enough' || open.size > 0 };
}

/** Without SYNs all that is known is how long the process ran. */
export function readRefused({ connectsMs, outlived, process }: RefusedRun): Read {
  if (process.failed !== undefined) return notMeasured(`it could not be started: ${process.failed}`);
  if (connectsMs?.length === 0) return notMeasured('it never connected');
  const pausesMs = connectsMs?.slice(1).map((ms, n) => rounded(ms - (connectsMs[n] ?? 0)));
  const retries = pausesMs ? { count: pausesMs.length, pausesMs, capped: outlived } : null;
  const patienceMs = outlived ? null : rounded(connectsMs?.at(-1) ?? process.durationMs);
  return { outcome: outlived ? 'no_limit' : 'gave_up', patienceMs, closed: 'none', retries, because: null };
}

export interface Spread {
  readonly minMs: number | null;
  readonly medianMs: number | null;
  readonly maxMs: number | null;
}

/** Of times where `null` is longer than any; of none, all are `null`. An even number of times has the mean of the two in the middle. */
export function spreadOf(times: readonly (number | null)[]): Spread {
  const sorted = times.map((ms) => ms ?? Number.POSITIVE_INFINITY).toSorted((a, b) => a - b);
  const known = (ms: number | undefined): number | null => (ms === undefined || !Number.isFinite(ms) ? null : ms);
  const half = sorted.length / 2;
  const middle = ((sorted[Math.ceil(half) - 1] ?? Number.NaN) + (sorted[Math.floor(half)] ?? Number.NaN)) / 2;
  return { minMs: known(sorted[0]), medianMs: known(middle), maxMs: known(sorted.at(-1)) };
}

export function rowOf(
  what: Pick<ProbeRow, 'probe' | 'meaning' | 'from' | 'measuredBy'>,
  reads: readonly Read[],
): ProbeRow {
  const repeats = reads.map((read, n): IdleRepeat => ({ repeat: n + 1, ...read }));
  const measured = repeats.filter(({ outcome }) => outcome !== 'not_measured');
  const gaveUp = measured.filter(({ outcome }) => outcome === 'gave_up').length;
  const outcome =
    measured.length === 0 ? 'not_measured' : gaveUp === measured.length ? 'limit' : gaveUp === 0 ? 'no_limit' : 'mixed';
  return { ...what, outcome, ...spreadOf(measured.map(({ patienceMs }) => patienceMs)), repeats };
}

/** Longer than one patience, and a good deal shorter than two: what lived so long has been set back at least once. */
const REARMED_SHARE = 1.5;
/** What went so soon did not wait at all. */
const BROKEN_SHARE = 0.5;

/** Whether what was sent in the place of events set the patience back; `null` where that can't be told. */
export function rearmsOf(
  limitMs: number,
  lived: readonly (number | null)[],
): { readonly rearms: boolean | null; readonly because: string | null } {
  if (lived.length === 0) return { rearms: null, because: 'no run could be measured' };
  if (lived.some((ms) => ms !== null && ms < BROKEN_SHARE * limitMs)) {
    return { rearms: null, because: 'it went at once, as if that had broken the answer' };
  }
  const each = lived.map((ms) => ms === null || ms > REARMED_SHARE * limitMs);
  const [rearms = false] = each;
  if (each.some((other) => other !== rearms)) return { rearms: null, because: 'its runs differ' };
  return { rearms, because: null };
}
