import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Framing, frame, type Head } from '../../src/http/framing.js';
import type { Mark, Marked } from '../../src/sse/mark.js';
import { readAnswer } from '../support/http.js';

const part = (bytes: Uint8Array | string): Marked => {
  const copy = Buffer.from(bytes);
  return { bytes: copy, marks: [{ kind: 'event', index: 1, start: 0, end: copy.length }] };
};

const HEADERS = [
  ['Date', 'now'],
  ['Content-Type', 'text/event-stream'],
  ['Server', 'x'],
] as const;
const head = (framing: Framing, rest: Partial<Head> = {}): Head => ({
  status: 200,
  headers: HEADERS,
  framing,
  keepAlive: true,
  ...rest,
});

const under = ({ bytes }: Marked, { start, end }: Mark): string => bytes.toString('latin1', start, end);
const ofKind = (answer: Marked, ...kinds: Mark['kind'][]): Mark[] =>
  answer.marks.filter(({ kind }) => kinds.includes(kind));

/** The texts under the marks, which have to follow each other from the first byte. */
function tiles(answer: Marked, ...kinds: Mark['kind'][]): { texts: string[]; end: number } {
  let end = 0;
  const texts = ofKind(answer, ...kinds).map((mark) => {
    expect(mark.start).toBe(end);
    end = mark.end;
    return under(answer, mark);
  });
  return { texts, end };
}

describe('chunked', () => {
  it('is these bytes and marks', () => {
    const answer = frame(head('chunked'), [part('data: ż\n\n'), part(''), part('0123456789abcdefg')]);
    expect(tiles(answer, 'status_line', 'headers', 'chunk', 'last_chunk')).toEqual({
      texts: [
        'HTTP/1.1 200 OK\r\n',
        'Date: now\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\nServer: x\r\n\r\n',
        `a\r\n${Buffer.from('data: ż\n\n').toString('latin1')}\r\n`,
        '11\r\n0123456789abcdefg\r\n',
        '0\r\n\r\n',
      ],
      end: answer.bytes.length,
    });
    expect(ofKind(answer, 'chunk_size').map((mark) => under(answer, mark))).toEqual(['a\r\n', '11\r\n']);
  });

  it('of nothing is the last chunk alone', () => {
    for (const parts of [[], [part('')], [part(''), part('')]]) {
      const answer = frame(head('chunked'), parts);
      expect(ofKind(answer, 'chunk')).toEqual([]);
      expect(answer.bytes.toString('latin1').split('\r\n\r\n')[1]).toBe('0');
      expect(readAnswer(answer.bytes)).toMatchObject({ chunks: [], complete: true });
    }
  });
});

describe('any answer', () => {
  const parts = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 });
  const heads = fc.record({
    status: fc.constantFrom(200, 400, 401, 429, 500, 529),
    headers: fc
      .array(fc.tuple(fc.stringMatching(/^[A-Z][a-z]{1,8}(-[a-z]{1,5})?$/), fc.stringMatching(/^[!-~ÿ]{1,20}$/)), {
        maxLength: 5,
      })
      .map((list) => list.filter(([name]) => !/^(connection|content|transfer)/i.test(name))),
    keepAlive: fc.boolean(),
  });

  it('in chunks is covered by its marks without gap or overlap, and read as what was framed', () => {
    fc.assert(
      fc.property(heads, parts, (given, bodies) => {
        const answer = frame({ ...given, framing: 'chunked' }, bodies.map(part));
        expect(tiles(answer, 'status_line', 'headers', 'chunk', 'last_chunk').end).toBe(answer.bytes.length);
        const filled = bodies.filter(({ length }) => length > 0);
        const sizes = filled.map(({ length }) => length);
        const read = readAnswer(answer.bytes);
        expect(read).toMatchObject({ status: given.status, chunks: sizes, complete: true, rest: Buffer.alloc(0) });
        expect(read?.body.equals(Buffer.concat(bodies))).toBe(true);
        const data = ofKind(answer, 'chunk_data');
        expect(ofKind(answer, 'event').map(({ start, end }) => [start, end])).toEqual(
          data.map(({ start, end }) => [start, end]),
        );
        ofKind(answer, 'chunk').forEach((chunk, at) => {
          const size = ofKind(answer, 'chunk_size')[at];
          expect([chunk.start, size?.end, data[at]?.end]).toEqual([size?.start, data[at]?.start, chunk.end - 2]);
          expect(chunk.index).toBe(at + 1);
          expect(size && under(answer, size)).toBe(`${sizes[at]?.toString(16)}\r\n`);
        });
      }),
      { seed: 31 },
    );
  });

  it.each(['content_length', 'until_close'] as const)('with %s is its head and its parts', (framing) => {
    fc.assert(
      fc.property(heads, parts, (given, bodies) => {
        const answer = frame({ ...given, framing }, bodies.map(part));
        const { end } = tiles(answer, 'status_line', 'headers');
        expect(answer.bytes.subarray(end).equals(Buffer.concat(bodies))).toBe(true);
        expect(ofKind(answer, 'chunk', 'chunk_size', 'chunk_data', 'last_chunk')).toEqual([]);
        const read = readAnswer(answer.bytes);
        const names = read?.headers.map(([name]) => name) ?? [];
        expect(names).not.toContain('transfer-encoding');
        const length = read?.headers.find(([name]) => name === 'content-length')?.[1];
        const bytes = bodies.reduce((sum, body) => sum + body.length, 0);
        expect(length).toBe(framing === 'content_length' ? String(bytes) : undefined);
        expect(read?.complete).toBe(framing === 'content_length');
        const filled = bodies.filter((body) => body.length > 0).map((body) => Buffer.from(body).toString('latin1'));
        expect(ofKind(answer, 'event').map((mark) => under(answer, mark))).toEqual(filled);
      }),
      { seed: 32 },
    );
  });

  it('has its headers as they were given, those of the framing behind the content type', () => {
    fc.assert(
      fc.property(heads, fc.constantFrom<Framing>('chunked', 'content_length', 'until_close'), (given, framing) => {
        const headers = [...given.headers, ['content-TYPE', 'x'] as const, ['Last', 'y'] as const];
        const read = readAnswer(frame({ ...given, headers, framing }, []).bytes);
        const added = {
          chunked: [['transfer-encoding', 'chunked']],
          content_length: [['content-length', '0']],
          until_close: [],
        }[framing];
        expect(read?.headers).toEqual([
          ...given.headers.map(([name, value]) => [name.toLowerCase(), value]),
          ['content-type', 'x'],
          ...added,
          ['connection', given.keepAlive ? 'keep-alive' : 'close'],
          ['last', 'y'],
        ]);
      }),
      { seed: 33 },
    );
  });

  it('without a content type has those of the framing first', () => {
    const answer = frame(head('content_length', { headers: [['A', 'b']], keepAlive: false }), [part('xyz')]);
    expect(answer.bytes.toString()).toBe(
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\nA: b\r\n\r\nxyz',
    );
  });

  it.each([
    [429, 'HTTP/1.1 429 Too Many Requests\r\n'],
    [529, 'HTTP/1.1 529 \r\n'],
  ])('with status %i has a reason, or the space before it', (status, line) => {
    const answer = frame(head('content_length', { status }), []);
    expect(ofKind(answer, 'status_line').map((mark) => under(answer, mark))).toEqual([line]);
  });
});
