import { describe, expect, it } from 'vitest';
import {
  type Alphabet,
  type StampRecipe,
  type Stamps,
  stampsFrom,
  stampWriter,
  widthOf,
} from '../../src/sse/stamps.js';

const NOW = new Date('2026-08-09T04:05:06.789Z');

const LETTERS: Readonly<Record<Alphabet, RegExp>> = {
  alnum: /^[A-Za-z0-9]*$/,
  hex: /^[0-9a-f]*$/,
  base58: /^[1-9A-HJ-NP-Za-km-z]*$/,
};
const SIZES: Readonly<Record<Alphabet, number>> = { alnum: 62, hex: 16, base58: 58 };
const ALPHABETS = ['alnum', 'hex', 'base58'] as const;

/** One of each, ids between the times. */
const several = (stamps: Stamps): string[] => [
  stamps.id('hex', 16),
  stamps.unixSeconds(),
  stamps.id('alnum', 29),
  stamps.httpDate(),
  stamps.rfc3339(),
  stamps.id('base58', 21),
];

describe('ids', () => {
  it.each(ALPHABETS)('of %s have the width and all letters of it', (alphabet) => {
    const stamps = stampsFrom('seed', NOW);
    for (const width of [0, 1, 12, 56]) {
      const id = stamps.id(alphabet, width);
      expect(id).toHaveLength(width);
      expect(id).toMatch(LETTERS[alphabet]);
    }
    expect(new Set(stamps.id(alphabet, 4000)).size).toBe(SIZES[alphabet]);
  });

  it('are a pure function of the seed and their place', () => {
    expect(several(stampsFrom('7/default/1', NOW))).toEqual(several(stampsFrom('7/default/1', NOW)));
    const [first, second] = [stampsFrom('7/default/1', NOW), stampsFrom('7/default/2', NOW)];
    expect(first.id('hex', 16)).not.toBe(second.id('hex', 16));
    expect(first.id('hex', 16)).not.toBe(stampsFrom('7/default/1', NOW).id('hex', 16));
  });

  it('of other seeds are others, however alike the seeds are, and no letter comes more often', () => {
    const ids = Array.from({ length: 20_000 }, (_, n) => stampsFrom(`42/default/${n}`, NOW).id('alnum', 8));
    expect(new Set(ids).size).toBe(ids.length);
    for (const at of [0, 1, 7]) {
      const counts = new Map<string, number>();
      for (const id of ids) counts.set(id[at] ?? '', (counts.get(id[at] ?? '') ?? 0) + 1);
      const mean = ids.length / SIZES.alnum;
      const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0);
      // 61 degrees of freedom: 1 in a million is above 128.
      expect([counts.size, chiSquare < 128]).toEqual([SIZES.alnum, true]);
    }
  });

  it('do not depend on the time or on how often it is asked for', () => {
    const one = stampsFrom('seed', NOW);
    const other = stampsFrom('seed', new Date(0));
    one.unixSeconds();
    one.httpDate();
    expect(one.id('alnum', 24)).toBe(other.id('alnum', 24));
    expect(one.id('alnum', 24)).toBe(other.id('alnum', 24));
  });
});

describe('times', () => {
  it('are in the forms of the wire, cut to the second', () => {
    const stamps = stampsFrom('seed', NOW);
    expect(stamps.unixSeconds()).toBe('1786248306');
    expect(stamps.httpDate()).toBe('Sun, 09 Aug 2026 04:05:06 GMT');
    expect(stamps.rfc3339()).toBe('2026-08-09T04:05:06Z');
    expect(stamps.rfc3339(60_000)).toBe('2026-08-09T04:06:06Z');
    expect(stamps.rfc3339(211)).toBe('2026-08-09T04:05:07Z');
  });

  it.each(['2001-09-09T01:46:40Z', '2026-12-31T23:59:59.999Z', '2286-11-20T17:46:39Z'])(
    'keep their widths at %s',
    (time) => {
      const stamps = stampsFrom('seed', new Date(time));
      expect([stamps.unixSeconds(), stamps.httpDate(), stamps.rfc3339()].map(({ length }) => length)).toEqual([
        10, 29, 20,
      ]);
    },
  );
});

describe('the log', () => {
  it('has each stamp in order, and a writer of the same seed and time writes it again', () => {
    const log: { recipe: StampRecipe; text: string }[] = [];
    const texts = several(stampsFrom('seed', NOW, (recipe, text) => log.push({ recipe, text })));
    expect(log.map(({ text }) => text)).toEqual(texts);
    expect(log.map(({ recipe }) => recipe.kind)).toEqual(['id', 'unix_seconds', 'id', 'http_date', 'rfc3339', 'id']);
    expect(log[2]?.recipe).toEqual({ kind: 'id', alphabet: 'alnum', width: 29 });
    const write = stampWriter('seed', NOW);
    const written = log.map(({ recipe }) => {
      const codes = new Uint8Array(widthOf(recipe) + 5);
      return String.fromCharCode(...codes.subarray(0, write(recipe, codes)));
    });
    expect(written).toEqual(texts);
  });
});
