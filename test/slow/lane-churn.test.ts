import { describe, expect, it } from 'vitest';
import { usedBytes } from '../support/heap.js';
import { asking, selecting } from '../support/selecting.js';

/** A day of callers that come once and never again: what is kept of them doesn't grow. */
const LANES_PER_SECOND = 25;
const DAY_SECONDS = 86_400;
const MAX_LANES = 10_000;
/** Code that is compiled meanwhile, and room in tables; 2 million lanes would take some 150 MB. */
const NOISE_BYTES = 10_000_000;

describe('24 hours of lane churn', () => {
  it(`${LANES_PER_SECOND} new lanes a second: 10,000 are kept, and memory with them`, () => {
    const selector = selecting({
      laneBy: 'header:x-lane',
      maxLanes: MAX_LANES,
      sequence: ['rate_limit', 'success'],
      repeatLast: true,
    });
    // Rules see every caller, too, and one remembers keys.
    const then = { behavior: 'success', result: 'same' } as const;
    selector.inject({ fault: 'F2', lane: 'never' });
    selector.inject({ fault: 'F1', key: 'header:x-key', probability: 0.01, then });
    const heap: number[] = [];
    let chosen = 0;
    for (let second = 0; second < DAY_SECONDS; second++) {
      for (let n = 0; n < LANES_PER_SECOND; n++) {
        const headers = { 'x-lane': `caller ${second}.${n}`, 'x-key': `key ${second}.${n}` };
        if (selector.request(asking({ headers })).kind === 'behavior') chosen++;
      }
      // Each hour; in the first the lanes that are kept come to be.
      if (second % 3600 === 3599) heap.push(usedBytes());
    }
    const total = LANES_PER_SECOND * DAY_SECONDS;
    expect(chosen).toBe(total);
    expect(selector.droppedLanes).toBe(total - MAX_LANES);
    const [first = 0] = heap;
    const grown = heap.map((bytes) => Math.round((bytes - first) / 1000));
    console.info(`${total} lanes; kB above the first hour, hour by hour: ${grown.join(' ')}`);
    expect(Math.max(...heap) - first).toBeLessThan(NOISE_BYTES);
    expect(selector.rules.rules.map(({ misses }) => misses.length)).toEqual([10, 10]);
  });

  it('by body: 300,000 questions', () => {
    const selector = selecting({ laneBy: 'body', laneIgnore: ['id'], maxLanes: MAX_LANES });
    const heap: number[] = [];
    for (let n = 0; n < 300_000; n++) {
      selector.request(asking({ body: { id: n, question: `number ${n}` } }));
      if (n % 30_000 === 29_999) heap.push(usedBytes());
    }
    expect(selector.droppedLanes).toBe(300_000 - MAX_LANES);
    expect(Math.max(...heap) - (heap[0] ?? 0)).toBeLessThan(NOISE_BYTES);
  });
});
