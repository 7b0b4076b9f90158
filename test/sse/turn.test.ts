import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { masking } from '../../src/sse/masking.js';
import { halves, pieces, tokensOf } from '../../src/sse/turn.js';

/** Any text that a JavaScript string can hold: whole pairs, and halves of pairs too. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units)),
);
const size = fc.integer({ min: 1, max: 12 });

const codePoints = (value: string): number => Array.from(value).length;

/** Whether the border between the two lies inside a surrogate pair. */
const splits = (before: string, after: string): boolean =>
  /[\ud800-\udbff]$/.test(before) && /^[\udc00-\udfff]/.test(after);

describe('pieces', () => {
  it('are the text again, each of the size but the last, none empty', () => {
    fc.assert(
      fc.property(text, size, (value, length) => {
        const parts = pieces(value, length);
        expect(parts.join('')).toBe(value);
        for (const part of parts.slice(0, -1)) expect(codePoints(part)).toBe(length);
        const last = parts.at(-1);
        if (last === undefined) expect(value).toBe('');
        else expect(codePoints(last)).toSatisfy((count: number) => count >= 1 && count <= length);
      }),
      { seed: 1 },
    );
  });

  it('never split a code point', () => {
    fc.assert(
      fc.property(text, size, (value, length) => {
        const parts = pieces(value, length);
        parts.slice(1).forEach((part, at) => {
          expect(splits(parts[at] ?? '', part)).toBe(false);
        });
      }),
      { seed: 2 },
    );
    expect(pieces('👩‍👩‍👧x', 1)).toEqual(['👩', '\u200d', '👩', '\u200d', '👧', 'x']);
    expect(pieces('a👧b👧', 2)).toEqual(['a👧', 'b👧']);
  });

  it('of nothing are none', () => {
    expect(pieces('', 8)).toEqual([]);
  });
});

describe('halves', () => {
  it.each([
    ['', []],
    ['a', ['a']],
    ['ab', ['a', 'b']],
    ['abc', ['ab', 'c']],
    ['{}', ['{', '}']],
    ['👧👧👧', ['👧👧', '👧']],
  ])('of %j', (value, parts) => {
    expect(halves(value)).toEqual(parts);
  });

  it('are at most two, the first one never the shorter and at most one longer', () => {
    fc.assert(
      fc.property(text, (value) => {
        const [first = '', second = '', ...more] = halves(value);
        expect(more).toEqual([]);
        expect(first + second).toBe(value);
        expect(codePoints(first) - codePoints(second)).toSatisfy((gap: number) => gap === 0 || gap === 1);
        expect(splits(first, second)).toBe(false);
      }),
      { seed: 3 },
    );
  });
});

it.each([
  ['', 0],
  ['a', 1],
  ['abcd', 1],
  ['abcde', 2],
  ['👧👧👧👧', 1],
])('%j counts as %i tokens', (value, tokens) => {
  expect(tokensOf(value)).toBe(tokens);
});

describe('masking', () => {
  const draws = Array.from({ length: 4000 });
  const lengths = (values: readonly string[]): number[] =>
    [...new Set(values.map((value) => value.length))].toSorted((a, b) => a - b);
  const all = Array.from({ length: 16 }, (_, n) => n);

  it('letters are 0 to 15 letters and digits, each length and each letter', () => {
    const mask = masking('one');
    const values = draws.map(() => mask.letters());
    for (const value of values) expect(value).toMatch(/^[A-Za-z0-9]{0,15}$/);
    expect(lengths(values)).toEqual(all);
    expect(new Set(values.join('')).size).toBe(62);
  });

  it('spaces are 0 to 15 spaces, each length', () => {
    const mask = masking('two');
    const values = draws.map(() => mask.spaces());
    for (const value of values) expect(value).toMatch(/^ {0,15}$/);
    expect(lengths(values)).toEqual(all);
  });

  it('is the same for the same seed and another for another', () => {
    const drawn = (seed: string): string[] => {
      const mask = masking(seed);
      return Array.from({ length: 20 }, (_, n) => (n % 2 ? mask.spaces() : mask.letters()));
    };
    expect(drawn('one')).toEqual(drawn('one'));
    expect(drawn('one')).not.toEqual(drawn('two'));
  });
});
