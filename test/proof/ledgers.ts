import type { RequestHead } from '../../src/http/request.js';
import { type Bookkeeper, bookkeeper } from '../../src/proof/bookkeeper.js';
import type { Journal } from '../../src/proof/journal.js';
import type { Ledger } from '../../src/proof/ledger.js';

type Level = Ledger['events'][string];

const SHA = '0123456789abcdef'.repeat(4);

/** The four levels of an event's or an answer's count. */
const events = (planned: number, flushed: number, acked: number | null, read: number | null): Level => ({
  planned,
  flushed,
  acked,
  read,
});

export const REQUEST: NonNullable<Ledger['request']> = {
  method: 'POST',
  path: '/v1/chat/completions',
  protocol: 'openai-chat',
  httpVersion: '1.1',
  headers: { host: '127.0.0.1:8000', authorization: 'Bearer [redacted]' },
  userAgent: 'node',
  bodyBytes: 102,
  bodySha256: SHA,
  marker: null,
};

/** Nothing was waited for, and at the speed that was planned. */
function timesOf(given: Partial<Ledger['times']>): Ledger['times'] {
  return {
    requestAt: '2026-11-30T16:21:53.991Z',
    firstWriteMs: 0,
    scale: 1,
    plannedWaitMs: 0,
    endMs: 0,
    teardownMs: null,
    ...given,
  };
}

/** A ledger made by hand: a healthy answer of 1,000 bytes, but for what is given. */
export function ledgerWith(given: Partial<Ledger> = {}): Ledger {
  return {
    version: 1,
    exchange: 1,
    connection: 1,
    onConnection: 1,
    client: { address: '127.0.0.1', port: 40_000 },
    server: { address: '127.0.0.1', port: 8000 },
    connectionOffset: 0,
    lane: 'default',
    generation: 1,
    attempt: 1,
    evidence: 'koffi',
    request: REQUEST,
    requestBytes: 0,
    selection: { scripted: 'success', behavior: 'success', source: 'script', rule: null },
    key: null,
    droppedLanes: 0,
    plan: { sha256: SHA, bytes: 1000, writtenSha256: SHA },
    cut: null,
    bytes: { written: 1000, flushed: 1000, acked: 1000, read: 1000 },
    lost: 0,
    stale: false,
    events: { role: events(1, 1, 1, 1), content: events(12, 12, 12, 12), '[DONE]': events(1, 1, 1, 1) },
    terminal: { name: '[DONE]', delivered: true },
    blocks: null,
    settled: null,
    unapplied: [],
    teardown: { kind: 'keep_alive', first: null },
    outcome: 'completed',
    times: timesOf({ firstWriteMs: 0.595, endMs: 1.068, teardownMs: null }),
    ...given,
  };
}

/** Reset behind data that the client had not taken. */
export const RESET_WITH_LOSS = ledgerWith({
  exchange: 2,
  connection: 2,
  attempt: 2,
  selection: { scripted: 'random', behavior: 'partial_disconnect', source: 'script', rule: null },
  plan: { sha256: SHA, bytes: 5_000_000, writtenSha256: SHA },
  cut: { position: 'event:3', offset: 4_000_000, inside: 'event:3 (content)+17' },
  bytes: { written: 4_000_000, flushed: 2_600_000, acked: 195_000, read: 65_536 },
  lost: 3_805_000,
  events: { role: events(1, 1, 1, 1), content: events(12, 7, 2, 0), '[DONE]': events(1, 0, 0, 0) },
  terminal: { name: '[DONE]', delivered: false },
  settled: { level: 'read', reached: false, waitedMs: 2000.1 },
  teardown: { kind: 'rst', first: 'server' },
  outcome: 'reset',
  times: timesOf({
    requestAt: '2026-11-30T16:21:54.058Z',
    firstWriteMs: 0.162,
    endMs: 2060.5,
    teardownMs: 2060.2,
  }),
});

/** Silence after the headers, ended by the client. */
export const STALL = ledgerWith({
  exchange: 13,
  selection: { scripted: 'stall', behavior: 'stall', source: 'script', rule: null },
  cut: { position: 'headers', offset: 320, inside: 'after headers:1' },
  bytes: { written: 320, flushed: 320, acked: 320, read: 320 },
  events: { role: events(1, 0, 0, 0) },
  terminal: { name: '[DONE]', delivered: false },
  teardown: { kind: 'stall', first: 'client_fin' },
  outcome: 'stalled',
});

/** Content blocks of which the last came half. */
export const BLOCKS = ledgerWith({ blocks: { told: 4, delivered: 3, marks: [] } });

/** The client's socket had gone before it could be asked. */
export const STALE = ledgerWith({
  bytes: { written: 1000, flushed: 1000, acked: 400, read: 0 },
  lost: 600,
  stale: true,
  events: { role: events(1, 1, 1, 0) },
  terminal: { name: '[DONE]', delivered: false },
  teardown: { kind: 'keep_alive', first: 'client_rst' },
});

/** Without any evidence, and without all that may be missing. */
export const NULLS = ledgerWith({
  client: { address: null, port: null },
  server: { address: null, port: null },
  evidence: 'callbacks',
  request: { ...REQUEST, headers: {}, userAgent: null },
  bytes: { written: 1000, flushed: 1000, acked: null, read: null },
  lost: null,
  events: { role: events(1, 1, null, null) },
  terminal: { name: '[DONE]', delivered: null },
  times: timesOf({ firstWriteMs: null, endMs: 1, teardownMs: null }),
});

/** Of a request that says as little as one can. */
export const BARE_HEAD: RequestHead = {
  method: 'POST',
  target: '/',
  path: '/',
  httpVersion: '1.1',
  headers: {},
  keepAlive: true,
  expectsContinue: false,
};

/** Books that are kept of exchanges that a test makes by hand. */
export function booksOf(options: { readonly history?: number; readonly journal?: Journal } = {}): Bookkeeper {
  const { history = 10, journal } = options;
  return bookkeeper({
    evidence: 'koffi',
    history,
    redact: true,
    contentBlocks: true,
    settleTimeoutMs: 1,
    timeScale: 1,
    journal,
    capture: undefined,
    bytes: undefined,
  });
}
