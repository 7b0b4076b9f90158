import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { searchLimit } from '../../src/trial/idle-search.js';

const TOLERANCE = { toleranceMs: 20, toleranceShare: 0.05 };

/** Asks something that outlives whatever is shorter than `limitMs`. */
async function asked(limitMs: number, startMs: number, maxMs: number) {
  const questions: number[] = [];
  const bounds = await searchLimit({ startMs, maxMs, ...TOLERANCE }, async (ms) => {
    questions.push(ms);
    return ms < limitMs;
  });
  return { ...bounds, questions };
}

describe('a limit is searched', () => {
  it('by doubling, and then by bisection', async () => {
    expect((await asked(1000, 300, 60_000)).questions.slice(0, 5)).toEqual([300, 600, 1200, 900, 1050]);
  });

  it('up to the longest question, and no further', async () => {
    const { questions, survivedMs, failedMs, tries } = await asked(Number.POSITIVE_INFINITY, 300, 1000);
    expect(questions).toEqual([300, 600, 1000]);
    expect({ survivedMs, failedMs, tries }).toEqual({ survivedMs: 1000, failedMs: null, tries: 3 });
  });

  it('also below the first question', async () => {
    const { survivedMs, failedMs } = await asked(100, 1000, 2000);
    expect(survivedMs).toBeLessThan(100);
    expect(failedMs).toBeGreaterThanOrEqual(100);
  });

  it('until both bounds are near, whatever the limit is', async () => {
    const times = fc.double({ min: 1, max: 100_000, noNaN: true });
    await fc.assert(
      fc.asyncProperty(times, times, times, async (limitMs, startMs, maxMs) => {
        const { survivedMs, failedMs, questions, tries } = await asked(limitMs, startMs, maxMs);
        expect(Math.max(...questions)).toBeLessThanOrEqual(maxMs);
        expect(new Set(questions).size).toBe(tries);
        if (failedMs === null) {
          expect(survivedMs).toBe(maxMs);
          expect(limitMs).toBeGreaterThan(maxMs);
          return;
        }
        expect(failedMs).toBeGreaterThanOrEqual(limitMs);
        expect(survivedMs ?? 0).toBeLessThan(limitMs);
        expect(failedMs - (survivedMs ?? 0)).toBeLessThanOrEqual(
          Math.max(TOLERANCE.toleranceMs, failedMs * TOLERANCE.toleranceShare),
        );
      }),
    );
  });
});
