import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frame, type Head } from '../../src/http/framing.js';
import { cutAt, spread } from '../../src/http/pieces.js';
import { joinMarked, type Mark, type Marked } from '../../src/sse/mark.js';
import { readAnswer } from '../support/http.js';

const HEAD: Head = { status: 200, headers: [], framing: 'chunked', keepAlive: true };

const texts = (pieces: readonly Buffer[]): string[] => pieces.map((piece) => piece.toString('latin1'));
const ofKind = ({ marks }: Marked, kind: Mark['kind']): Mark[] => marks.filter((mark) => mark.kind === kind);

describe('pieces', () => {
  const bytes = Buffer.from('0123456789');

  it.each<[number[], string[]]>([
    [[], ['0123456789']],
    [[10], ['0123456789']],
    [
      [3, 7],
      ['012', '3456', '789'],
    ],
    [
      [7, 3, 3],
      ['012', '3456', '789'],
    ],
    [[0, -1, 11, 99], ['0123456789']],
  ])('end at %j', (ends, wanted) => {
    expect(texts(cutAt(bytes, ends))).toEqual(wanted);
  });

  it('of nothing are none', () => {
    expect(cutAt(Buffer.alloc(0), [0, 3])).toEqual([]);
  });
});

/** Two events, each with a mark of content inside. */
const PARTS: readonly Marked[] = ['data: ab\n\n', 'data: cdef\n\n'].map((text) => ({
  bytes: Buffer.from(text),
  marks: [
    { kind: 'event', index: 1, name: 'x', role: 'delta', start: 0, end: text.length },
    { kind: 'text', index: 1, start: 6, end: text.length - 2 },
  ],
}));

describe('marks among pieces', () => {
  const body = joinMarked(PARTS);
  /** The body with `|` between its pieces, and what is under each mark then. */
  function under(ends: readonly number[]): Record<string, string[]> {
    let at = 0;
    const pieces = cutAt(body.bytes, ends);
    const places = pieces.map((piece): Mark => {
      const place: Mark = { kind: 'chunk_data', index: 1, start: at, end: at + piece.length };
      at += piece.length + 1;
      return place;
    });
    const wire = texts(pieces).join('|').replaceAll('\n', '.');
    const marks = spread(body, places);
    const found = (kind: Mark['kind']) =>
      marks.filter((mark) => mark.kind === kind).map(({ start, end }) => wire.slice(start, end));
    return { events: found('event'), text: found('text') };
  }

  it('in one piece are as they were', () => {
    expect(under([])).toEqual({ events: ['data: ab..', 'data: cdef..'], text: ['ab', 'cdef'] });
  });

  it('of events reach over what stands between, those of content are broken by it', () => {
    expect(under([2, 7, 18])).toEqual({ events: ['da|ta: a|b..', 'data: cd|ef..'], text: ['a', 'b', 'cd', 'ef'] });
    expect(under([1, 2, 3])).toEqual({ events: ['d|a|t|a: ab..', 'data: cdef..'], text: ['ab', 'cdef'] });
  });

  it('end where a piece ends, and begin where one begins', () => {
    expect(under([6, 8, 10])).toEqual({ events: ['data: |ab|..', 'data: cdef..'], text: ['ab', 'cdef'] });
  });
});

describe('chunks that end anywhere', () => {
  const marked = fc
    .array(fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.nat(40), fc.nat(40)), { maxLength: 8 })
    .map((given) =>
      given.map(([bytes, a, b]): Marked => {
        const [from, to] = [Math.min(a, b, bytes.length), Math.min(Math.max(a, b), bytes.length)];
        return {
          bytes: Buffer.from(bytes),
          marks: [
            { kind: 'event', index: 1, start: 0, end: bytes.length },
            ...(to > from ? [{ kind: 'text', index: 1, start: from, end: to } as const] : []),
          ],
        };
      }),
    );
  const ends = fc.array(fc.nat(350), { maxLength: 30 });

  it('have the same body, in chunks that end there', () => {
    fc.assert(
      fc.property(marked, ends, (parts, chunkEnds) => {
        const body = joinMarked(parts);
        const answer = frame(HEAD, parts, { chunkEnds });
        const read = readAnswer(answer.bytes);
        expect(read).toMatchObject({ complete: true, rest: Buffer.alloc(0) });
        expect(read?.body.equals(body.bytes)).toBe(true);
        expect(read?.chunks).toEqual(cutAt(body.bytes, chunkEnds).map(({ length }) => length));
      }),
      { seed: 91 },
    );
  });

  it('have marks on the same text, and all in the order of the wire', () => {
    fc.assert(
      fc.property(marked, ends, (parts, chunkEnds) => {
        const body = joinMarked(parts);
        const answer = frame(HEAD, parts, { chunkEnds });
        const at = ({ bytes }: Marked, marks: readonly Mark[]): string =>
          marks.map(({ start, end }) => bytes.toString('latin1', start, end)).join('');
        expect(at(answer, ofKind(answer, 'text'))).toBe(at(body, ofKind(body, 'text')));
        const data = ofKind(answer, 'chunk_data');
        const events = ofKind(answer, 'event');
        expect(events.map(({ index }) => index)).toEqual(ofKind(body, 'event').map(({ index }) => index));
        // Without what stands between the chunks, an event is what it was.
        events.forEach((event, n) => {
          const inside = data
            .map((mark) => ({ ...mark, start: Math.max(mark.start, event.start), end: Math.min(mark.end, event.end) }))
            .filter(({ start, end }) => end > start);
          expect(at(answer, inside)).toBe(at(body, ofKind(body, 'event').slice(n, n + 1)));
        });
        const starts = answer.marks.map(({ start }) => start);
        expect(starts).toEqual(starts.toSorted((a, b) => a - b));
      }),
      { seed: 92 },
    );
  });

  it('at the ends of events are the chunks of events', () => {
    fc.assert(
      fc.property(marked, (parts) => {
        let at = 0;
        const chunkEnds = parts.map(({ bytes }) => {
          at += bytes.length;
          return at;
        });
        const [one, other] = [frame(HEAD, parts, { chunkEnds }), frame(HEAD, parts)];
        expect(one.bytes.equals(other.bytes)).toBe(true);
        const sorted = ({ marks }: Marked): string[] => marks.map((mark) => JSON.stringify(mark)).toSorted();
        expect(sorted(one).map((text) => JSON.parse(text))).toEqual(sorted(other).map((text) => JSON.parse(text)));
      }),
      { seed: 93 },
    );
  });
});
