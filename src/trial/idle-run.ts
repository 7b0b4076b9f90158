import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerEvent } from '../events.js';
import type { FaultSpec } from '../fault/spec.js';
import type { FaultServer } from '../fault-server.js';
import { MAX_TIMER_MS } from '../option-rows.js';
import type { Ledger } from '../proof/ledger.js';
import { startFaultServer } from '../server.js';
import { atExit } from './at-exit.js';
import { PACKAGE } from './cell.js';
import type { Places, TrialClient } from './client.js';
import { type ClientRun, prepareHome, runClient } from './run-client.js';
import { runInTerminal } from './terminal.js';

/** One run of a client that is kept waiting, with a server of its own; watched until enough is known. */
export interface IdleTask {
  readonly client: TrialClient;
  /** What its main requests get; a healthy answer without it. */
  readonly fault?: FaultSpec | undefined;
  /** The fault hits every connection, before there is a request. */
  readonly early?: boolean;
  /** A request of any protocol is a main one. */
  readonly anyProtocol?: boolean;
  /** Retries get the fault as well, and are waited for; otherwise the run is over with its first answer. */
  readonly retries: boolean;
  /** An answer that lasts longer is not waited for any more, nor is the next request. */
  readonly limitMs: number;
  readonly seed: number;
  readonly prompt: string;
}

export interface IdleRun {
  /** Of main requests, in the order of their arrival. */
  readonly main: readonly Ledger[];
  /** Exchanges that the client had not ended when the run was. */
  readonly open: ReadonlySet<number>;
  /** Why it is over: `limit` came, or no next request did (`quiet`), `enough` was seen, or the client ended by itself. */
  readonly over: IdleEnd | 'ended';
  readonly process: ClientRun;
}

type IdleEnd = 'limit' | 'quiet' | 'enough' | 'no_request';

const KEY = 'wirefault-trial-key';
/** More retries than that tell nothing new, and each takes as long as the client's patience. */
const MAX_ATTEMPTS = 10;
/** From the client's start to its first request. */
const START_LIMIT_MS = 60_000;
/** So that a short text comes in a few deltas. */
const CHUNK_SIZE = 8;
const HEALTHY = 'success';
/** What requests get that aren't main ones. */
const BESIDE = 'beside';
/** Within that the end of a process is seen at its sockets, also by whoever looks every 100 ms. */
const SEEN_MS = 2000;

export async function runIdle(task: IdleTask): Promise<IdleRun> {
  const { client, fault = HEALTHY, early = false } = task;
  const stop = new AbortController();
  let over: IdleRun['over'] = 'ended';
  let open: ReadonlySet<number> = new Set();
  const end = (why: IdleEnd): void => {
    if (stop.signal.aborted) return;
    over = why;
    // Asked before the client is killed, which ends the rest.
    open = new Set(server.requests.flatMap(({ outcome }, n) => (outcome === undefined ? [n + 1] : [])));
    stop.abort();
  };
  const watch = watching(task, end);
  const told = early ? {} : conditionsOf(task);
  const server = await startFaultServer({
    sequence: [BESIDE],
    behaviors: { [BESIDE]: { extends: HEALTHY } },
    repeatLast: true,
    randomSeed: task.seed,
    chunkSize: CHUNK_SIZE,
    chunkDelayMs: 0,
    // Events can't be cut in compressed streams, which Anthropic has for whoever offers gzip.
    fidelity: 'plain',
    rules: [{ fault, label: 'main', ...told }],
    onEvent: watch.onEvent,
  });
  try {
    const ran = await inHome(client, server.baseURL, task.prompt, async (places) => {
      watch.begin();
      return startClient(client, places, stop.signal);
    });
    watch.end();
    // The process is gone sooner than its connections.
    if (over === 'ended') await Promise.race([server.idle(), sleep(SEEN_MS, undefined, { ref: false })]);
    await server.close();
    return { main: mainOf(server), open, over, process: ran };
  } finally {
    watch.end();
    await server.close();
  }
}

/** Main requests are those that met the rule. */
function mainOf({ ledgers }: FaultServer): Ledger[] {
  return ledgers.filter(({ selection }) => selection.source === 'rule').toSorted((a, b) => a.exchange - b.exchange);
}

function conditionsOf({ client, anyProtocol = false }: IdleTask) {
  const { match, avoid, protocol } = client;
  return {
    ...(anyProtocol ? {} : { protocol }),
    ...(match ? { match } : {}),
    ...(avoid ? { avoid } : {}),
  };
}

/** Runs something with a home that is gone afterwards. */
export async function inHome<T>(
  client: TrialClient,
  baseURL: string,
  prompt: string,
  run: (places: Places) => Promise<T>,
): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'wf-idle-'));
  const forget = atExit(() => rmSync(dir, { recursive: true, force: true }));
  try {
    const places = { baseURL, key: KEY, prompt, dir, node: process.execPath, package: PACKAGE };
    await prepareHome(client, places);
    return await run(places);
  } finally {
    forget();
    await rm(dir, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  }
}

/** Starts a client that nothing ends but itself and `cap`. */
export function startClient(client: TrialClient, places: Places, cap: AbortSignal): Promise<ClientRun> {
  const options = { places, timeoutMs: MAX_TIMER_MS, cap };
  return client.terminal
    ? runInTerminal(client, client.terminal, { ...options, dir: places.dir, isIdle: () => false })
    : runClient(client, options);
}

interface Watch {
  begin(): void;
  onEvent(event: ServerEvent): void;
  end(): void;
}

/** Says when enough is known. At any time one clock runs: towards the first request, the answer's end, or the next request. */
function watching({ retries, limitMs }: IdleTask, over: (why: IdleEnd) => void): Watch {
  let requests = 0;
  let open = 0;
  let timer: NodeJS.Timeout | undefined;
  const within = (ms: number, why: IdleEnd): void => {
    clearTimeout(timer);
    timer = setTimeout(over, Math.min(ms, MAX_TIMER_MS), why);
  };
  return {
    begin: () => within(START_LIMIT_MS, 'no_request'),
    onEvent: (event) => {
      if ((event.type !== 'request' && event.type !== 'result') || event.behavior === BESIDE) return;
      if (event.type === 'request') {
        requests++;
        open++;
        within(limitMs, 'limit');
        return;
      }
      open--;
      if (!retries || requests >= MAX_ATTEMPTS) over('enough');
      else if (open === 0) within(limitMs, 'quiet');
    },
    end: () => clearTimeout(timer),
  };
}
