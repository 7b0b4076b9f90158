import { createHash } from 'node:crypto';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf, messageOf } from '../errors.js';
import type { ScriptWord } from '../fault/word.js';
import type { FaultServer } from '../fault-server.js';
import { startFaultServer } from '../server.js';
import type { EvidenceSource } from './counters.js';
import type { FetchResult, TeardownResult } from './doctor-report.js';
import type { Ledger } from './ledger.js';

/** Each teardown, played to a raw witness of our own, whose word is held against the ledger's; and to `fetch`. */

type End = TeardownResult['saw'];

export interface TeardownCase {
  readonly name: string;
  readonly behavior: ScriptWord;
  /** `open`: the connection can be used on. */
  readonly end: End;
  /** What the ledger shall call it; absent where no request gets through. */
  readonly kind?: string;
  /** Of the request. */
  readonly connection?: 'close';
  /** It is the client that ends it, once it has seen the silence, or our half. */
  readonly clientEnds?: true;
}

export const KEEP_ALIVE: TeardownCase = { name: 'keep_alive', behavior: 'success', end: 'open', kind: 'keep_alive' };

export const TEARDOWN_CASES: readonly TeardownCase[] = [
  { name: 'rst', behavior: 'partial_disconnect', end: 'rst', kind: 'rst' },
  { name: 'rst, no answer', behavior: 'connection_reset', end: 'rst', kind: 'rst' },
  // With nothing before it: a Node client that gets data and RST at once may see an end instead.
  { name: 'rst_now', behavior: 'rst_now@request', end: 'rst', kind: 'rst_now' },
  { name: 'stall', behavior: 'stall', end: 'open', kind: 'stall', clientEnds: true },
  { name: 'eof', behavior: 'partial_eof', end: 'open', kind: 'eof' },
  KEEP_ALIVE,
  { name: 'fin', behavior: 'fin@event:2.mid', end: 'fin', kind: 'fin' },
  { name: 'half_close', behavior: 'half_close@event:2', end: 'fin', kind: 'half_close', clientEnds: true },
  { name: 'fin, complete', behavior: 'success', end: 'fin', kind: 'keep_alive', connection: 'close' },
  { name: 'refused', behavior: 'connection_refused', end: 'refused' },
];

/** Nothing here takes a tenth of it on a machine that works. */
const LIMIT_MS = 4000;
/** How long silence is listened to. */
const SILENCE_MS = 100;
const PATH = '/v1/chat/completions';
const BODY = JSON.stringify({ model: 'doctor', stream: true, messages: [{ role: 'user', content: 'say aah' }] });

function start(one: TeardownCase, evidence: EvidenceSource | 'auto' = 'auto'): Promise<FaultServer> {
  return startFaultServer({
    evidence,
    sequence: [one.behavior, 'success'],
    chunkDelayMs: 1,
    disconnectDelayMs: 1,
    listenDelayMs: SILENCE_MS,
    settleTimeoutMs: LIMIT_MS / 2,
  });
}

/** Plays `one` to a witness. Never rejects: what goes wrong is a problem. */
export async function checkTeardown(
  one: TeardownCase,
  evidence: EvidenceSource | 'auto' = 'auto',
): Promise<TeardownResult> {
  const seen: Seen = { saw: 'open', received: Buffer.alloc(0), ledger: undefined, problems: [] };
  try {
    await using server = await start(one, evidence);
    const client = witness(server.port);
    try {
      if (one.end === 'refused') await seeRefusal(server, client, seen);
      else await seeAnswer(one, server, client, seen);
    } finally {
      client.destroy();
    }
  } catch (thrown) {
    seen.problems.push(messageOf(thrown));
  }
  if (seen.saw !== one.end) seen.problems.push(`the witness saw ${seen.saw}, not ${one.end}`);
  const { behavior, name, end: expected } = one;
  const { problems, saw, received, ledger } = seen;
  const result = { expected, saw, receivedBytes: received.length, recorded: ledger?.bytes ?? null };
  return { name, behavior, ok: problems.length === 0, ...result, problems };
}

interface Seen {
  saw: End;
  received: Buffer;
  ledger: Ledger | undefined;
  readonly problems: string[];
}

async function seeRefusal(server: FaultServer, client: Witness, seen: Seen): Promise<void> {
  await client.until('a refusal', ({ end }) => end !== 'open');
  seen.saw = client.end;
  await inTime('the port to open again', server.whenListening());
  const again = witness(server.port);
  again.send(requestText());
  await again.until('an answer after the refusal', ({ received }) => received.length > 0).finally(again.destroy);
}

async function seeAnswer(one: TeardownCase, server: FaultServer, client: Witness, seen: Seen): Promise<void> {
  client.send(requestText(one.connection));
  if (one.clientEnds) {
    await client.until('the headers', ({ received }) => received.includes('\r\n\r\n'));
    await sleep(SILENCE_MS);
    seen.saw = client.end;
    client.finish();
  }
  const ledger = await inTime('the ledger', server.ledger(1));
  seen.ledger = ledger;
  const mayEnd = one.end !== 'open';
  await client.until('the recorded bytes', ({ received, end }) => {
    return received.length >= ledger.bytes.flushed && (!mayEnd || end !== 'open');
  });
  if (!one.clientEnds) seen.saw = client.end;
  seen.received = client.received;
  seen.problems.push(...disagreements(one, ledger, seen.received));
  if (one.end !== 'open' || one.clientEnds) return;
  client.send(requestText());
  const { onConnection } = await inTime('the next answer on the same connection', server.ledger(2));
  if (onConnection !== 2) seen.problems.push('the connection was not used for the next request');
}

/** What of the ledger the witness contradicts, and where the ledger contradicts itself. Pure. */
export function disagreements(
  one: Pick<TeardownCase, 'kind'>,
  ledger: Pick<Ledger, 'bytes' | 'stale' | 'plan' | 'teardown'>,
  received: Buffer,
): string[] {
  const { bytes, stale, plan, teardown } = ledger;
  const { written, flushed, acked, read } = bytes;
  const got = received.length;
  // Nothing is lost in any of the cases, so all levels are the same; one that is only the last known may be too low.
  const same = (count: number | null): boolean => count === null || count === got || (stale && count < got);
  const levels = Object.entries({ written, flushed, acked, read }).flatMap(([level, count]) =>
    same(count) ? [] : [`the witness got ${got} bytes, the ledger says ${level} ${count}`],
  );
  const sha256 = createHash('sha256').update(received).digest('hex');
  return [
    ...levels,
    ...(sha256 === plan.writtenSha256 ? [] : ["the witness's bytes are not the recorded ones: their SHA-256 differ"]),
    ...(teardown.kind === one.kind ? [] : [`the ledger says ${teardown.kind}, not ${one.kind}`]),
  ];
}

function requestText(connection?: 'close'): string {
  const close = connection ? 'Connection: close\r\n' : '';
  return `POST ${PATH} HTTP/1.1\r\nHost: doctor\r\n${close}Content-Length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`;
}

/** @throws Error that names what didn't come */
async function inTime<T>(what: string, coming: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${LIMIT_MS} ms for ${what} in vain`)), LIMIT_MS);
  });
  return Promise.race([coming, limit]).finally(() => clearTimeout(timer));
}

interface Witness {
  readonly received: Buffer;
  /** How the server has ended the connection so far. */
  readonly end: End;
  send(text: string): void;
  /** Sends FIN. */
  finish(): void;
  destroy(): void;
  until(what: string, wanted: (witness: Witness) => boolean): Promise<void>;
}

/** A raw client that knows nothing of HTTP: it keeps every byte, and how the server ended the connection. */
function witness(port: number): Witness {
  // Half-open, so that the end that is seen is the server's.
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const watchers = new Set<() => void>();
  let received = Buffer.alloc(0);
  let end: End = 'open';
  const ended = (how: End): void => {
    if (end === 'open') end = how;
  };
  const tell = (): void => {
    for (const watcher of watchers) watcher();
  };
  socket.on('data', (bytes) => {
    received = Buffer.concat([received, bytes]);
    tell();
  });
  socket.on('end', () => {
    ended('fin');
    tell();
  });
  socket.on('error', (error) => {
    ended(errnoOf(error) === 'ECONNREFUSED' ? 'refused' : 'rst');
    tell();
  });
  const self: Witness = {
    get received() {
      return received;
    },
    get end() {
      return end;
    },
    send: (text) => socket.write(text),
    finish: () => socket.end(),
    destroy: () => socket.destroy(),
    until: async (what, wanted) => {
      let watcher = (): void => {};
      const coming = new Promise<void>((resolve) => {
        watcher = () => {
          if (wanted(self)) resolve();
        };
        watchers.add(watcher);
        watcher();
      });
      await inTime(what, coming).finally(() => watchers.delete(watcher));
    },
  };
  return self;
}

/** Plays `one` to Node's own `fetch`, and tells what it says of it. */
export async function tellOfFetch(one: TeardownCase): Promise<FetchResult> {
  await using server = await start(one);
  let status: number | null = null;
  let bodyBytes = 0;
  try {
    const response = await fetch(server.baseURL + PATH, {
      method: 'POST',
      body: BODY,
      headers: { 'content-type': 'application/json', ...(one.connection ? { connection: one.connection } : {}) },
      // Without a limit of its own it would wait for ever for what a stall holds back.
      signal: AbortSignal.timeout(one.clientEnds ? SILENCE_MS : LIMIT_MS),
    });
    status = response.status;
    for await (const piece of response.body ?? []) bodyBytes += piece.length;
    return { name: one.name, complete: true, status, bodyBytes, error: null };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(messageOf(thrown));
    const code = errnoOf(error.cause) ?? null;
    return {
      name: one.name,
      complete: false,
      status,
      bodyBytes,
      error: { name: error.name, message: error.message, code },
    };
  }
}
