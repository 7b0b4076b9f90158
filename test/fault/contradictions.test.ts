import { describe, expect, it } from 'vitest';
import { BEHAVIORS } from '../../src/fault/catalogue.js';
import { problemsOf } from '../../src/fault/contradictions.js';
import type { FaultSpec } from '../../src/fault/spec.js';

/** A fault that contradicts itself, where, and in what words; and the nearest one that doesn't. */
interface Row {
  readonly name: string;
  readonly bad: FaultSpec;
  readonly says: readonly (readonly [string, RegExp])[];
  readonly good: FaultSpec;
}

const ROWS: readonly Row[] = [
  {
    name: 'a window of the port that is none',
    bad: { listen: {} },
    says: [['listen', /^has 0 of refuseMs, refuseAttempts, blackholeMs; give exactly one$/]],
    good: { listen: { refuseMs: 5 } },
  },
  {
    name: 'a window of the port that is two',
    bad: { listen: { refuseMs: 5, blackholeMs: 5 } },
    says: [['listen', /^has 2 of/]],
    good: { listen: { blackholeMs: 'listenDelayMs' } },
  },
  {
    name: 'a closed port with an answer',
    bad: { listen: { refuseAttempts: 3 }, head: { connection: 'close' } },
    says: [['head', /no connection, so it can't have head$/]],
    good: { listen: { refuseAttempts: 3 } },
  },
  {
    name: 'a correct end of an answer that never begins',
    bad: { cut: { at: 'accept', teardown: 'eof' } },
    says: [['cut.teardown', /^eof needs an answer, and there is none at accept; use fin$/]],
    good: { cut: { at: 'accept', teardown: 'fin' } },
  },
  {
    name: 'the pace of an answer that never begins',
    bad: { cut: { at: 'request:9', teardown: 'rst' }, pace: { firstByteMs: 3 } },
    says: [['pace', /^nothing is answered at request:9, so pace has no meaning$/]],
    good: { cut: { at: 'request', teardown: 'rst' }, pace: { firstByteMs: 3 } },
  },
  {
    name: 'how much is read of a request that is not',
    bad: { cut: { at: 'accept', teardown: 'rst' }, request: { read: 'head' } },
    says: [['request', /so request has no meaning$/]],
    good: { cut: { at: 'headers', teardown: 'rst' }, request: { read: 'head' } },
  },
  ...(['byte:3', 'chunk:1', 'last_chunk', 'status_line:3', 'headers:9', 'request'] as const).map(
    (at): Row => ({
      name: `a correct end at ${at}`,
      bad: { cut: { at, teardown: 'eof' } },
      says: [['cut.at', new RegExp(`needs a place in the body; ${at} is one of the wire$`)]],
      good: { cut: { at: 'headers', teardown: 'eof' } },
    }),
  ),
  {
    name: 'a place of the wire in the body',
    bad: {
      splice: [
        { at: 'body:1', text: 'a' },
        { at: 'chunk:1.size', text: 'b' },
      ],
    },
    says: [['splice.1.at', /^chunk:1\.size is a place of the wire; say layer: wire$/]],
    good: { splice: [{ at: 'chunk:1.size', text: 'b', layer: 'wire' }] },
  },
  {
    name: 'a splice of nothing',
    bad: { splice: [{ at: 'body:1' }] },
    says: [['splice.0', /^puts nothing in and takes nothing out/]],
    good: { splice: [{ at: 'body:1', remove: 1 }] },
  },
  {
    name: 'chunks without chunks',
    bad: { framing: { kind: 'content_length', chunks: 'whole', last: 'none' } },
    says: [
      ['framing.chunks', /^only a chunked body has chunks, and this one is content_length$/],
      ['framing.last', /^only a chunked body has last/],
    ],
    good: { framing: { chunks: 'whole', last: 'none' } },
  },
  {
    name: 'a pulse for ever, and then a reset',
    bad: { pace: { pulse: { everyMs: 9 } }, cut: { at: 'events', teardown: 'rst' } },
    says: [['pace.pulse', /^a pulse for ever never comes to the cut/]],
    good: { pace: { pulse: { everyMs: 9, times: 2 } }, cut: { at: 'events', teardown: 'rst' } },
  },
  {
    name: 'a pulse of an event without a chunk of its own',
    bad: { pace: { pulse: { everyMs: 9 } }, framing: { chunks: 'whole' }, cut: { at: 'events', teardown: 'stall' } },
    says: [['framing.chunks', /needs a chunk of its own/]],
    good: { pace: { pulse: { everyMs: 9 } }, framing: { chunks: 'event' }, cut: { at: 'events', teardown: 'stall' } },
  },
  {
    name: 'two moments of an idle connection',
    bad: { idle: { teardown: 'fin', afterMs: 5, onRequest: 2 } },
    says: [['idle.onRequest', /it can only be 1$/]],
    good: { idle: { teardown: 'rst', afterMs: 5, onRequest: 1 } },
  },
  {
    name: 'a moment of an idle connection at which nothing is done',
    bad: { idle: { onRequest: 1, stray: 'x' } },
    says: [['idle', /no teardown; give fin or rst$/]],
    good: { idle: { onRequest: 1, stray: 'x', teardown: 'rst' } },
  },
  {
    name: 'an idle connection to which nothing happens',
    bad: { idle: {} },
    says: [['idle', /^does nothing/]],
    good: { idle: { stray: 'x' } },
  },
  {
    name: 'an idle connection that has ended',
    bad: { idle: { teardown: 'fin' }, cut: { at: 'end', teardown: 'stall' } },
    says: [['idle', /^the connection ends with stall/]],
    good: { idle: { teardown: 'fin' }, cut: { at: 'deltas', teardown: 'eof' } },
  },
  {
    name: 'segments without ends',
    bad: { segments: { gapMs: 5 } },
    says: [['segments', /^ends no segment/]],
    good: { segments: { gapMs: 5, everyBytes: 9 } },
  },
  {
    name: 'a patch of no place',
    bad: {
      events: [
        { op: 'patch', where: {}, path: 'a' },
        { op: 'patch', where: {}, path: 'a..b' },
      ],
    },
    says: [['events.1.path', /^"a\.\.b" is no path into JSON/]],
    good: { events: [{ op: 'patch', where: {}, path: 'a[0].b' }] },
  },
  {
    name: 'a head that is given whole, and in parts',
    bad: { head: { raw: 'HTTP/1.1 200 OK\r\n\r\n', connection: 'close' } },
    says: [['head.raw', /^is the whole head/]],
    good: { head: { raw: 'HTTP/1.1 200 OK\r\n\r\n' } },
  },
];

describe('a contradiction', () => {
  it.each(ROWS)('$name', ({ bad, says, good }) => {
    const problems = problemsOf(bad);
    expect(problems.map(({ path, message }) => [path.join('.'), message])).toEqual(
      says.map(([path, message]) => [path, expect.stringMatching(message)]),
    );
    for (const { message } of problems) expect(message).not.toContain('\n');
    expect(problemsOf(good)).toEqual([]);
  });

  it('is told beside all others', () => {
    const bad: FaultSpec = { segments: {}, idle: {}, splice: [{ at: 'byte:1' }] };
    expect(problemsOf(bad).map(({ path }) => path.join('.'))).toEqual(['splice.0.at', 'splice.0', 'idle', 'segments']);
  });
});

it.each(BEHAVIORS)('$name does not contradict itself', ({ fault }) => {
  expect(problemsOf(fault)).toEqual([]);
});
