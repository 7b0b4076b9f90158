import fc from 'fast-check';
import { problemsOf } from '../../src/fault/contradictions.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import type { TurnShape } from '../../src/fault/spec-answer.js';
import { PROTOCOLS } from '../../src/sse/dialect.js';
import { SSE_EOLS, type SseForm } from '../../src/sse/form.js';
import type { AskedPlan } from './compiled.js';

/** Faults by chance, layer by layer. */

/** Words with characters of one to four bytes, and what JSON writes as escapes. */
const words = fc
  .array(fc.constantFrom('a', 'b ', 'ż', '回', '👧', '"', '\\', '\n', '\u0001', '\u2028', '{"x":'), {
    minLength: 1,
    maxLength: 40,
  })
  .map((found) => found.join(''));

export const asked: fc.Arbitrary<AskedPlan> = fc.record({
  protocol: fc.constantFrom(...PROTOCOLS),
  stream: fc.boolean(),
  chunkedAllowed: fc.boolean(),
  chunkSize: fc.integer({ min: 1, max: 12 }),
  successText: words,
});

const turns: fc.Arbitrary<TurnShape> = fc.constantFrom<TurnShape>(
  { text: 'success', finish: 'stop' },
  { text: 'success', finish: 'length', reasoning: true },
  { text: 'success', toolCalls: 2, finish: 'tool_calls' },
  { text: 'none', finish: 'stop' },
);
export const answers = turns.map((turn): NonNullable<FaultSpec['answer']> => ({ kind: 'turn', turn }));

/** Forms in which the events are the same. */
export const sseForms: fc.Arbitrary<SseForm> = fc.record(
  {
    eol: fc.constantFrom(...SSE_EOLS),
    colonSpace: fc.boolean(),
    bom: fc.constant('start' as const),
    ids: fc.boolean(),
    dataLines: fc.integer({ min: 1, max: 9 }),
    padToBytes: fc.integer({ min: 1, max: 600 }),
  },
  { requiredKeys: [] },
);

const places = fc.constantFrom('event:*.mid', 'event:*', 'char:*.mid', 'eol:*.mid', 'event:*+3', 'body:7', 'text:*');

/** Chunks that hold the same body. */
export const chunkings: fc.Arbitrary<NonNullable<NonNullable<FaultSpec['framing']>['chunks']>> = fc.oneof(
  fc.constantFrom('event' as const, 'whole' as const),
  fc.record({ bytes: fc.integer({ min: 1, max: 300 }) }),
  fc.record({ at: fc.array(places, { minLength: 1, maxLength: 3 }) }),
);

export const segments: fc.Arbitrary<NonNullable<FaultSpec['segments']>> = fc.oneof(
  fc.record(
    { at: fc.array(fc.oneof(places, fc.constantFrom('chunk:*', 'byte:9')), { minLength: 1 }), gapMs: fc.nat(9) },
    { requiredKeys: ['at'] },
  ),
  fc.record({ everyBytes: fc.integer({ min: 1, max: 500 }), gapMs: fc.nat(9) }, { requiredKeys: ['everyBytes'] }),
);

const edits: fc.Arbitrary<NonNullable<FaultSpec['events']>> = fc.subarray<NonNullable<FaultSpec['events']>[number]>([
  { op: 'duplicate', where: { nth: 1 } },
  { op: 'insert', event: 'keepalive', before: { role: 'delta' }, times: 3 },
  { op: 'move', where: { role: 'terminal' }, before: { role: 'delta' } },
  { op: 'insert', event: { comment: 'ż', data: { a: [1] } }, after: { role: 'open' } },
  { op: 'replace', where: { role: 'finish' }, event: 'malformed_event' },
  { op: 'omit', where: { role: 'usage' } },
]);

/** Faults without a cut, in which what the framing says is true. */
export const uncutFaults: fc.Arbitrary<FaultSpec> = fc
  .record(
    {
      answer: answers,
      events: edits,
      sse: sseForms,
      splice: fc.array(fc.record({ at: fc.constantFrom('body:3', 'event:1', 'end'), text: fc.constant('~') }), {
        maxLength: 2,
      }),
      framing: fc.record(
        { chunks: chunkings, extension: fc.constant(';x=1'), trailers: fc.constant([['x-t', 'v'] as const]) },
        { requiredKeys: [] },
      ),
      head: fc.record(
        { padToBytes: fc.integer({ min: 1, max: 2000 }), add: fc.constant([['x-a', 'b'] as const]) },
        { requiredKeys: [] },
      ),
      segments,
    },
    { requiredKeys: [] },
  )
  .filter((fault) => problemsOf(fault).length === 0);
