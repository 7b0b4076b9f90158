import { EXHAUSTED } from '../events.js';
import type { SelectionSource } from '../fault/script.js';
import { waitMsOf } from '../fault/wire-plan.js';
import type { RequestHead } from '../http/request.js';
import { type Account, type BodyFacts, bodyFactsOf, lostOf, rounded } from './account.js';
import { blocksOf, eventsOf, keyOf, terminalOf, writtenSha256 } from './account-parts.js';
import type { Endpoint } from './endpoints.js';
import { JsonBytes } from './json-bytes.js';
import {
  bare,
  type Field,
  type Fields,
  flag,
  keptBytes,
  members,
  number,
  object,
  seldom,
  type Together,
  value,
  word,
} from './json-fields.js';
import { LEDGER_VERSION, type Ledger } from './ledger.js';
import type { ByteCounts } from './recorder.js';
import { redactHeaders } from './redact.js';

/**
 * The ledger of an account, and the line of the journal that tells the same: one table makes both. What many ledgers
 * have in common is written down once: a line costs 2 µs instead of 9, hashes aside (measured).
 */

type Asked = NonNullable<Ledger['request']>;
type Body = Pick<Asked, 'bodyBytes' | 'bodySha256' | 'marker'>;

/** An account whose head was read. */
interface Read extends Account {
  readonly head: RequestHead;
}

const HEAD = members<Read, Omit<Asked, keyof Body>>({
  method: word(({ head }) => head.method),
  path: value(({ head }) => head.path),
  protocol: word(({ protocol }) => protocol),
  httpVersion: word(({ head }) => head.httpVersion),
  headers: value(({ head, redact }) => (redact ? redactHeaders(head.headers) : { ...head.headers })),
  userAgent: value(({ head }) => head.headers['user-agent'] ?? null),
});

/** Heads that are the same bytes have the same headers object (http/known-heads.ts). */
const HEAD_KEPT = [
  ({ head }: Read) => head.headers,
  ({ head }: Read) => head.method,
  ({ head }: Read) => head.path,
  ({ protocol }: Read) => protocol,
  ({ head }: Read) => head.httpVersion,
  ({ redact }: Read) => redact,
] as const;

const BODY = members<BodyFacts | undefined, Body>({
  bodyBytes: number((body) => body?.bytes ?? null),
  bodySha256: bare((body) => body?.sha256 ?? null),
  marker: bare((body) => body?.marker ?? null),
});

const putHead = keptBytes(HEAD.put, ...HEAD_KEPT);
/** Bodies that were the same lately have the same facts. */
const putRequest = keptBytes(
  (account: Read, to) => {
    to.text('{');
    putHead(account, to);
    to.text(',');
    BODY.put(bodyOf(account), to);
    to.text('}');
  },
  ...HEAD_KEPT,
  bodyOf,
);

/** What was asked. The body is unknown where it wasn't read, and all of it where the fault came before the head. */
const REQUEST: Field<Account, Ledger['request']> = {
  of: (account) => (isRead(account) ? { ...HEAD.of(account), ...BODY.of(bodyOf(account)) } : null),
  put: (account, to) => {
    if (isRead(account)) putRequest(account, to);
    else to.text('null');
    return true;
  },
};

function isRead(account: Account): account is Read {
  return account.head !== undefined;
}

function bodyOf({ request, body }: Account): BodyFacts | undefined {
  return request ? bodyFactsOf(request.body) : body;
}

const ENDPOINT = object<Endpoint, Ledger['client']>({
  address: word(({ address }) => address),
  port: number(({ port }) => port),
});

const SELECTION = object<Account, Ledger['selection']>({
  scripted: word(scriptedOf),
  behavior: word(behaviorOf),
  source: word(sourceOf),
  rule: word(ruleOf),
});

function scriptedOf({ selection }: Account): string {
  return selection.kind === 'behavior' ? selection.scripted : EXHAUSTED;
}

function behaviorOf({ selection }: Account): string {
  return selection.kind === 'behavior' ? selection.behavior : EXHAUSTED;
}

function sourceOf({ selection }: Account): SelectionSource {
  return selection.kind === 'behavior' ? selection.source : 'script';
}

function ruleOf({ selection }: Account): string | null {
  return selection.kind === 'behavior' ? (selection.rule ?? null) : null;
}

const BYTES = object<Account, ByteCounts>({
  written: number(({ seen }) => seen.bytes.written),
  flushed: number(({ seen }) => seen.bytes.flushed),
  acked: number(({ seen }) => seen.bytes.acked),
  read: number(({ seen }) => seen.bytes.read),
});

const TIMES = object<Account, Ledger['times']>(
  {
    requestAt: bare(({ times }) => times.requestAt),
    firstWriteMs: number(({ times }) => times.firstWriteMs),
    lastWriteMs: number(({ times }) => times.lastWriteMs),
    endMs: number(({ times }) => times.endMs),
    clientEndMs: number(({ times }) => times.clientEndMs),
    teardownMs: number(({ times }) => times.teardownMs),
    scale: number(({ timeScale }) => timeScale),
    plannedWaitMs: number(({ plan }) => rounded(waitMsOf(plan))),
  },
  [{ names: ['scale', 'plannedWaitMs'], by: ({ plan }) => plan.steps, of: [({ timeScale }) => timeScale] }],
);

const putServer = keptBytes(ENDPOINT.put, (server) => server);

/** One maker for each field of a ledger, in the order in which they are written. */
const FIELDS: Fields<Account, Ledger> = {
  version: number(() => LEDGER_VERSION),
  exchange: number(({ exchange }) => exchange),
  connection: number(({ connection }) => connection),
  onConnection: number(({ onConnection }) => onConnection),
  client: { of: ({ seen }) => seen.client, put: ({ seen }, to) => ENDPOINT.put(seen.client, to) },
  server: {
    of: ({ seen }) => seen.server,
    put: ({ seen }, to) => {
      putServer(seen.server, to);
      return true;
    },
  },
  connectionOffset: number(({ seen }) => seen.connectionOffset),
  lane: word(({ selection }) => selection.lane),
  generation: number(({ generation }) => generation),
  attempt: number(({ selection }) => selection.attempt),
  evidence: word(({ evidence }) => evidence),
  request: REQUEST,
  requestBytes: number(({ requestBytes }) => requestBytes),
  selection: SELECTION,
  key: seldom(keyOf),
  droppedLanes: number(({ droppedLanes }) => droppedLanes),
  state: seldom(({ state }) => state),
  plan: object<Account, Ledger['plan']>({
    sha256: bare(({ intent }) => intent.sha256),
    bytes: number(({ intent }) => intent.bytes),
    writtenSha256: bare(writtenSha256),
  }),
  cut: seldom(({ plan, intent }) => (plan.cut ? { ...plan.cut, inside: intent.inside } : null)),
  bytes: BYTES,
  lost: number(({ seen }) => lostOf(seen)),
  stale: flag(({ seen }) => seen.stale),
  events: value(({ plan, seen }) => eventsOf(plan, seen.bytes)),
  terminal: value(({ plan, seen }) => terminalOf(plan, seen)),
  blocks: seldom(blocksOf),
  settled: seldom(({ seen: { settled } }) =>
    settled ? { level: settled.level, reached: settled.reached, waitedMs: rounded(settled.waitedMs) } : null,
  ),
  unapplied: value(({ plan }) => [...plan.unapplied]),
  replayed: seldom(({ plan }) => plan.replayed),
  upstream: seldom(({ upstream }) => upstream),
  teardown: object<Account, Ledger['teardown']>({
    kind: word(({ teardown }) => teardown),
    first: word(({ seen }) => seen.endedBy ?? null),
  }),
  outcome: word(({ outcome }) => outcome),
  times: TIMES,
};

/** Plans of one template have the same marks, steps and cut (fault/template.ts), and mostly arrive alike. */
const TOGETHER: readonly Together<Account, Ledger>[] = [
  {
    names: ['requestBytes', 'selection'],
    by: ({ selection }) => (selection.kind === 'behavior' ? selection.fault : undefined),
    of: [({ requestBytes }) => requestBytes, scriptedOf, behaviorOf, sourceOf, ruleOf],
  },
  {
    names: ['cut', 'bytes', 'lost', 'stale', 'events', 'terminal'],
    by: ({ plan }) => plan.marks,
    of: [
      ({ plan }) => plan.cut,
      ({ intent }) => intent.inside,
      ({ seen }) => seen.bytes.written,
      ({ seen }) => seen.bytes.flushed,
      ({ seen }) => seen.bytes.acked,
      ({ seen }) => seen.bytes.read,
      ({ seen }) => seen.stale,
    ],
  },
  {
    names: ['settled', 'unapplied', 'replayed', 'upstream', 'teardown', 'outcome'],
    by: ({ plan }) => plan.steps,
    of: [
      ({ seen }) => seen.settled,
      ({ plan }) => plan.unapplied,
      ({ plan }) => plan.replayed,
      ({ upstream }) => upstream,
      ({ teardown }) => teardown,
      ({ seen }) => seen.endedBy,
      ({ outcome }) => outcome,
    ],
  },
];

const LEDGER = members(FIELDS, TOGETHER);

export function ledgerOf(account: Account): Ledger {
  return LEDGER.of(account);
}

const LINE = new JsonBytes();

/**
 * Equal to `JSON.stringify(ledgerOf(account))`, until the next line is made. Either counts the account's key: only one
 * is to be made where it has one.
 */
export function ledgerLine(account: Account): Buffer {
  LINE.length = 0;
  LINE.text('{');
  LEDGER.put(account, LINE);
  LINE.text('}');
  return LINE.view();
}
