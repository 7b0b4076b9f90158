import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Spread, spreadMeter, spreadSchema } from '../../src/load/spread.js';

/** Milliseconds of whole microseconds, from one to about a day. */
const times = fc.array(fc.integer({ min: 1, max: 80_000_000_000 }), { minLength: 1, maxLength: 400 });
/** Three digits of the histogram, and a microsecond of rounding. */
const TOLERANCE = 0.001;
const PERCENTS: readonly (readonly [keyof Spread, number])[] = [
  ['p50', 50],
  ['p90', 90],
  ['p99', 99],
  ['p999', 99.9],
];

function spreadOf(ms: readonly number[]): Spread {
  const meter = spreadMeter();
  for (const one of ms) meter.record(one);
  return spreadSchema.parse(meter.spread());
}

describe('spreads', () => {
  it('has none of nothing', () => {
    expect(spreadMeter().spread()).toBeNull();
  });

  it('tells percentiles as a sorted list has them', () => {
    fc.assert(
      fc.property(times, (us) => {
        const ms = us.map((one) => one / 1000);
        const sorted = ms.toSorted((a, b) => a - b);
        const spread = spreadOf(ms);
        const last = sorted.length - 1;
        const at = (n: number): number => sorted[Math.max(0, Math.min(last, n))] ?? Number.NaN;
        expect(spread.count).toBe(ms.length);
        expect(spread.min).toBe(sorted[0]);
        expect(spread.max).toBe(sorted[last]);
        expect(spread.mean).toBeCloseTo(ms.reduce((sum, one) => sum + one, 0) / ms.length, 2);
        for (const [name, percent] of PERCENTS) {
          // Nearest rank; where it falls between two, either of them is one.
          const rank = (percent / 100) * sorted.length;
          expect(spread[name]).toBeGreaterThanOrEqual(at(Math.floor(rank - 0.5) - 1) * (1 - TOLERANCE) - 0.001);
          expect(spread[name]).toBeLessThanOrEqual(at(Math.ceil(rank + 0.5) - 1) * (1 + TOLERANCE) + 0.001);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('is in order, whatever is recorded', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { minLength: 1 }), (ms) => {
        const { min, p50, p90, p99, p999, max } = spreadOf(ms);
        const values = [min, p50, p90, p99, p999, max];
        expect(values).toEqual(values.toSorted((a, b) => a - b));
      }),
      { numRuns: 60 },
    );
  });
});
