import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../src/sse/dialect.js';
import { encodeEvents } from '../../src/sse/encoder.js';
import { dataLines, lineEnder, SSE_EOLS, type SseForm } from '../../src/sse/form.js';
import { readStream } from '../support/event-stream.js';

const event = (data: string, rest: Partial<StreamEvent> = {}): StreamEvent => ({
  name: 'delta',
  role: 'delta',
  data: () => data,
  ...rest,
});

const written = (events: readonly StreamEvent[], form: SseForm): string =>
  Buffer.concat(encodeEvents(events, form).map(({ bytes }) => bytes)).toString();
const read = (events: readonly StreamEvent[], form: SseForm) => readStream(Buffer.from(written(events, form)));

const TWO = [event('{"a":1}', { event: 'x' }), event('[DONE]')];

describe('line ends', () => {
  it.each([
    ['lf', 'event: x\ndata: {"a":1}\n\ndata: [DONE]\n\n'],
    ['crlf', 'event: x\r\ndata: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n'],
    ['cr', 'event: x\rdata: {"a":1}\r\rdata: [DONE]\r\r'],
    ['mixed', 'event: x\ndata: {"a":1}\r\r\ndata: [DONE]\n\r'],
  ] as const)('%s', (eol, text) => {
    expect(written(TWO, { eol })).toBe(text);
  });

  it('are of each kind in turn, and no two of them run into one', () => {
    const next = lineEnder({ eol: 'mixed' });
    const ends = Array.from({ length: 9 }, next);
    expect(new Set(ends)).toEqual(new Set(['\n', '\r\n', '\r']));
    // Read as lines without words: as many as there are ends.
    expect(ends.join('').split(/\r\n|\n|\r/)).toHaveLength(ends.length + 1);
  });
});

describe('the space after a colon', () => {
  it('is left out, and stays before a value that begins with one, of which a reader takes one away', () => {
    const events = [event('a', { event: ' x', comment: 'c' }), event(' b')];
    expect(written(events, { colonSpace: false })).toBe(':c\nevent:  x\ndata:a\n\ndata:  b\n\n');
    expect(read(events, { colonSpace: false })).toEqual({ ...read(events, {}), comments: ['c'] });
  });
});

describe('a byte order mark', () => {
  const BOM = '\ufeff';
  const plain = 'event: x\ndata: {"a":1}\n\ndata: [DONE]\n\n';

  it.each<[NonNullable<SseForm['bom']>, string]>([
    ['start', `${BOM}${plain}`],
    ['twice', `${BOM}${BOM}${plain}`],
    ['middle', plain.replace('data: [', `${BOM}data: [`)],
  ])('%s', (bom, text) => {
    expect(written(TWO, { bom })).toBe(text);
    const [first] = encodeEvents(TWO, { bom });
    expect(first?.marks[0]).toMatchObject({ start: 0, end: first?.bytes.length });
  });

  it('at the start is no part of the stream; a second one, or one in it, spoils a field', () => {
    const events = read(TWO, {}).events;
    expect(read(TWO, { bom: 'start' }).events).toEqual(events);
    expect(read(TWO, { bom: 'twice' }).events[0]).toEqual({ type: 'message', data: '{"a":1}', lastEventId: '' });
    expect(read(TWO, { bom: 'middle' }).events).toEqual(events.slice(0, 1));
  });

  it('moves the marks of content with it', () => {
    const content = { kind: 'text', key: 'content', value: 'ż' } as const;
    const events = [event('{"content":"ż"}', { content })];
    const [encoded] = encodeEvents(events, { bom: 'start' });
    const mark = encoded?.marks[1];
    expect(mark && encoded?.bytes.toString('utf8', mark.start, mark.end)).toBe('ż');
  });
});

describe('data lines', () => {
  it.each([
    ['{"a":1,"b":[2,3]}', 4, ['{', '"a":1,', '"b":[', '2,3]}']],
    ['{"a":1}', 4, ['{', '"a":1}']],
    ['{"a":"x,[{","b":"\\",{"}', 9, ['{', '"a":"x,[{",', '"b":"\\",{"}']],
    ['[1,2,3]', 2, ['[', '1,2,3]']],
    ['{"a":1}', 1, ['{"a":1}']],
    ['7', 5, ['7']],
    ['{\n"a": 1,\n"b": 2}', 3, ['{', '', '"a": 1,', '', '"b": 2}']],
  ])('of %j, %i of them', (data, count, lines) => {
    expect(dataLines(data, count)).toEqual(lines);
  });

  it.each(['[DONE]', '{not-json', '{"a":', 'words, and more', ''])('of %j there is one: it is not JSON', (data) => {
    expect(dataLines(data, 4)).toEqual([data]);
  });

  it('of words are those that the line breaks make', () => {
    expect(dataLines('a\nb\n', 1)).toEqual(['a', 'b', '']);
  });

  it('keep what the JSON means, and are never more than asked for', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 30 }), (value, count) => {
        const json = JSON.stringify(value);
        const lines = dataLines(json, count);
        expect(lines.length).toBeLessThanOrEqual(count);
        expect(lines.join('')).toBe(json);
        expect(JSON.stringify(JSON.parse(lines.join('\n')))).toBe(json);
        // As many as there can be.
        const places = json.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/[,[{]/g)?.length ?? 0;
        expect(lines.length).toBe(Math.min(count, places + 1));
      }),
      { seed: 81, numRuns: 500 },
    );
  });
});

describe('ids and retry', () => {
  it('number the events from 1; an id of its own is kept', () => {
    const events = [event('a'), event('b', { id: 'mine' }), event('c')];
    expect(written(events, { ids: true })).toBe('id: 1\ndata: a\n\nid: mine\ndata: b\n\nid: 3\ndata: c\n\n');
  });

  it('say the time once, in the first event', () => {
    expect(written([event('a'), event('b')], { retry: 'soon' })).toBe('retry: soon\ndata: a\n\ndata: b\n\n');
    expect(read([event('a')], { retry: 'soon' }).retries).toEqual([]);
    expect(read([event('a')], { retry: '15' }).retries).toEqual([15]);
  });
});

describe('padding', () => {
  const bytesOf = (events: readonly StreamEvent[], form: SseForm): number[] =>
    encodeEvents(events, form).map(({ bytes }) => bytes.length);

  it.each(SSE_EOLS)('makes each shorter event so long, with lines that end in %s', (eol) => {
    const events = [event('a'), event('ż'.repeat(300)), event('c', { event: 'x' }), event('{"n":[]}')];
    const [, long] = bytesOf(events, { eol });
    expect(bytesOf(events, { eol, padToBytes: 100 })).toEqual([100, long, 100, 100]);
    expect(read(events, { eol, padToBytes: 100 }).events).toEqual(read(events, {}).events);
  });

  it('leaves an event alone that has no room for a comment', () => {
    // `data: a` and its two line ends are nine bytes; a colon and a line end are two more.
    expect([8, 9, 10, 11, 12].map((padToBytes) => bytesOf([event('a')], { padToBytes })[0])).toEqual([9, 9, 9, 11, 12]);
  });
});

describe('the end', () => {
  it.each<[SseForm['end'], string]>([
    [undefined, 'data: a\n\ndata: b\n\n'],
    ['blank_line', 'data: a\n\ndata: b\n\n'],
    ['line_end', 'data: a\n\ndata: b\n'],
    ['nothing', 'data: a\n\ndata: b'],
  ])('with %s', (end, text) => {
    expect(written([event('a'), event('b')], end ? { end } : {})).toBe(text);
  });

  it('without a blank line is no event', () => {
    for (const end of ['line_end', 'nothing'] as const) {
      for (const eol of SSE_EOLS) {
        const { events, pending } = read([event('a'), event('b')], { end, eol });
        expect([events.map(({ data }) => data), pending]).toEqual([['a'], true]);
      }
    }
  });
});

describe('any form that the grammar allows', () => {
  const forms: fc.Arbitrary<SseForm> = fc.record(
    {
      eol: fc.constantFrom(...SSE_EOLS),
      colonSpace: fc.boolean(),
      bom: fc.constant('start' as const),
      retry: fc.constantFrom('soon', '10'),
      padToBytes: fc.integer({ min: 1, max: 200 }),
    },
    { requiredKeys: [] },
  );
  // What no line can hold is left out: line ends, and the NUL that the grammar knows.
  const word = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\r\n\0\ufeff]/g, ' '));
  const events = fc.array(
    fc.record(
      { data: word.filter((text) => text !== ''), event: word, id: word, comment: word },
      { requiredKeys: ['data'] },
    ),
    { maxLength: 8 },
  );

  it('has the same events, whatever they say', () => {
    fc.assert(
      fc.property(events, forms, (given, form) => {
        const list = given.map(({ data, ...rest }) => event(data, rest));
        let lastEventId = '';
        const wanted = given.map(({ data, event: type = '', id }) => {
          lastEventId = id ?? lastEventId;
          return { type: type || 'message', data, lastEventId };
        });
        expect(read(list, form)).toMatchObject({ events: wanted, pending: false });
      }),
      { seed: 82, numRuns: 500 },
    );
  });
});
