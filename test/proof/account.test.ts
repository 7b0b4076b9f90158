import { describe, expect, it } from 'vitest';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import type { RequestHead } from '../../src/http/request.js';
import { type Account, insideOf, intentOf } from '../../src/proof/account.js';
import { type Ledger, ledgerSchema } from '../../src/proof/ledger.js';
import { ledgerOf } from '../../src/proof/ledger-line.js';
import type { ByteCounts, ExchangeEvidence } from '../../src/proof/recorder.js';
import { planner } from '../support/plans.js';

const plan = planner()('success', 'openai-chat');

function markOf(kind: string, index: number, of: WirePlan = plan) {
  const mark = of.marks.find((one) => one.kind === kind && one.index === index);
  if (!mark) throw new Error(`no ${kind} ${index}`);
  return mark;
}

describe('what stands at a cut', () => {
  const head = markOf('headers', 1);
  const size = markOf('chunk_size', 1);
  const [first, second] = [markOf('event', 1), markOf('event', 2)];
  const text = markOf('text', 1);

  for (const [offset, inside] of [
    [0, 'before the answer'],
    [1, 'status_line:1+1'],
    [head.start, 'after status_line:1'],
    [head.start + 5, 'headers:1+5'],
    [head.end - 1, `headers:1+${head.end - 1 - head.start}`],
    [head.end, 'after headers:1'],
    [size.start + 1, 'chunk_size:1+1'],
    [size.end, `chunk:1+${size.end - size.start}`],
    [first.start + 1, `event:1 (${first.name})+1`],
    // The CRLF behind the data belongs to the chunk alone.
    [first.end, `chunk:1+${first.end - size.start}`],
    [first.end + 1, `chunk:1+${first.end + 1 - size.start}`],
    [first.end + 2, `after event:1 (${first.name})`],
    [text.start, `event:2 (${second.name})+${text.start - second.start}`],
    [text.start + 2, 'text:1+2'],
    [plan.bytes.length - 5, `after event:${plan.marks.filter(({ kind }) => kind === 'event').length} ([DONE])`],
    [plan.bytes.length - 1, 'last_chunk:1+4'],
    [plan.bytes.length, 'after last_chunk:1'],
  ] as const) {
    it(`at ${offset}: ${inside}`, () => {
      expect(insideOf(plan, offset)).toBe(inside);
    });
  }

  it('without marks', () => {
    const bare = { bytes: Buffer.from('abc'), marks: [] };
    expect([0, 1, 3].map((offset) => insideOf(bare, offset))).toEqual([
      'before the answer',
      'between marks',
      'after everything',
    ]);
  });
});

const HEAD: RequestHead = {
  method: 'POST',
  target: '/',
  path: '/',
  httpVersion: '1.1',
  headers: { authorization: 'Bearer x', 'user-agent': 'test/1' },
  keepAlive: true,
  expectsContinue: false,
};
const BODY = Buffer.from('say wirefault:a.B-c_9! and wirefault:other');

function ledger(
  bytes: ByteCounts,
  seen: Partial<ExchangeEvidence> = {},
  of: WirePlan = plan,
  given: Partial<Account> = {},
): Ledger {
  const account: Account = {
    exchange: 1,
    connection: 1,
    onConnection: 1,
    evidence: 'koffi',
    head: HEAD,
    request: { ...HEAD, body: BODY },
    requestBytes: 0,
    protocol: 'openai-chat',
    timeScale: 1,
    selection: { kind: 'exhausted', lane: 'default', attempt: 3 },
    generation: 1,
    droppedLanes: 0,
    countDelivered: () => expect.fail('there is no key'),
    plan: of,
    intent: intentOf(of, true),
    seen: {
      client: { address: '127.0.0.1', port: 1 },
      server: { address: null, port: null },
      connectionOffset: 0,
      bytes,
      stale: false,
      settled: undefined,
      endedBy: undefined,
      ...seen,
    },
    outcome: 'completed',
    teardown: 'keep_alive',
    redact: true,
    times: { requestAt: new Date(0).toISOString(), firstWriteMs: null, endMs: 0, teardownMs: null },
    ...given,
  };
  return ledgerSchema.parse(ledgerOf(account));
}

function counts(written: number, flushed = written, acked: number | null = flushed, read = acked): ByteCounts {
  return { written, flushed, acked, read };
}

const ALL = plan.bytes.length;
const terminal = plan.marks.find(({ role }) => role === 'terminal');
const terminalEnd = terminal?.end ?? Number.NaN;

describe('events', () => {
  it('count at each level by their last byte', () => {
    const names = plan.marks.filter(({ kind }) => kind === 'event').map(({ name }) => name);
    const [first, second] = [markOf('event', 1), markOf('event', 2)];
    const { events } = ledger(counts(ALL, second.end, first.end, first.end - 1));
    const sum = (level: 'planned' | 'flushed' | 'acked' | 'read'): number =>
      Object.values(events).reduce((total, row) => total + (row[level] ?? 0), 0);
    expect(Object.keys(events).sort()).toEqual([...new Set(names)].sort());
    expect([sum('planned'), sum('flushed'), sum('acked'), sum('read')]).toEqual([names.length, 2, 1, 0]);
  });

  it('of an unknown level are unknown', () => {
    const { events } = ledger(counts(ALL, ALL, null));
    for (const row of Object.values(events)) expect(row).toMatchObject({ acked: null, read: null });
  });
});

describe('the terminal', () => {
  const delivered = (bytes: ByteCounts, stale = false) => ledger(bytes, { stale }).terminal?.delivered;

  it('is delivered once its last byte is read', () => {
    expect(delivered(counts(ALL))).toBe(true);
    expect(delivered(counts(ALL, ALL, ALL, terminalEnd))).toBe(true);
    expect(delivered(counts(ALL, ALL, ALL, terminalEnd - 1))).toBe(false);
  });

  it('or acknowledged, where reading is unknown', () => {
    expect(delivered(counts(ALL, ALL, terminalEnd, null))).toBe(true);
    expect(delivered(counts(ALL, ALL, terminalEnd - 1, null))).toBe(false);
  });

  it('where both are unknown nobody knows', () => {
    expect(delivered(counts(ALL, ALL, null))).toBeNull();
    expect(delivered(counts(ALL, terminalEnd - 1, null))).toBe(false);
  });

  it('what was last known before the socket went denies nothing', () => {
    expect(delivered(counts(ALL, ALL, ALL, 0), true)).toBe(true);
    expect(delivered(counts(ALL, ALL, 0, 0), true)).toBeNull();
    expect(delivered(counts(ALL, terminalEnd - 1, 0, 0), true)).toBe(false);
  });

  it('there is none in an answer without events', () => {
    expect(ledger(counts(5), {}, planner()('rate_limit', 'openai-chat')).terminal).toBeNull();
  });
});

describe('paragraphs', () => {
  const told = planner({ contentBlocks: 4 })('success', 'openai-chat');
  const texts = told.marks.filter(({ kind }) => kind === 'text');
  const whole = told.bytes.length;
  const blocks = (read: number | null) => ledger(counts(whole, whole, read, read), {}, told).blocks;

  it('are counted as far as they are read, whole ones only', () => {
    expect(blocks(whole)).toMatchObject({ told: 4, delivered: 4 });
    expect(blocks(0)).toMatchObject({ told: 4, delivered: 0 });
    // What is read after each delta never tells more than what stands there.
    const seen = texts.map(({ end }) => blocks(end)?.delivered ?? -1);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(new Set(seen)).toEqual(new Set([0, 1, 2, 3, 4]));
    expect(blocks((texts.at(-1)?.end ?? 0) - 1)?.delivered).toBe(3);
  });

  it('are known by their marks, also those that were not delivered', () => {
    const marks = blocks(0)?.marks ?? [];
    expect(new Set(marks).size).toBe(4);
    for (const mark of marks) expect(mark).toMatch(/^[A-Za-z0-9]{12}$/);
    expect(blocks(whole)?.marks).toEqual(marks);
  });

  it('are those that were flushed where nothing better is known', () => {
    expect(blocks(null)).toMatchObject({ told: 4, delivered: 4 });
  });

  it('there are none in a plain text', () => {
    expect(ledger(counts(ALL)).blocks).toBeNull();
  });
});

describe('the rest', () => {
  it('is told as it was', () => {
    const told = ledger(counts(ALL, 900, 800, 700), {
      endedBy: 'client_rst',
      settled: { level: 'acked', reached: false, counters: undefined, gone: true, waitedMs: 1.23456 },
    });
    expect(told).toMatchObject({
      selection: { scripted: 'script_exhausted', behavior: 'script_exhausted' },
      request: {
        bodyBytes: 42,
        marker: 'a.B-c_9',
        userAgent: 'test/1',
        headers: { authorization: 'Bearer [redacted]' },
      },
      plan: { bytes: ALL },
      cut: null,
      lost: ALL - 800,
      settled: { level: 'acked', reached: false, waitedMs: 1.235 },
      teardown: { kind: 'keep_alive', first: 'client_rst' },
    });
    expect(ledger(counts(5, 5, null)).lost).toBeNull();
  });

  it('says no more of a request than was read of it', () => {
    const unread = ledger(counts(ALL), {}, plan, { request: undefined }).request;
    expect(unread).toMatchObject({ path: '/', userAgent: 'test/1', bodyBytes: null, bodySha256: null, marker: null });
    const early = ledger(counts(0), {}, plan, { head: undefined, request: undefined, requestBytes: 7, protocol: '' });
    expect(early).toMatchObject({ request: null, requestBytes: 7 });
  });

  it('says what of the fault the answer had no place for', () => {
    expect(ledger(counts(ALL)).unapplied).toEqual([]);
    expect(ledger(counts(ALL), {}, { ...plan, unapplied: ['events', 'sse'] }).unapplied).toEqual(['events', 'sse']);
  });

  it('tells the pauses as they were planned, and by how much they were shortened', () => {
    const paced: WirePlan = {
      ...plan,
      steps: [
        { op: 'wait', ms: 30_000 },
        { op: 'pulse', start: 0, end: 1, everyMs: 20, times: 3 },
        { op: 'write', start: 0, end: 1 },
        { op: 'wait', ms: 0.12345 },
        { op: 'pulse', start: 0, end: 1, everyMs: 7, times: Number.POSITIVE_INFINITY },
      ],
    };
    expect(ledger(counts(ALL)).times).toMatchObject({ scale: 1, plannedWaitMs: 0 });
    expect(ledger(counts(ALL), {}, paced, { timeScale: 100 }).times).toMatchObject({
      scale: 100,
      plannedWaitMs: 30_067.123,
    });
  });

  it('says what a cut plan is cut in', () => {
    const cut = planner()('partial_disconnect', 'openai-chat');
    const offset = cut.cut?.offset ?? 0;
    expect(ledger(counts(offset), {}, cut).cut).toEqual({
      position: 'deltas',
      offset,
      inside: expect.stringMatching(/^after event:\d+ \(/),
    });
  });
});
