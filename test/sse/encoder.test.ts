import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Content, DialectEvent, StreamEvent } from '../../src/sse/dialect.js';
import { encodeEvents, encodeWhole } from '../../src/sse/encoder.js';
import type { Mark, Marked } from '../../src/sse/mark.js';

const event = (data: string, rest: Partial<DialectEvent> = {}): DialectEvent => ({
  name: 'delta',
  role: 'delta',
  data: () => data,
  ...rest,
});

const under = ({ bytes }: Marked, { start, end }: Mark): string => bytes.toString('utf8', start, end);
const contents = (marked: Marked): string[] =>
  marked.marks.filter(({ kind }) => kind !== 'event' && kind !== 'part').map((mark) => under(marked, mark));
const parts = (marked: Marked): [string | undefined, string][] =>
  marked.marks.filter(({ kind }) => kind === 'part').map((mark) => [mark.role, under(marked, mark)]);

/** Any text, with much of what JSON escapes and what looks like the keys around it. */
const words = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1 }),
  fc
    .array(fc.constantFrom('"', '\\', '\n', 'ż', '👧', '"content":"', '\ud800', '"content":', 'x'), { minLength: 1 })
    .map((found) => found.join('')),
);

describe('events', () => {
  it.each([
    ['data: {"a":1}\n\n', event('{"a":1}')],
    ['event: ping\ndata: {"type": "ping"}\n\n', event('{"type": "ping"}', { event: 'ping' })],
    [': keep-alive\n\n', { name: 'delta', role: 'delta', comment: 'keep-alive' }],
    ['data: [DONE]\n\n', event('[DONE]')],
    ['data: zażółć\n\n', event('zażółć')],
    ['data: a\ndata: b\n\n', event('a\nb')],
    [': a\n: b\ndata: x\n\n', event('x', { comment: 'a\nb' })],
    [': c\nevent: e\nid: 7\nretry: 9\ndata: x\n\n', event('x', { comment: 'c', event: 'e', id: '7', retry: '9' })],
    ['data\n\n', event('x', { event: 'e', raw: 'data\n\n' })],
    ['\n', { name: 'delta', role: 'delta' }],
  ] satisfies [string, StreamEvent][])('are %j', (text, given) => {
    const [encoded] = encodeEvents([given]);
    expect(encoded?.bytes.toString()).toBe(text);
    const end = Buffer.byteLength(text);
    expect(encoded?.marks).toEqual([{ kind: 'event', index: 1, name: 'delta', role: 'delta', start: 0, end }]);
  });

  it('are numbered by their place in the list: the data from 0, the marks from 1', () => {
    const numbered = (name: string): DialectEvent => ({ name, role: 'open', data: (sequence) => String(sequence) });
    const encoded = encodeEvents([numbered('a'), numbered('b'), numbered('c')]);
    expect(encoded.map(({ bytes }) => bytes.toString())).toEqual(['data: 0\n\n', 'data: 1\n\n', 'data: 2\n\n']);
    expect(encoded.map(({ marks }) => [marks[0]?.index, marks[0]?.name])).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'c'],
    ]);
  });

  it('mark their content between its quotes, whatever it is', () => {
    fc.assert(
      fc.property(words, fc.string({ unit: 'grapheme' }), fc.boolean(), (value, other, spaced) => {
        const data = JSON.stringify({ model: other, n: 1, delta: { content: value }, more: other });
        const json = spaced ? data.replaceAll(':', ': ') : data;
        // A space behind each colon changes texts with colons too.
        fc.pre(!spaced || !`${value}${other}`.includes(':'));
        const content: Content = { kind: 'text', key: 'content', value };
        const [encoded] = encodeEvents([event(json, { event: 'x', content })]);
        expect(encoded && contents(encoded)).toEqual([JSON.stringify(value).slice(1, -1)]);
      }),
      { numRuns: 300, seed: 5 },
    );
  });

  it('mark raw JSON as it stands', () => {
    const content: Content = { kind: 'tool_args', key: 'input', value: '{"a":"ż"}', raw: true };
    const [encoded] = encodeEvents([event('{"name":"ż","input":{"a":"ż"},"z":1}', { content })]);
    expect(encoded && contents(encoded)).toEqual(['{"a":"ż"}']);
  });

  it('are not fooled by a longer key or a longer value', () => {
    const content: Content = { kind: 'text', key: 'content', value: 'ab' };
    const [encoded] = encodeEvents([
      event('{"reasoning_content":"ab","x":{"content":"abc"},"content":"ab"}', { content }),
    ]);
    const mark = encoded?.marks[1];
    expect(mark && encoded?.bytes.toString('utf8', mark.start - 11, mark.end + 1)).toBe('"content":"ab"');
    expect(mark?.end).toBe((encoded?.bytes.length ?? 0) - '"}\n\n'.length);
  });
});

describe('a JSON body', () => {
  it('starts before its content, tells it, finishes after it and ends with its last brace', () => {
    const content: Content[] = [
      { kind: 'text', key: 'content', value: 'ż' },
      { kind: 'tool_args', key: 'arguments', value: '{}' },
    ];
    const body = encodeWhole({ json: '{"content":"ż","calls":[{"arguments":"{}"}],"usage":{}}', content });
    expect(parts(body)).toEqual([
      ['start', '{"content":"'],
      ['delta', 'ż","calls":[{"arguments":"{}'],
      ['finish', '"}],"usage":{}'],
      ['terminal', '}'],
    ]);
    expect(body.marks.filter(({ kind }) => kind !== 'part')).toEqual([
      { kind: 'text', index: 1, start: 12, end: 14 },
      { kind: 'tool_args', index: 1, start: 39, end: 41 },
    ]);
  });

  it('without content is a start and its last brace', () => {
    expect(parts(encodeWhole({ json: '{"content":null}', content: [] }))).toEqual([
      ['start', '{"content":null'],
      ['terminal', '}'],
    ]);
  });

  it('marks equal contents each in its own place, pretty or compact', () => {
    const calls = [{ arguments: '{}' }, { arguments: '{}' }];
    const content = calls.map((call): Content => ({ kind: 'tool_args', key: 'arguments', value: call.arguments }));
    for (const indent of [0, 2, 4]) {
      const json = JSON.stringify({ calls }, null, indent);
      const body = encodeWhole({ json, content });
      const starts = body.marks.filter(({ kind }) => kind === 'tool_args').map(({ start }) => start);
      expect(contents(body)).toEqual(['{}', '{}']);
      expect(starts).toEqual([json.indexOf('"{}"') + 1, json.lastIndexOf('"{}"') + 1]);
    }
  });

  it('is covered by its parts without a gap, whatever its contents', () => {
    fc.assert(
      fc.property(fc.array(words), fc.constantFrom(0, 2, 4), (values, indent) => {
        const json = JSON.stringify({ id: 'x', items: values.map((content) => ({ content })), z: 1 }, null, indent);
        const content = values.map((value): Content => ({ kind: 'text', key: 'content', value }));
        const body = encodeWhole({ json, content });
        expect(contents(body)).toEqual(values.map((value) => JSON.stringify(value).slice(1, -1)));
        expect(
          parts(body)
            .map(([, text]) => text)
            .join(''),
        ).toBe(json);
        expect(parts(body).at(-1)).toEqual(['terminal', '}']);
      }),
      { seed: 6 },
    );
  });
});
