import { describe, expect, it } from 'vitest';
import { joinMarked, type Marked, takeMarked } from '../../src/sse/mark.js';

const part = (text: string, ...marks: Marked['marks']): Marked => ({ bytes: Buffer.from(text), marks });

describe('joinMarked', () => {
  it('puts the bytes behind each other, moves the marks and numbers each kind from 1', () => {
    const joined = joinMarked([
      part('head', { kind: 'headers', index: 9, start: 0, end: 4 }),
      part('ab', { kind: 'event', index: 1, name: 'a', role: 'start', start: 0, end: 2 }),
      part(''),
      part(
        'cdef',
        { kind: 'event', index: 1, name: 'b', role: 'delta', start: 0, end: 2 },
        { kind: 'text', index: 1, start: 1, end: 2 },
        { kind: 'event', index: 1, name: 'c', role: 'delta', start: 2, end: 4 },
        { kind: 'text', index: 1, start: 3, end: 4 },
      ),
    ]);
    expect(joined.bytes.toString()).toBe('headabcdef');
    expect(joined.marks).toEqual([
      { kind: 'headers', index: 1, start: 0, end: 4 },
      { kind: 'event', index: 1, name: 'a', role: 'start', start: 4, end: 6 },
      { kind: 'event', index: 2, name: 'b', role: 'delta', start: 6, end: 8 },
      { kind: 'text', index: 1, start: 7, end: 8 },
      { kind: 'event', index: 3, name: 'c', role: 'delta', start: 8, end: 10 },
      { kind: 'text', index: 2, start: 9, end: 10 },
    ]);
  });

  it('counts bytes, not characters', () => {
    const joined = joinMarked([part('żó'), part('x', { kind: 'text', index: 1, start: 0, end: 1 })]);
    expect(joined.marks).toEqual([{ kind: 'text', index: 1, start: 4, end: 5 }]);
  });

  it('of nothing is nothing', () => {
    expect(joinMarked([])).toEqual({ bytes: Buffer.alloc(0), marks: [] });
  });

  it('leaves its parts as they were', () => {
    const mark = Object.freeze({ kind: 'event', index: 1, start: 0, end: 1 } as const);
    joinMarked([part('a'), part('b', mark)]);
    expect(mark).toEqual({ kind: 'event', index: 1, start: 0, end: 1 });
  });
});

describe('takeMarked', () => {
  const marks: Marked['marks'] = [
    { kind: 'event', index: 1, start: 0, end: 3 },
    { kind: 'text', index: 1, start: 1, end: 2 },
    { kind: 'event', index: 2, start: 3, end: 6 },
  ];
  const whole = part('abcdef', ...marks);

  it.each([
    [0, '', []],
    [1, 'a', []],
    [2, 'ab', [1]],
    [3, 'abc', [0, 1]],
    [5, 'abcde', [0, 1]],
    [6, 'abcdef', [0, 1, 2]],
    [99, 'abcdef', [0, 1, 2]],
  ])('of %i bytes keeps the marks that fit whole', (length, text, kept) => {
    const taken = takeMarked(whole, length);
    expect(taken.bytes.toString()).toBe(text);
    expect(taken.marks).toEqual(kept.map((at) => marks[at]));
  });
});
