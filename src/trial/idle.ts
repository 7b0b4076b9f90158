import { WirefaultError } from '../errors.js';
import type { FaultSpec } from '../fault/spec.js';
import { attemptsCountable } from '../net/syn-counter.js';
import type { Protocol } from '../sse/dialect.js';
import { VERSION } from '../version.js';
import { versionOfClient, whyNotHere } from './available.js';
import type { TrialClient } from './client.js';
import { gappedAnswer, onlyPulses, PROBE_TABLE, REARMER_TABLE, slowAnswer, TOTAL } from './idle-probes.js';
import { runRefused } from './idle-refused.js';
import {
  type GapResult,
  IDLE_VERSION,
  type IdleResults,
  PROBES,
  type ProbeName,
  type ProbeRow,
  REARMERS,
  type Rearmer,
  type RearmRow,
} from './idle-results.js';
import { type IdleRun, type IdleTask, runIdle } from './idle-run.js';
import { type Bounds, searchLimit } from './idle-search.js';
import {
  closedBy,
  livedMs,
  readRefused,
  readSilence,
  rearmsOf,
  rowOf,
  spreadOf,
  whyNoRequest,
} from './idle-summary.js';

/**
 * Measures a client's patience. Silences come first; what else there is to find out is held against the patience
 * between events: what re-arms it, the shortest pause between events that it minds, and how long an answer may take in all.
 */
export interface IdleOptions {
  /** Without a protocol it is taken from the client's first request. */
  readonly client: Omit<TrialClient, 'protocol'> & { readonly protocol?: Protocol | undefined };
  readonly asks: readonly Ask[];
  readonly repeats: number;
  /** Runs at a time. They spend their time waiting. */
  readonly jobs: number;
  readonly maxWaitMs: number;
  readonly seed: number;
  readonly prompt: string;
  onProgress?(progress: IdleProgress): void;
}

export interface IdleProgress {
  readonly done: number;
  readonly total: number;
  /** `undefined` at the start. */
  readonly etaMs: number | undefined;
  /** The newest result, in words. */
  readonly what: string | undefined;
}

/** What can be asked about a client. */
export const ASKS = [...PROBES, 'rearm', 'gap'] as const;
export type Ask = (typeof ASKS)[number];

export const IDLE_DEFAULTS = { repeats: 3, jobs: 4, maxWaitMs: 60_000 } as const;

/** Signs of life come so often within one patience, and are watched for so many of them. */
const PULSES = 4;
const WATCHED = 2;
/** Less can't be told apart from a client that is busy. */
const MIN_LIMIT_MS = 60;
/** The pause between a slow answer's events, where the client minds none. */
const SLOW_MS = 1000;
const SLOW_EVENTS = 8;
const SEARCH = { toleranceMs: 20, toleranceShare: 0.05 } as const;

/** @throws WirefaultError `client_failed` */
export async function measureIdle(options: IdleOptions): Promise<IdleResults> {
  const { asks, repeats, maxWaitMs, seed } = options;
  const client = await clientOf(options);
  const clientVersion = await versionOfClient(client);
  const comparing = asks.includes('rearm') || asks.includes('gap');
  // A slow answer has to be faster than the client's patience, too.
  const wanted = PROBES.filter(
    (probe) => asks.includes(probe) || (probe === 'between_events' && (comparing || asks.includes('total'))),
  );
  const silences = wanted.filter((probe): probe is Exclude<ProbeName, 'total'> => probe !== 'total');
  const rearmers = asks.includes('rearm') ? REARMERS : [];
  const more = rearmers.length + Number(asks.includes('gap')) + Number(asks.includes('total'));
  const run = runner(client, options, (silences.length + more) * repeats);

  const rows = await Promise.all(silences.map((probe) => silenceRow(probe, run)));
  const between = rows.find(({ probe }) => probe === 'between_events');
  const [rearm, gap, total] = await Promise.all([
    Promise.all(rearmers.map((by) => rearmRow(by, between, run))),
    asks.includes('gap') ? gapOf(between, run) : null,
    asks.includes('total') ? totalRow(between, run) : undefined,
  ]);
  return {
    version: IDLE_VERSION,
    client: client.name,
    clientVersion,
    protocol: client.protocol,
    date: new Date().toISOString(),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
    wirefault: VERSION,
    seed,
    maxWaitMs,
    repeats,
    probes: total ? [...rows, total] : rows,
    rearm,
    gap,
  };
}

/** The client, once it has got a healthy answer: without that no silence of its own would mean anything. */
async function clientOf({ client, maxWaitMs, seed, prompt }: IdleOptions): Promise<TrialClient> {
  const known: TrialClient = { ...client, protocol: client.protocol ?? 'openai-chat' };
  const because = await whyNotHere(known);
  if (because !== undefined) throw failed(known, because);
  const anyProtocol = client.protocol === undefined;
  const run = await runIdle({ client: known, anyProtocol, retries: false, limitMs: maxWaitMs, seed, prompt });
  const [first] = run.main;
  if (!first) {
    const hint = 'the server is at {{baseURL}} in its arguments, and in OPENAI_BASE_URL and ANTHROPIC_BASE_URL';
    throw failed(known, `${whyNoRequest(run)} (${hint})`);
  }
  return anyProtocol ? { ...known, protocol: first.request?.protocol as Protocol } : known;
}

function failed({ name }: TrialClient, why: string): WirefaultError {
  return new WirefaultError('client_failed', `client ${name}: ${why}`);
}

/** Runs of one client, of which so many go on at a time. */
interface Runner {
  readonly options: IdleOptions;
  readonly client: TrialClient;
  /** As often as results are wanted; `told` says what came of one, for the progress. */
  repeated<T>(what: string, one: () => Promise<T>, told: (result: T) => string): Promise<T[]>;
  watched(task: Pick<IdleTask, 'fault' | 'early' | 'retries' | 'limitMs'>): Promise<IdleRun>;
  /** Results that will not come. */
  skip(what: string, why: string): void;
}

function runner(client: TrialClient, options: IdleOptions, total: number): Runner {
  const { jobs, repeats, seed, prompt, onProgress } = options;
  const startMs = performance.now();
  const waiting: (() => void)[] = [];
  let free = Math.max(1, jobs);
  let done = 0;
  const progress = (what?: string): void => {
    const etaMs = done === 0 ? undefined : ((performance.now() - startMs) / done) * (total - done);
    onProgress?.({ done, total, etaMs, what });
  };
  const inTurn = async <T>(one: () => Promise<T>): Promise<T> => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await one();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
  progress();
  return {
    options,
    client,
    repeated: (what, one, told) =>
      Promise.all(
        Array.from({ length: repeats }, async () => {
          const result = await inTurn(one);
          done++;
          progress(`${what}: ${told(result)}`);
          return result;
        }),
      ),
    watched: (task) => runIdle({ client, seed, prompt, ...task }),
    skip: (what, why) => {
      done += repeats;
      progress(`${what}: ${why}`);
    },
  };
}

async function silenceRow(probe: Exclude<ProbeName, 'total'>, run: Runner): Promise<ProbeRow> {
  const { fault, early = false, ...what } = PROBE_TABLE[probe];
  const { client, options } = run;
  const { maxWaitMs: limitMs, prompt } = options;
  const told = ({ outcome, patienceMs }: { outcome: string; patienceMs: number | null }): string =>
    patienceMs === null ? outcome : `${patienceMs} ms`;
  if (!fault) {
    const countable = (await attemptsCountable()) === undefined;
    const one = async () => readRefused(await runRefused({ client, limitMs, prompt }));
    const reads = await run.repeated(probe, one, told);
    return rowOf({ probe, ...what, ...(countable ? {} : { from: 'its start', measuredBy: 'process' }) }, reads);
  }
  const one = async () => readSilence(await run.watched({ fault, early, retries: true, limitMs }));
  return rowOf({ probe, ...what }, await run.repeated(probe, one, told));
}

/** How long a run with one answer lived; `null`: longer than it was watched. */
async function lived(run: Runner, fault: FaultSpec, limitMs: number, since: 'request' | 'first_write') {
  const watched = await run.watched({ fault, retries: false, limitMs });
  const [first] = watched.main;
  if (!first) return { problem: whyNoRequest(watched), livedMs: null, closed: 'none' } as const;
  const ms = livedMs(first, watched, since);
  const unended = ms === undefined && !watched.open.has(first.exchange);
  const problem = unended ? 'the connection was not ended by the client' : null;
  return { problem, livedMs: ms ?? null, closed: closedBy(first, watched) ?? 'none' } as const;
}

/** The patience between events that all else is held against: the longest, so that no late run looks like a re-armed one. */
function patienceOf(between: ProbeRow | undefined): { readonly limitMs: number } | { readonly because: string } {
  const limitMs = between?.outcome === 'limit' ? between.maxMs : null;
  if (limitMs === null) return { because: between?.repeats[0]?.because ?? 'no limit between events' };
  return limitMs < MIN_LIMIT_MS ? { because: 'its patience between events is too short to tell' } : { limitMs };
}

async function rearmRow(by: Rearmer, between: ProbeRow | undefined, run: Runner): Promise<RearmRow> {
  const { meaning, event } = REARMER_TABLE[by];
  const patience = patienceOf(between);
  if ('because' in patience) {
    run.skip(by, patience.because);
    const unknown = { limitMs: null, everyMs: null, livedMs: [], watchedMs: null };
    return { by, meaning, rearms: null, ...unknown, because: patience.because };
  }
  const { limitMs } = patience;
  const everyMs = Math.round(limitMs / PULSES);
  const watchedMs = Math.round(limitMs * WATCHED);
  const one = () => lived(run, onlyPulses(event, everyMs), watchedMs, 'first_write');
  const reads = await run.repeated(by, one, (read) => read.problem ?? `${read.livedMs ?? `over ${watchedMs}`} ms`);
  const times = reads.flatMap((read) => (read.problem === null ? [read.livedMs] : []));
  return { by, meaning, limitMs, everyMs, watchedMs, livedMs: times, ...rearmsOf(limitMs, times) };
}

async function totalRow(between: ProbeRow | undefined, run: Runner): Promise<ProbeRow> {
  const { maxWaitMs } = run.options;
  const patience = patienceOf(between);
  const everyMs = 'because' in patience ? Math.min(SLOW_MS, maxWaitMs / SLOW_EVENTS) : patience.limitMs / 2;
  const one = () => lived(run, slowAnswer(Math.round(everyMs)), maxWaitMs, 'request');
  const told = (read: Awaited<ReturnType<typeof one>>) => read.problem ?? `${read.livedMs ?? `over ${maxWaitMs}`} ms`;
  const reads = await run.repeated('total', one, told);
  return rowOf(
    { probe: 'total', ...TOTAL },
    reads.map(({ problem: because, livedMs: patienceMs, closed }) => ({
      outcome: because === null ? (patienceMs === null ? 'no_limit' : 'gave_up') : 'not_measured',
      patienceMs,
      closed,
      retries: null,
      because,
    })),
  );
}

async function gapOf(between: ProbeRow | undefined, run: Runner): Promise<GapResult> {
  const { maxWaitMs } = run.options;
  const patience = patienceOf(between);
  if ('because' in patience) {
    run.skip('gap', patience.because);
    return { ...spreadOf([]), found: [], because: patience.because };
  }
  const search = { startMs: patience.limitMs / 2, maxMs: maxWaitMs, ...SEARCH };
  const outlives = async (ms: number): Promise<boolean> => {
    const gapMs = Math.round(ms);
    const watched = await run.watched({ fault: gappedAnswer(gapMs), retries: false, limitMs: gapMs * 4 });
    const [first] = watched.main;
    if (!first) throw failed(run.client, whyNoRequest(watched));
    return livedMs(first, watched, 'request') === undefined;
  };
  const one = () => searchLimit(search, outlives);
  const told = ({ survivedMs, failedMs }: Bounds): string => `from ${survivedMs ?? 0} to ${failedMs ?? 'over'} ms`;
  const found = await run.repeated('gap', one, told);
  const limits = found.map(({ survivedMs, failedMs }) =>
    failedMs === null ? null : ((survivedMs ?? 0) + failedMs) / 2,
  );
  return { ...spreadOf(limits), found, because: null };
}
