import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { faultOf } from '../../src/fault/catalogue.js';
import type { Selection } from '../../src/fault/script.js';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import type { RequestHead } from '../../src/http/request.js';
import { type Account, bodyFactsOf, intentOf } from '../../src/proof/account.js';
import { EVIDENCE_SOURCES } from '../../src/proof/counters.js';
import { ledgerSchema, type UpstreamAccount } from '../../src/proof/ledger.js';
import { ledgerLine, ledgerOf } from '../../src/proof/ledger-line.js';
import type { ExchangeEvidence } from '../../src/proof/recorder.js';
import { planner } from '../support/plans.js';
import { BARE_HEAD } from './ledgers.js';

/** What JSON writes as escapes, and what it doesn't. */
const odd = fc
  .array(
    fc.constantFrom('a', 'Z9', ' ', 'ż', '回', '👧', '"', '\\', '\n', '\u0001', '\u2028', '\ud800', '/', '__proto__'),
    {
      maxLength: 6,
    },
  )
  .map((parts) => parts.join(''));
const orNull = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null });
const orNothing = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });

const plans = planner();
const blocks = planner({ contentBlocks: 3 });
const shared = [
  plans('success', 'openai-chat'),
  plans('partial_disconnect', 'openai-chat'),
  plans('tool_call_success', 'anthropic-messages'),
  plans('rate_limit', 'openai-responses'),
  blocks('success', 'openai-chat'),
];
const pausing: WirePlan = {
  bytes: Buffer.from('abc'),
  marks: [{ kind: 'event', index: 1, name: 'odd "name"', role: 'terminal', start: 0, end: 3 }],
  steps: [
    { op: 'write', start: 0, end: 1 },
    { op: 'wait', ms: 12.34567 },
    { op: 'pulse', start: 0, end: 1, everyMs: 5, times: Number.POSITIVE_INFINITY },
    { op: 'teardown', kind: 'eof' },
  ],
  closes: true,
  unapplied: ['events "x"', 'framing'],
  cut: { position: 'byte:2', offset: 2 },
};
const replayed: WirePlan = { ...pausing, unapplied: [], replayed: { recording: 'a\\b.har', by: 'order' } };

/** Few, so that neighbours have plans, heads and faults in common, and differ in something else. */
const anyPlan = fc.constantFrom(...shared, pausing, replayed).chain((plan) =>
  // Stamped: all is the same but the bytes.
  fc.constantFrom(0, 1, 2).map((stamp): WirePlan => {
    const bytes = Buffer.from(plan.bytes);
    bytes[bytes.length - 1] = stamp;
    return { ...plan, bytes };
  }),
);

const headers = [{}, { 'user-agent': 'test/1', authorization: 'Bearer x' }, { 'x-"odd"': 'a\n\u0001', '7': 'first' }];
const head: fc.Arbitrary<RequestHead> = fc.record({
  method: fc.constantFrom('POST', 'GET'),
  target: fc.constant('/'),
  path: fc.oneof(fc.constantFrom('/', '/v1'), odd),
  httpVersion: fc.constantFrom('1.0', '1.1'),
  headers: fc.oneof(fc.constantFrom(...headers), fc.dictionary(odd, odd)),
  keepAlive: fc.boolean(),
  expectsContinue: fc.boolean(),
});
const body = fc.constantFrom('', '{}', '{"a":1}', '{"a":2}', 'say wirefault:a.B-c_9!').map((text) => Buffer.from(text));

const attempt = fc.integer({ min: 1, max: 3 });
const selection: fc.Arbitrary<Selection> = fc.oneof(
  fc.record({ kind: fc.constant('exhausted'), lane: odd, attempt }),
  fc.record(
    {
      kind: fc.constant('behavior'),
      lane: odd,
      attempt,
      scripted: fc.constantFrom('random', 'success'),
      behavior: fc.constantFrom('success', 'reset'),
      fault: fc.constantFrom(faultOf('success'), faultOf('partial_disconnect')),
      source: fc.constantFrom('script', 'rule', 'header'),
      rule: fc.oneof(fc.constant('1'), odd),
      key: fc.record({ name: odd, value: odd, nth: attempt, since: fc.constant(new Date(0)) }),
      windows: fc.constant([]),
    },
    { requiredKeys: ['kind', 'lane', 'attempt', 'scripted', 'behavior', 'fault', 'source', 'windows'] },
  ),
);

const count = fc.constantFrom(0, 1, 3, 200, 5000, 1_000_000);
const ms = fc.oneof(
  fc.constantFrom(0, 0.001, 0.01, 0.1, 1.999, 1e-7, 2 ** 31 + 0.5, 1e21),
  fc.double({ min: 0, max: 1e6, noNaN: true }),
  fc.integer({ min: 0, max: 1e9 }).map((micros) => micros / 1000),
);
const endpoint = fc.record({ address: orNull(odd), port: orNull(fc.integer({ min: 0, max: 65_535 })) });
const SERVER = { address: '127.0.0.1', port: 8000 };
const seen: fc.Arbitrary<ExchangeEvidence> = fc.record({
  client: endpoint,
  server: fc.oneof(fc.constant(SERVER), endpoint),
  connectionOffset: count,
  bytes: fc.record({ written: count, flushed: count, acked: orNull(count), read: orNull(count) }),
  stale: fc.boolean(),
  settled: orNothing(
    fc.record({
      level: fc.constantFrom('flushed', 'acked', 'read'),
      reached: fc.boolean(),
      counters: fc.constant(undefined),
      gone: fc.boolean(),
      waitedMs: ms,
    }),
  ),
  endedBy: fc.constantFrom(undefined, 'server', 'client_fin', 'client_rst'),
});

const UPSTREAM: UpstreamAccount = {
  url: 'http://"upstream"',
  address: null,
  reused: false,
  retried: false,
  connectMs: 0.25,
  ttfbMs: null,
  status: 200,
  bytes: 1,
  sha256: null,
  end: 'kept',
  error: null,
  buffered: null,
  rewritten: false,
  unmarkedEvents: 0,
};

const given = fc.record({
  exchange: fc.integer({ min: 1 }),
  connection: fc.integer({ min: 1 }),
  onConnection: fc.nat(),
  evidence: fc.constantFrom(...EVIDENCE_SOURCES),
  head: orNothing(head),
  read: fc.constantFrom('whole', 'facts', 'nothing'),
  body,
  requestBytes: fc.nat(3),
  protocol: fc.constantFrom('', 'openai-chat'),
  timeScale: fc.constantFrom(1, 0.1, 1000),
  selection,
  generation: attempt,
  droppedLanes: fc.nat(3),
  state: fc.constantFrom(undefined, 'shared', 'local'),
  plan: anyPlan,
  upstream: fc.constantFrom(undefined, UPSTREAM),
  seen,
  outcome: fc.constantFrom('completed', 'reset', 'odd "outcome"'),
  teardown: fc.constantFrom('keep_alive', 'rst'),
  redact: fc.boolean(),
  times: fc.record(
    {
      requestAt: fc.date({ noInvalidDate: true, min: new Date(0) }).map((date) => date.toISOString()),
      firstWriteMs: orNull(ms),
      lastWriteMs: orNull(ms),
      endMs: ms,
      clientEndMs: orNull(ms),
      teardownMs: orNull(ms),
    },
    { requiredKeys: ['requestAt', 'firstWriteMs', 'endMs', 'teardownMs'] },
  ),
});

const accounts = given.map(({ head, read, body, plan, ...rest }): Account => {
  const request = head && read === 'whole' ? { ...head, body } : undefined;
  const facts = read === 'facts' ? bodyFactsOf(body) : undefined;
  return { ...rest, plan, head, request, body: facts, intent: intentOf(plan, true), countDelivered: () => 7 };
});

describe('the line of an account', () => {
  it('is the JSON of its ledger, whatever was written down before', () => {
    fc.assert(
      fc.property(fc.array(accounts, { minLength: 1, maxLength: 8 }), (all) => {
        for (const account of [...all, ...all]) {
          const line = ledgerLine(account).toString();
          expect(line).toBe(JSON.stringify(ledgerOf(account)));
          expect(line).not.toContain('undefined');
        }
      }),
      { numRuns: 400 },
    );
  });

  it('has the fields of the published schema, in its order, and no others', () => {
    const seldom = ['state', 'replayed', 'upstream'];
    const all = Object.keys(ledgerSchema.shape);
    fc.assert(
      fc.property(accounts, (account) => {
        const names = Object.keys(JSON.parse(ledgerLine(account).toString()));
        expect(names).toEqual(all.filter((name) => names.includes(name)));
        expect(all.filter((name) => !names.includes(name) && !seldom.includes(name))).toEqual([]);
      }),
    );
  });

  it('differs where a single thing does that it is made of', () => {
    const [base] = fc.sample(accounts, { numRuns: 1, seed: 1 });
    if (!base) throw new Error('no account');
    const counts = { written: 200, flushed: 200, acked: 200, read: 200 };
    const head = { ...BARE_HEAD, headers: { 'user-agent': 'test/1', authorization: 'Bearer x' } };
    const behavior = {
      kind: 'behavior',
      lane: 'default',
      attempt: 1,
      scripted: 'random',
      behavior: 'success',
      fault: {},
      source: 'script',
      windows: [],
    } as const;
    const account: Account = {
      ...base,
      head,
      request: { ...head, body: Buffer.from('{"a":1}') },
      redact: true,
      selection: behavior,
      plan: pausing,
      intent: intentOf(pausing, false),
      state: undefined,
      upstream: undefined,
      seen: { ...base.seen, server: SERVER, bytes: counts, stale: false, settled: undefined, endedBy: undefined },
    };
    const settled = { level: 'read', reached: true, counters: undefined, gone: false, waitedMs: 1 } as const;
    const changes: Partial<Account>[] = [
      { redact: false },
      { protocol: 'other' },
      { timeScale: 77 },
      { requestBytes: 77 },
      { outcome: 'other' },
      { teardown: 'other' },
      { upstream: UPSTREAM },
      { state: 'shared' },
      { head: { ...head, method: 'PUT' } },
      { head: { ...head, path: '/other' } },
      { head: { ...head, httpVersion: '1.0' } },
      { request: { ...head, body: Buffer.from('{"a":2}') } },
      { request: undefined },
      { selection: { ...behavior, scripted: 'other' } },
      { selection: { ...behavior, behavior: 'other' } },
      { selection: { ...behavior, source: 'rule' } },
      { selection: { ...behavior, rule: '' } },
      { plan: { ...pausing, cut: { position: 'byte:1', offset: 1 } } },
      { plan: { ...pausing, unapplied: [] } },
      { plan: { ...pausing, steps: [] } },
      { plan: { ...pausing, marks: [] } },
      { plan: { ...pausing, replayed: { recording: 'x', by: 'order' } } },
      { intent: { ...account.intent, inside: 'other' } },
      { seen: { ...account.seen, stale: true } },
      { seen: { ...account.seen, endedBy: 'client_rst' } },
      { seen: { ...account.seen, settled } },
      { seen: { ...account.seen, server: { ...SERVER, port: 1 } } },
      { seen: { ...account.seen, bytes: { ...counts, written: 201 } } },
      { seen: { ...account.seen, bytes: { ...counts, flushed: 2 } } },
      { seen: { ...account.seen, bytes: { ...counts, acked: 2 } } },
      { seen: { ...account.seen, bytes: { ...counts, read: 2 } } },
    ];
    const line = ledgerLine(account).toString();
    for (const change of changes) {
      expect(ledgerLine({ ...account, ...change }), JSON.stringify(change)).not.toBe(line);
      expect(ledgerLine(account).toString()).toBe(line);
    }
  });
});

describe('a body', () => {
  const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

  it('has its own hash, though others of its length were there before', () => {
    for (const length of [0, 1, 93, 65_536, 65_537]) {
      // More of them than are remembered, and each of them again.
      const bodies = Array.from({ length: 11 }, (_, n) => Buffer.alloc(length, n));
      for (const bytes of [...bodies, ...bodies.toReversed(), ...bodies]) {
        expect(bodyFactsOf(bytes)).toEqual({ bytes: length, sha256: sha256(bytes), marker: null });
      }
    }
  });

  it('has another hash once its memory holds other bytes', () => {
    const memory = Buffer.from('say wirefault:one.');
    expect(bodyFactsOf(memory).marker).toBe('one.');
    memory.write('two', 'say wirefault:'.length);
    expect(bodyFactsOf(memory)).toEqual({ bytes: memory.length, sha256: sha256(memory), marker: 'two.' });
  });

  it('that begins as a longer one did is another', () => {
    const long = Buffer.alloc(300, 'x');
    expect(bodyFactsOf(long).sha256).toBe(sha256(long));
    const short = long.subarray(0, 200);
    expect(bodyFactsOf(short)).toMatchObject({ bytes: 200, sha256: sha256(short) });
  });
});
