import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answersOf } from '../../src/answers.js';
import { CONCRETE_BEHAVIOR_NAMES, faultOf } from '../../src/fault/catalogue.js';
import { offsetOf, type Position } from '../../src/fault/position.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import { eventEditSchema } from '../../src/fault/spec-events.js';
import { requestBytesOf } from '../../src/fault/stage.js';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import { answerScan } from '../../src/proxy/answer-scan.js';
import { keeping } from '../../src/proxy/keeping.js';
import { type KeptInput, rewritesBody } from '../../src/proxy/kept-answer.js';
import { wholeEdits } from '../../src/proxy/live-edits.js';
import { livePlace, needOf } from '../../src/proxy/live-place.js';
import { markKeeper } from '../../src/proxy/mark-keeper.js';
import { isPassed } from '../../src/proxy/proxy-answers.js';
import { MAX_EVENT_BYTES, rewriting } from '../../src/proxy/rewriting.js';
import { spreadSignals } from '../../src/proxy/spread-signals.js';
import { wholeReason } from '../../src/proxy/whole-reason.js';
import { resolveOptions } from '../../src/resolve-options.js';
import { PROTOCOLS, type Protocol, ROLES } from '../../src/sse/dialect.js';
import type { Mark } from '../../src/sse/mark.js';
import { planner } from '../support/plans.js';
import { pieces } from './support/splits.js';

const OPTIONS = resolveOptions({ sequence: ['success'], keepaliveCount: 3 }, (name) => name);
const TIME = new Date('2026-08-19T14:34:11Z');

/** What a fault puts in, the same each time. */
function inputOf(fault: FaultSpec, protocol: Protocol, asked: Partial<KeptInput> = {}): KeptInput {
  const selection = {
    kind: 'behavior',
    lane: 'default',
    attempt: 1,
    scripted: 'x',
    behavior: 'x',
    fault,
    source: 'script',
    windows: [],
  } as const;
  const material = answersOf(OPTIONS, () => TIME).material(selection, protocol, { stream: true });
  return { fault, protocol, content: OPTIONS, material, keepAlive: true, chunkedAllowed: true, ...asked };
}

/** The plan of the whole answer. */
function kept(answer: Buffer, input: KeptInput): WirePlan {
  const keep = keeping('POST', input.protocol);
  keep.take(answer);
  keep.scan.finish();
  return keep.plan(input);
}

/** The same as it passes, with where `position` is found in it. */
function passed(answer: Buffer, splits: readonly number[], input: KeptInput, position: Position = 'end') {
  const probe = answerScan('POST', input.protocol, {});
  probe.feed(answer);
  const head = probe.head();
  if (!head) throw new Error('no head');
  const marks = markKeeper({ maxEvents: Number.POSITIVE_INFINITY });
  const place = livePlace(position, input.protocol);
  const anew = rewriting(head, input, spreadSignals([marks, place]));
  const scan = answerScan('POST', input.protocol, anew.signals, anew.long);
  const written: Buffer[] = [];
  let length = 0;
  const take = (): void => {
    const bytes = anew.written();
    if (bytes.length > 0) written.push(bytes);
    length += bytes.length;
    place.onBytes?.(length);
  };
  for (const piece of pieces(answer, splits)) {
    scan.feed(piece);
    take();
  }
  scan.finish();
  take();
  return { bytes: Buffer.concat(written), events: eventsOf(marks.marks()), anew, at: place.at(), scan };
}

function eventsOf(marks: readonly Mark[]) {
  return marks
    .filter(({ kind }) => kind === 'event')
    .map(({ index, name, role, start, end }) => ({ index, name, role, start, end }));
}

const planOf = planner({ successText: 'mock żółw 回复 👧 recovered', chunkSize: 4 });

const UPSTREAMS: Readonly<Record<string, FaultSpec>> = {
  healthy: {},
  'one chunk': { framing: { chunks: 'whole' } },
  'chunks of 7 bytes': { framing: { chunks: { bytes: 7 } } },
  'a length': { framing: { kind: 'content_length' } },
  'until close': { framing: { kind: 'until_close' } },
  'CRLF, byte order mark': { sse: { eol: 'crlf', bom: 'start' } },
  'mixed line ends': { sse: { eol: 'mixed', ids: true, dataLines: 3 }, framing: { chunks: { bytes: 5 } } },
  CR: { sse: { eol: 'cr' } },
  'no blank line at the end': { sse: { end: 'line_end' } },
  'keep-alives': { events: [{ op: 'insert', event: 'keepalive', before: { role: 'delta' }, times: 2 }] },
};

const POSITIONS: readonly Position[] = [
  'headers',
  'body:300',
  'byte:700',
  'chunk:2',
  'chunk:2.size',
  'chunk:1.data+5',
  'last_chunk',
  'last_chunk.end',
  'event:1',
  'event:2+3',
  'event:2.mid',
  'text:3',
  'char:1.mid',
  'deltas',
  'terminator',
  'events',
  'end',
];

const upstreams = PROTOCOLS.flatMap((protocol) =>
  Object.entries(UPSTREAMS).map(([form, fault]) => ({
    protocol,
    form,
    // A failing property shows what it was given.
    [fc.toStringMethod]: () => `${protocol}, ${form}`,
    bytes: planOf(fault, protocol, { body: { stream: true } }).bytes,
  })),
);

const splitting = fc.oneof(fc.constant('bytes' as const), fc.array(fc.nat(20_000), { maxLength: 40 }));

/** The same bytes, marks and places, whatever the segments of the upstream. */
function same(fault: FaultSpec, numRuns: number, asked?: Partial<KeptInput>, besides: readonly Position[] = []): void {
  fc.assert(
    fc.property(
      fc.constantFrom(...upstreams),
      splitting,
      fc.constantFrom(...POSITIONS.filter((position) => !besides.includes(position))),
      ({ protocol, bytes }, splits, position) => {
        const plan = kept(bytes, inputOf(fault, protocol, asked));
        const at = splits === 'bytes' ? Array.from(bytes.keys()) : splits;
        const live = passed(bytes, at, inputOf(fault, protocol, asked), position);
        expect(live.bytes.toString('latin1')).toBe(plan.bytes.toString('latin1'));
        expect(live.events).toEqual(eventsOf(plan.marks));
        expect([position, live.at]).toEqual([position, offsetOf(position, plan)]);
        expect(live.anew.closes).toBe(plan.closes);
        expect(live.anew.unapplied()).toEqual(plan.unapplied);
        expect(live.anew.unreached).toEqual([]);
      },
    ),
    { numRuns, seed: 11 },
  );
}

/** Behaviors that write a passing answer anew. */
const LIVE = CONCRETE_BEHAVIOR_NAMES.filter((name) => {
  const fault = faultOf(name);
  return isPassed(fault) && rewritesBody(fault) && wholeReason(fault) === undefined;
});

describe('the passing answer has the bytes, marks and places of the whole one', () => {
  it.each(LIVE)('%s', (name) => {
    // On a passing answer the terminal says that no delta follows.
    same(faultOf(name), 25, {}, name === 'data_after_terminal' ? ['deltas'] : []);
  });

  it('for a client of HTTP/1.0', () => same(faultOf('stream_error'), 10, { chunkedAllowed: false, keepAlive: false }));

  it.each([
    'event:1',
    'event:2+9',
    'event:2.mid',
    'text:3',
    'headers',
    'deltas',
    'terminator',
    'events',
    'end',
    'body:250',
  ] as const)('eof@%s', (at) => same({ cut: { at, teardown: 'eof' } }, 25));

  it.each([
    'event:1',
    'event:1+0',
    'event:2+9',
    'text:3',
    'headers',
    'deltas',
    'terminator',
    'events',
    'end',
    'body:250',
  ] as const)('bytes put in and taken out at %s', (at) => {
    same({ splice: [{ at, text: 'żółw' }] }, 15);
    same(
      {
        splice: [
          { at, text: 'x', remove: 40 },
          { at: 'event:1', hex: 'ff00' },
        ],
      },
      15,
    );
  });

  it.each(['gzip', 'gzip_lie', 'gzip_no_trailer', 'gzip_extra'] as const)('encoding %s', (encoding) => {
    fc.assert(
      fc.property(fc.constantFrom(...upstreams), splitting, ({ protocol, bytes }, splits) => {
        const input = (): KeptInput => inputOf({ encoding }, protocol);
        const at = splits === 'bytes' ? [] : splits;
        expect(passed(bytes, at, input()).bytes.equals(kept(bytes, input()).bytes)).toBe(true);
      }),
      { numRuns: 20, seed: 11 },
    );
  });

  it('chunks that end elsewhere than events', () => {
    same({ framing: { chunks: { bytes: 7 } } }, 15);
    same({ framing: { chunks: { bytes: 300 } }, sse: { eol: 'crlf' } }, 15);
    same({ framing: { chunks: { at: ['event:*.mid', 'event:*'] } } }, 15);
    same(
      { framing: { chunks: { at: ['event:*', 'text:*', 'char:*.mid'] } }, cut: { at: 'deltas', teardown: 'eof' } },
      15,
    );
  });

  it('framings and heads that lie', () => {
    same({ framing: { extension: ';x=y', trailers: [['X-After', '1']], sizes: [{ chunk: 2, size: 'xyz' }] } }, 15);
    same({ framing: { kind: 'until_close', contentLength: ['7', '8'] }, head: { status: 503, padToBytes: 900 } }, 15);
    same(
      {
        events: [{ op: 'omit', where: { nth: 2 } }],
        head: { contentType: 'swapped', informational: { status: 103, times: 2 } },
      },
      15,
    );
  });
});

const where = fc.record(
  {
    role: fc.oneof(
      fc.constantFrom(...ROLES),
      fc.uniqueArray(fc.constantFrom(...ROLES), { minLength: 1, maxLength: 3 }),
    ),
    name: fc.constantFrom('content', 'content_block_delta', 'response.output_text.delta', 'ping'),
    nth: fc.integer({ min: -4, max: 4 }).filter((n) => n !== 0),
  },
  { requiredKeys: [] },
);
const event = fc.constantFrom(
  'keepalive',
  'malformed_json',
  { data: 'x', id: '1' } as const,
  { comment: 'c', name: 'ping' } as const,
);
const edit = fc.oneof(
  fc.record({ op: fc.constant('keep' as const), where }),
  fc.record({ op: fc.constant('omit' as const), where }),
  fc.record({ op: fc.constant('duplicate' as const), where, times: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ op: fc.constant('move' as const), where, after: where }, { requiredKeys: ['op', 'where'] }),
  fc.record({ op: fc.constant('replace' as const), where, event }),
  fc.record({ op: fc.constant('patch' as const), where, path: fc.constant('a.b'), value: fc.constant(1) }),
  fc.record({ op: fc.constant('insert' as const), event, before: where }, { requiredKeys: ['op', 'event'] }),
  fc.record(
    { op: fc.constant('insert' as const), event, after: where, times: fc.nat(2) },
    { requiredKeys: ['op', 'event'] },
  ),
  fc.constant({ op: 'end_after_deltas' as const }),
);

describe('edits', () => {
  it('of any kind, one after the other', () => {
    let tried = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...upstreams),
        fc.array(
          edit.map((one) => eventEditSchema.parse(one)).filter((one) => wholeEdits([one]) === undefined),
          { minLength: 1, maxLength: 4 },
        ),
        fc.array(fc.nat(20_000), { maxLength: 30 }),
        fc.constantFrom(undefined, { end: 'nothing' } as const, { eol: 'mixed', bom: 'middle', ids: true } as const),
        ({ protocol, bytes }, events, splits, sse) => {
          const fault: FaultSpec = { events, ...(sse ? { sse } : {}) };
          tried++;
          const live = passed(bytes, splits, inputOf(fault, protocol));
          const plan = kept(bytes, inputOf(fault, protocol));
          expect(live.bytes.toString('latin1')).toBe(plan.bytes.toString('latin1'));
          expect(live.events).toEqual(eventsOf(plan.marks));
        },
      ),
      { numRuns: 600, seed: 13 },
    );
    expect(tried).toBeGreaterThanOrEqual(600);
  });

  it.each<[string, FaultSpec]>([
    ['events: end_after_half: half of the deltas is known at the end', faultOf('F1+')],
    ['events: move: what comes later is to stand before delta', faultOf('terminal_early')],
    ['events: omit: start -1 is counted from the end', { events: [{ op: 'omit', where: { role: 'start', nth: -1 } }] }],
    [
      'events: insert: the last open is known at the end',
      { events: [{ op: 'insert', event: 'keepalive', after: { role: 'open' } }] },
    ],
    ['position half', faultOf('F2')],
    ['splice of the wire', { splice: [{ at: 'event:1', layer: 'wire', text: 'x' }] }],
    ['encoding gzip_half', faultOf('encoding_truncated')],
    ['framing: a length', faultOf('length_over')],
    ['framing: the size of the one chunk', faultOf('coalesce')],
    ['framing: the size of the chunk behind the last place', { framing: { chunks: { at: ['event:1'] } } }],
  ])('that need the whole answer say so: %s', (why, fault) => expect(wholeReason(fault)).toBe(why));

  it('need the whole answer in few of the behaviors', () => {
    const whole = CONCRETE_BEHAVIOR_NAMES.filter((name) => {
      const fault = faultOf(name);
      return isPassed(fault) && requestBytesOf(fault) === undefined && wholeReason(fault) !== undefined;
    });
    expect(whole.toSorted()).toMatchInlineSnapshot(`
      [
        "F1",
        "F1+",
        "F2",
        "F2+",
        "coalesce",
        "encoding_truncated",
        "length_and_chunked",
        "length_duplicate",
        "length_over",
        "length_under",
        "terminal_early",
      ]
    `);
  });
});

describe('an event of any length', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n';
  const input = (): KeptInput =>
    inputOf(
      {
        events: [
          { op: 'omit', where: {} },
          { op: 'insert', event: { comment: 'end' } },
        ],
      },
      'openai-chat',
    );

  it('over the limit passes unedited, in pieces, and is told', () => {
    const long = `data: ${'x'.repeat(MAX_EVENT_BYTES)}\n\n`;
    const answer = Buffer.from(`${HEAD}data: a\n\n${long}data: b\n\n`);
    for (const splits of [[], Array.from({ length: 100 }, (_, n) => n * 65_536)]) {
      const live = passed(answer, splits, input());
      expect(live.bytes.toString().replaceAll(/[^x]/g, '')).toHaveLength(MAX_EVENT_BYTES + 1);
      expect(live.bytes.toString()).not.toMatch(/data: [ab]/);
      expect(live.bytes.toString()).toContain(': end\n\n');
      expect(live.anew.unapplied()).toEqual([`events: 1 of over ${MAX_EVENT_BYTES} bytes`]);
    }
  });

  it('that never ends is never kept', () => {
    const probe = passed(Buffer.from(HEAD.replace('\r\n\r\n', '\r\nContent-Length: 999999999\r\n\r\n')), [], input());
    const piece = Buffer.alloc(65_536, 'x');
    let out = 0;
    for (let n = 0; n < 1000; n++) {
      probe.scan.feed(piece);
      out += probe.anew.written().length;
      expect(probe.scan.begun().length).toBeLessThanOrEqual(MAX_EVENT_BYTES);
    }
    expect(out).toBeGreaterThan(1000 * 65_536 - MAX_EVENT_BYTES - 65_536);
  });

  it('that is held for what follows is let go where that is too much', () => {
    const fault: FaultSpec = { events: [{ op: 'end_after_deltas' }] };
    const delta = 'data: {"choices":[{"delta":{"content":"hello"}}]}\n\n';
    const behind = `: ${'x'.repeat(1_000_000)}\n\n`.repeat(20);
    const live = passed(Buffer.from(`${HEAD}${delta}${behind}`), [], inputOf(fault, 'openai-chat'));
    expect(live.bytes.length).toBeGreaterThan(20_000_000);
    expect(live.anew.unapplied()).toEqual(['events: end_after_deltas would have had to hold too much']);
  });
});

describe('positions', () => {
  it('of this test are found in passing answers', () => {
    expect(POSITIONS.filter((position) => needOf(position) === 'whole')).toEqual([]);
  });
});
