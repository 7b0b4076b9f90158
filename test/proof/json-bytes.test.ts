import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonBytes } from '../../src/proof/json-bytes.js';
import { Lines, wholeLines } from '../../src/proof/lines.js';

/** Texts of all lengths: some are written letter by letter, some in one piece, some make more room. */
const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 60 }),
  fc.constantFrom('x'.repeat(48), 'x'.repeat(49), `${'x'.repeat(47)}ż`, '回'.repeat(20_000)),
);
const numbers = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.integer({ min: 0, max: 2 ** 33 }).map((thousandths) => thousandths / 1000),
  fc.constantFrom(0, -0, 9, 10, 99, 100, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 0.1, 0.001, 0.0005, -0.5, 1e21, 4_294_967.295),
  fc.constantFrom(null, Number.NaN, Number.POSITIVE_INFINITY),
);

describe('JSON as bytes', () => {
  it('has texts as they are and numbers as JSON.stringify writes them, one behind the other', () => {
    const to = new JsonBytes();
    fc.assert(
      fc.property(fc.array(fc.oneof(texts, numbers), { maxLength: 20 }), (all) => {
        to.length = 0;
        for (const one of all) {
          if (typeof one === 'string') to.text(one);
          else to.number(one);
        }
        const wanted = all.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('');
        expect(to.view().toString()).toBe(wanted);
      }),
    );
  });

  it('can be taken back, and copied for good', () => {
    const to = new JsonBytes();
    to.text('kept');
    const { length } = to;
    to.text('"once"');
    const copy = to.copyFrom(length);
    to.length = length;
    to.bytes(copy);
    to.text('!'.repeat(50_000));
    expect(copy.toString()).toBe('"once"');
    expect(to.view().toString()).toBe(`kept"once"${'!'.repeat(50_000)}`);
  });
});

describe('lines', () => {
  it('are one behind the other, whatever was there before', () => {
    const lines = new Lines();
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 })), (all) => {
        for (const one of all) lines.add(Buffer.from(one));
        expect(lines.count).toBe(all.length);
        expect(lines.bytes()).toEqual(Buffer.concat(all.flatMap((one) => [one, Buffer.from('\n')])));
        lines.clear();
        expect([lines.count, lines.bytes().length]).toEqual([0, 0]);
      }),
    );
  });

  it('are whole as far as their ends go', () => {
    expect(wholeLines(Buffer.from('a\nb\ncut'))).toEqual({ count: 2, bytes: 4 });
    expect(wholeLines(Buffer.from('cut'))).toEqual({ count: 0, bytes: 0 });
    expect(wholeLines(Buffer.from('\n\n'))).toEqual({ count: 2, bytes: 2 });
  });
});
