import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { ServerEvent } from '../events.js';
import type { FaultServer } from '../fault-server.js';
import type { Ledger } from '../proof/ledger.js';
import { startFaultServer } from '../server.js';
import { clientSchema, type Places, type TrialClient } from './client.js';
import type { RunEvidence } from './evidence.js';
import { readOutput } from './read-output.js';
import { type ClientRun, prepareHome, runClient } from './run-client.js';
import { runInTerminal } from './terminal.js';

/** One run of one client under one fault, with a server of its own. Plain data: it may run in another process. */
export const cellTaskSchema = z
  .object({
    client: clientSchema,
    fault: z.string().describe('the word of the fault; F0 or success for none'),
    prompt: z.string(),
    seed: z.int(),
    dir: z.string().describe('an absolute path, where its evidence goes: output, journal, bytes'),
    paragraphs: z.int().describe('numbered paragraphs in a whole answer'),
    timeoutMs: z.number(),
  })
  .readonly();

export type CellTask = z.infer<typeof cellTaskSchema>;

export const KEY = 'wirefault-trial-key';
export const DEFAULT_MAX_REQUESTS = 30;
/** Paragraphs come in a few deltas each, so that half of an answer has some whole ones. */
const CHUNK_SIZE = 24;
const CHUNK_DELAY_MS = 5;

/** The compiled package, also where this runs from its source. Drivers are programs of their own. */
export const PACKAGE = fileURLToPath(new URL('../../dist', import.meta.url));

export async function runCell(task: CellTask): Promise<RunEvidence> {
  const { client, dir } = task;
  const home = join(dir, 'home');
  await mkdir(home, { recursive: true });
  const cap = new AbortController();
  const maxRequests = client.maxRequests ?? DEFAULT_MAX_REQUESTS;
  const watched = watching(() => {
    if (watched.requests >= maxRequests) cap.abort();
  });
  const server = await startFaultServer({
    sequence: ['success'],
    repeatLast: true,
    randomSeed: task.seed,
    contentBlocks: task.paragraphs,
    chunkSize: CHUNK_SIZE,
    chunkDelayMs: CHUNK_DELAY_MS,
    // Anthropic's streams are compressed for whoever offers gzip, and paragraphs can't be found in compressed bytes.
    fidelity: client.protocol === 'anthropic-messages' ? 'plain' : 'full',
    journal: join(dir, 'journal.jsonl'),
    capture: join(dir, 'bytes'),
    // Main requests are those that meet one of these two rules, and no other.
    rules: [
      { fault: task.fault, once: true, label: 'fault', ...told(client) },
      { fault: 'success', label: 'main', ...told(client) },
    ],
    onEvent: watched.onEvent,
  });
  const { baseURL } = server;
  const places = { baseURL, key: KEY, prompt: task.prompt, dir: home, node: process.execPath, package: PACKAGE };
  try {
    await prepareHome(client, places);
    return await evidenceOf(task, { places, server, watched, cap: cap.signal });
  } finally {
    await server.close();
  }
}

interface Running {
  readonly places: Places;
  readonly server: FaultServer;
  readonly watched: Watched;
  readonly cap: AbortSignal;
}

async function evidenceOf(task: CellTask, { places, server, watched, cap }: Running): Promise<RunEvidence> {
  const { client, dir, timeoutMs } = task;
  let settled: ReadonlySet<number> | undefined;
  const onTimeout = (): void => {
    settled = new Set(server.ledgers.map(({ exchange }) => exchange));
  };
  const options = { places, timeoutMs, cap, onTimeout };
  const run: ClientRun = client.terminal
    ? await runInTerminal(client, client.terminal, {
        ...options,
        dir,
        isIdle: () => watched.requests > 0 && watched.open === 0,
      })
    : await runClient(client, options);
  await server.close();
  await writeFile(join(dir, 'stdout.txt'), run.stdout);
  await writeFile(join(dir, 'stderr.txt'), run.stderr);
  const ledgers = server.ledgers.toSorted((a, b) => a.exchange - b.exchange);
  const isMain = ({ selection }: Ledger): boolean => selection.source === 'rule';
  const { exitCode, signal, durationMs, stdout, stderr, ended, failed } = run;
  const main = ledgers.filter(isMain);
  const whenTimedOut = settled;
  return {
    fault: task.fault,
    stdout,
    stderr: failed === undefined ? stderr : `${stderr}${failed}`,
    ...readOutput(stdout, client.output),
    exitCode,
    signal,
    durationMs,
    timedOut: ended === 'timeout',
    capped: ended === 'capped',
    main,
    open: whenTimedOut ? main.map(({ exchange }) => exchange).filter((exchange) => !whenTimedOut.has(exchange)) : [],
    auxiliary: ledgers.filter((ledger) => !isMain(ledger)),
    foreign: [],
  };
}

/** What of a rule makes it one for a client's main requests. */
export function told({ match, avoid, protocol }: TrialClient) {
  return { protocol, ...(match ? { match } : {}), ...(avoid ? { avoid } : {}) };
}

export interface Watched {
  /** Requests so far, and those that are under way. */
  readonly requests: number;
  readonly open: number;
  onEvent(event: ServerEvent): void;
}

export function watching(onRequest: () => void): Watched {
  let requests = 0;
  let results = 0;
  return {
    get requests() {
      return requests;
    },
    get open() {
      return requests - results;
    },
    onEvent: (event) => {
      if (event.type === 'result') results++;
      if (event.type !== 'request') return;
      requests++;
      onRequest();
    },
  };
}
