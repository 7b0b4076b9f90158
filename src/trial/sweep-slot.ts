import { setTimeout as sleep } from 'node:timers/promises';
import { WirefaultError } from '../errors.js';
import type { RequestRecord } from '../events.js';
import type { FaultServer } from '../fault-server.js';
import type { GivenOptions } from '../options.js';
import type { Ledger } from '../proof/ledger.js';
import { startFaultServer } from '../server.js';
import { DEFAULT_MAX_REQUESTS, KEY, PACKAGE, told, type Watched, watching } from './cell.js';
import type { TrialClient } from './client.js';
import type { RunEvidence } from './evidence.js';
import { judge } from './judge.js';
import { readOutput } from './read-output.js';
import type { ClientRun } from './run-client.js';
import type { SweptClient } from './sweep-client.js';

/** A server and a client that take one cut after the other. */
export interface Slot {
  /** A whole answer. @throws WirefaultError `plan_impossible` where the client doesn't show it whole */
  healthy(): Promise<Healthy>;
  /** An answer with the fault, in the words of the fault language. */
  cut(fault: string): Promise<RunEvidence>;
  close(): Promise<void>;
}

export interface Healthy {
  readonly evidence: RunEvidence;
  readonly ledger: Ledger;
  readonly request: RequestRecord;
}

export interface SlotOptions {
  readonly client: TrialClient;
  readonly prompt: string;
  readonly timeoutMs: number;
  /** What the answers say: see `contentOf`. */
  readonly content: GivenOptions;
}

/** Deltas of such a length make an answer of some paragraphs a dozen events. */
const CHUNK_SIZE = 48;

/** The options that shape the answers, for the server and for whoever computes them beforehand. */
export function contentOf(protocol: TrialClient['protocol'], seed: number, paragraphs: number): GivenOptions {
  return {
    randomSeed: seed,
    contentBlocks: paragraphs,
    chunkSize: CHUNK_SIZE,
    chunkDelayMs: 0,
    disconnectDelayMs: 0,
    // Compressed bytes have no events that a cut could be held against.
    fidelity: protocol === 'anthropic-messages' ? 'plain' : 'full',
  };
}

/** The first question loads an SDK. */
const WARM_UP_MS = 60_000;
/** Exchanges of a client that has ended settle at once; a driver may hold one open. */
const IDLE_LIMIT_MS = 5_000;
/** Of one cut; others are of no use any more. */
const LEDGERS_KEPT = 200;

export async function openSlot(options: SlotOptions, swept: SweptClient): Promise<Slot> {
  const { client, prompt } = options;
  let watched = nothingWatched();
  let server = await serverFor(options, (event) => watched.onEvent(event));
  let before = 0;

  async function run(fault: string | undefined, timeoutMs: number): Promise<RunEvidence> {
    // The same ids, paragraphs and lengths for each cut.
    server.reset();
    server.clearRules();
    if (fault !== undefined) server.inject({ fault, once: true, label: 'fault', ...told(client) });
    server.inject({ fault: 'success', label: 'main', ...told(client) });
    const cap = new AbortController();
    const maxRequests = client.maxRequests ?? DEFAULT_MAX_REQUESTS;
    watched = watching(() => {
      if (watched.requests >= maxRequests) cap.abort();
    });
    let settled: ReadonlySet<number> | undefined;
    const onTimeout = (): void => {
      settled = new Set(server.ledgers.map(({ exchange }) => exchange));
    };
    const places = { baseURL: server.baseURL, key: KEY, prompt, node: process.execPath, package: PACKAGE };
    const ran = await swept.run({ places, timeoutMs, cap: cap.signal, onTimeout });
    const isIdle = await Promise.race([server.idle().then(() => true), sleep(IDLE_LIMIT_MS, false, { ref: false })]);
    if (!isIdle) await server.close();
    const ledgers = server.ledgers
      .filter(({ exchange }) => exchange > before)
      .toSorted((a, b) => a.exchange - b.exchange);
    before = Math.max(before, ...ledgers.map(({ exchange }) => exchange));
    if (!isIdle) {
      server = await serverFor(options, (event) => watched.onEvent(event));
      before = 0;
    }
    return evidenceOf(client, fault ?? 'success', { ran, ledgers, settled });
  }

  async function healthy(): Promise<Healthy> {
    const evidence = await run(undefined, Math.max(WARM_UP_MS, options.timeoutMs));
    const { verdict, because } = judge({ run: evidence, healthy: true, control: undefined, usual: undefined });
    const [ledger] = evidence.main;
    const request = server.requests.findLast(({ attempt }) => attempt === ledger?.attempt);
    if (verdict === 'complete' && ledger && request) return { evidence, ledger, request };
    const lines = evidence.stderr.trim().split('\n');
    // Node prints its version last, and the error above it.
    const said = lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? '';
    const why = [because, evidence.structuredError ?? said].filter((part) => part !== '').join(': ');
    throw new WirefaultError('plan_impossible', `${client.name} can't be swept: without a fault, ${why}`);
  }

  return {
    healthy,
    cut: async (fault) => {
      if (!swept.warm) await healthy();
      return run(fault, options.timeoutMs);
    },
    close: async () => {
      await swept.close();
      await server.close();
    },
  };
}

function serverFor({ content }: SlotOptions, onEvent: Watched['onEvent']): Promise<FaultServer> {
  return startFaultServer({
    ...content,
    sequence: ['success'],
    repeatLast: true,
    control: false,
    requestHistory: LEDGERS_KEPT,
    ledgerHistory: LEDGERS_KEPT,
    onEvent,
  });
}

function nothingWatched(): Watched {
  return watching(() => {});
}

interface Left {
  readonly ran: ClientRun;
  readonly ledgers: readonly Ledger[];
  /** Exchanges that were through when the limit came. */
  readonly settled: ReadonlySet<number> | undefined;
}

function evidenceOf(client: TrialClient, fault: string, { ran, ledgers, settled }: Left): RunEvidence {
  const { stdout, stderr, exitCode, signal, durationMs, ended, failed } = ran;
  const isMain = ({ selection }: Ledger): boolean => selection.source === 'rule';
  const main = ledgers.filter(isMain);
  return {
    fault,
    stdout,
    stderr: failed === undefined ? stderr : `${stderr}${failed}`,
    ...readOutput(stdout, client.output),
    exitCode,
    signal,
    durationMs,
    timedOut: ended === 'timeout',
    capped: ended === 'capped',
    main,
    open: settled ? main.map(({ exchange }) => exchange).filter((exchange) => !settled.has(exchange)) : [],
    auxiliary: ledgers.filter((ledger) => !isMain(ledger)),
    foreign: [],
  };
}
