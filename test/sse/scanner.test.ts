import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentMarks, onWire } from '../../src/sse/content-marks.js';
import type { Protocol } from '../../src/sse/dialect.js';
import { recognize } from '../../src/sse/recognize.js';
import { fieldsOf, type ScannedEvent, sseScanner } from '../../src/sse/scanner.js';
import { pieces } from '../proxy/support/splits.js';
import { planner } from '../support/plans.js';

function eventsIn(body: Buffer, splits: readonly number[] = []): ScannedEvent[] {
  const events: ScannedEvent[] = [];
  const scanner = sseScanner({ onEvent: (event) => events.push(event) });
  let at = 0;
  for (const piece of pieces(body, splits)) {
    scanner.feed(piece, at);
    at += piece.length;
  }
  scanner.finish();
  return events;
}

const told = (events: readonly ScannedEvent[]) =>
  events.map(({ index, start, end, bytes }) => ({ index, start, end, text: bytes.toString('latin1') }));

const PIECES = [
  'data: a',
  'event: x',
  ': comment',
  'id',
  '\r',
  '\n',
  '\r\n',
  '\n\n',
  '\r\r',
  '\r\n\r\n',
  '\ufeff',
  'ż',
] as const;

describe('events', () => {
  it('are the same however their bytes are split', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 25 }), fc.array(fc.nat(120)), (parts, splits) => {
        const body = Buffer.from(parts.join(''));
        const within = splits.filter((at) => at < body.length);
        expect(told(eventsIn(body, within))).toEqual(told(eventsIn(body)));
        const everywhere = Array.from(body.keys());
        expect(told(eventsIn(body, everywhere))).toEqual(told(eventsIn(body)));
      }),
      { seed: 7, numRuns: 400 },
    );
  });

  it('end with their blank line, the LF of a CRLF included', () => {
    expect(told(eventsIn(Buffer.from('data: a\r\n\r\ndata: b\r\rdata: c\n\n')))).toEqual([
      { index: 1, start: 0, end: 11, text: 'data: a\r\n\r\n' },
      { index: 2, start: 11, end: 20, text: 'data: b\r\r' },
      { index: 3, start: 20, end: 29, text: 'data: c\n\n' },
    ]);
  });

  it('begin behind blank lines, and may end with the body', () => {
    expect(told(eventsIn(Buffer.from('\n\n\ndata: a\n\n\ndata: b')))).toEqual([
      { index: 1, start: 3, end: 12, text: 'data: a\n\n' },
      { index: 2, start: 13, end: 20, text: 'data: b' },
    ]);
  });
});

describe('fields', () => {
  it.each([
    ['data: {"a":1}\n\n', { data: '{"a":1}', comment: false }],
    ['event: x\ndata: y\n\n', { event: 'x', data: 'y', comment: false }],
    ['\ufeffdata:y\r\n\r\n', { data: 'y', comment: false }],
    ['data: a\rdata:  b\rid: 1\r\r', { data: 'a\n b', comment: false }],
    [': keep-alive\n\n', { comment: true }],
    ['data\n\n', { data: '', comment: false }],
  ])('of %j', (text, fields) => {
    expect(fieldsOf(Buffer.from(text), true)).toEqual(fields);
  });
});

const HEALTHY = [
  'success',
  'reasoning_success',
  'tool_call_success',
  'parallel_tool_calls',
  'max_tokens',
  'content_filter',
  'empty',
  'keepalive_then_success',
] as const;
const PROTOCOLS: readonly Protocol[] = ['openai-chat', 'openai-responses', 'anthropic-messages'];

describe.each(PROTOCOLS)('our own answers in %s', (protocol) => {
  const planOf = planner({ keepaliveCount: 2, reasoningText: 'so "ż" 👧\n', toolArguments: '{"a":"b\\n👧"}' });

  it.each(HEALTHY)('%s: names, roles and content are found again', (behavior) => {
    for (const model of ['mock-model', 'deepseek-chat']) {
      const plan = planOf(behavior, protocol, {
        body: { stream: true, model, stream_options: { include_usage: true } },
      });
      const body = Buffer.concat(
        plan.marks.filter(({ kind }) => kind === 'chunk_data').map(({ start, end }) => plan.bytes.subarray(start, end)),
      );
      const places = plan.marks.filter(({ kind }) => kind === 'chunk_data');
      const shift = (at: number): number => {
        let before = 0;
        for (const { start, end } of places) {
          if (at < before + end - start) return start + at - before;
          before += end - start;
        }
        return at;
      };
      const events = eventsIn(body, [100, 101, 333, 1000]);
      const found = events.map((event) => {
        const fields = fieldsOf(event.bytes, event.index === 1);
        return { ...recognize(protocol, fields), start: shift(event.start) };
      });
      const planned = plan.marks.filter(({ kind }) => kind === 'event');
      expect(found).toEqual(planned.map(({ name, role, start }) => ({ name, role, start })));

      const kinds = ['text', 'reasoning', 'tool_args'];
      const contents = events.flatMap((event) =>
        onWire(event, contentMarks(protocol, event, fieldsOf(event.bytes, event.index === 1))).map(
          ({ kind, start, end }) => ({
            kind,
            start: shift(start),
            text: body.toString('utf8', start, end),
          }),
        ),
      );
      const own = plan.marks.filter(({ kind }) => kinds.includes(kind));
      const joined = (kind: string) =>
        contents
          .filter((one) => one.kind === kind)
          .map(({ text }) => text)
          .join('');
      for (const kind of kinds) {
        const planned = own
          .filter((mark) => mark.kind === kind)
          .map(({ start, end }) => plan.bytes.toString('utf8', start, end));
        expect([kind, joined(kind)]).toEqual([kind, planned.join('')]);
      }
    }
  });
});
