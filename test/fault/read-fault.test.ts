import { describe, expect, it } from 'vitest';
import { BEHAVIORS } from '../../src/fault/catalogue.js';
import { issuesOf } from '../../src/fault/read-fault.js';
import { faultJsonSchema, faultSchema } from '../../src/fault/spec.js';

/** Where, and what, on one line each. */
const told = (value: unknown): string[] =>
  issuesOf(value).map(({ path, message }) => {
    expect(message).not.toContain('\n');
    return `${path.join('.')}: ${message}`;
  });

describe('a fault of the language', () => {
  it.each(BEHAVIORS)('$name is one, and is read as it is', ({ fault }) => {
    expect(issuesOf(fault)).toEqual([]);
    expect(faultSchema.parse(JSON.parse(JSON.stringify(fault)))).toEqual(fault);
  });

  it('nothing is a healthy answer', () => {
    expect(issuesOf({})).toEqual([]);
  });

  it('has a schema that editors can read, with all layers', () => {
    const schema = JSON.parse(JSON.stringify(faultJsonSchema()));
    expect(Object.keys(schema.properties)).toEqual([
      ...['listen', 'request', 'answer', 'events', 'sse', 'splice', 'encoding', 'framing', 'head', 'segments', 'pace'],
      ...['cut', 'idle'],
    ]);
    expect(schema.additionalProperties).toBe(false);
    expect(new RegExp(schema.properties.cut.properties.at.pattern).test('event:3+17')).toBe(true);
  });
});

describe('what is none', () => {
  const ROWS: readonly (readonly [unknown, ...(string | RegExp)[]])[] = [
    [null, ': invalid input: expected object, received null'],
    ['success', ': invalid input: expected object, received string'],
    [{ cutt: {} }, /^cutt: unknown key "cutt", did you mean "cut"\? \(known: listen, request, /],
    [{ kind: 'answer', status: 1 }, /^kind: unknown key "kind" \(known/, /^status: unknown key "status"/],
    [{ cut: { teardown: 'rst' } }, /^cut\.at: .*expected string, received undefined$/],
    [{ cut: { at: 'end' } }, 'cut.teardown: expected one of rst, rst_now, fin, half_close, eof, stall'],
    [
      { cut: { at: 'end', teardown: 'rts' } },
      /^cut\.teardown: unknown word "rts", did you mean "rst"\? \(known: rst, /,
    ],
    [
      { cut: { at: 'evnt:3', teardown: 'rst', foo: 1, tat: 2 } },
      /^cut\.at: unknown position "evnt:3", did you mean "event:N"\?/,
      'cut.foo: unknown key "foo" (known: at, teardown, delayMs)',
      'cut.tat: unknown key "tat", did you mean "at"? (known: at, teardown, delayMs)',
    ],
    [{ cut: { at: 'event:*', teardown: 'rst' } }, /^cut\.at: unknown position "event:\*"/],
    [{ cut: { at: 'end', teardown: 'rst', delayMs: -1 } }, 'cut.delayMs: too small: expected number to be >=0'],
    [
      { cut: { at: 'end', teardown: 'rst', delayMs: 'chunkDelay' } },
      /^cut\.delayMs: expected a number, or one of chunkDelayMs, .*; did you mean "chunkDelayMs"\?$/,
    ],
    [{ answer: { kind: 'trun' } }, /^answer\.kind: unknown kind "trun", did you mean "turn"\? \(known: turn, events, /],
    [{ answer: {} }, /^answer\.kind: expected kind to be one of turn, events, http_error, /],
    [{ answer: { kind: 'turn', turn: { text: 'all', finish: 'stop' } } }, /^answer\.turn\.text: unknown word "all"/],
    [
      { answer: { kind: 'turn', turn: { text: 'none', finish: 'stop', toolCalls: 3 } } },
      'answer.turn.toolCalls: expected one of 1, 2',
    ],
    [{ events: [{ op: 'drop', roles: [] }] }, /^events\.0\.op: unknown op "drop" \(known: keep, omit, /],
    // A key that not every edit has.
    [{ events: [{ op: 'omit', where: { rol: 'delta' } }] }, /^events\.0\.where\.rol: .* did you mean "role"\?/],
    [
      { events: [{ op: 'end_after_deltas' }, { op: 'omit', where: { role: 'dleta' } }] },
      /^events\.1\.where\.role: expected an array, or one of open, .*; did you mean "delta"\?$/,
    ],
    [{ events: [{ op: 'omit', where: { nth: 0 } }] }, 'events.0.where.nth: counts from 1, or from -1 backwards'],
    [
      { events: [{ op: 'insert', event: 'keepalif' }] },
      /^events\.0\.event: expected an object, or one of malformed_json, .*; did you mean "keepalive"\?$/,
    ],
    // Of the two forms of an event, an object is meant as an event.
    [{ events: [{ op: 'insert', event: { dta: 'x' } }] }, /^events\.0\.event\.dta: .*did you mean "data"\?/],
    [{ framing: { chunks: 'events' } }, /^framing\.chunks: expected an object, or one of event, whole; did you/],
    [{ framing: { chunks: { bytes: 0 } } }, 'framing.chunks.bytes: too small: expected number to be >=1'],
    [{ framing: { chunks: { at: ['event:x'] } } }, /^framing\.chunks\.at\.0: unknown position "event:x"/],
    [{ segments: { at: [] } }, /^segments\.at: too small/],
    [{ splice: [{ at: 'text:1', hex: 'f' }] }, 'splice.0.hex: expected pairs of hexadecimal digits'],
    [{ sse: { eol: 'LF' } }, /^sse\.eol: unknown word "LF", did you mean "lf"\?/],
    [{ encoding: 'br' }, /^encoding: unknown word "br" \(known: gzip, /],
    [{ pace: { jitter: 2 } }, /^pace\.jitter: too big/],
    [{ head: { set: [['a']] } }, /^head\.set\.0: too small/],
    [{ listen: { refuseAttempts: 1.5 } }, /^listen\.refuseAttempts: /],
  ];

  const rows = ROWS.map(([value, ...wanted]) => ({ value, wanted }));
  it.each(rows)('$value is told of all at once, with what is right', ({ value, wanted }) => {
    expect(told(value)).toEqual(wanted.map((one) => (typeof one === 'string' ? one : expect.stringMatching(one))));
    expect(faultSchema.safeParse(value).success).toBe(false);
  });
});
