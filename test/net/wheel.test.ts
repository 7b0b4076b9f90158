import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Alarm, alarm, wheelMs } from '../../src/net/wheel.js';

function waitUntil(atMs: number, act: () => void): Alarm {
  const made = alarm();
  made.set(atMs, act);
  return made;
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

describe('waiting on the wheel', () => {
  it('calls each at its time, never before, in the order of the milliseconds', () => {
    const delays = fc.array(fc.double({ min: 0, max: 5000, noNaN: true }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(delays, (list) => {
        const startMs = performance.now();
        const called: { readonly ms: number; readonly atMs: number }[] = [];
        for (const ms of list) waitUntil(startMs + ms, () => called.push({ ms, atMs: performance.now() - startMs }));
        expect(called).toEqual([]);
        vi.advanceTimersByTime(6000);
        expect(called).toHaveLength(list.length);
        for (const { ms, atMs } of called) {
          expect(atMs).toBeGreaterThanOrEqual(ms);
          expect(atMs - ms).toBeLessThan(3);
        }
        const slots = called.map(({ atMs }) => atMs);
        expect(slots).toEqual(slots.toSorted((a, b) => a - b));
      }),
    );
  });

  it('leaves out what was cancelled, however far it is', () => {
    const called: number[] = [];
    const waits = [5, 500, 5000].map((ms) => waitUntil(performance.now() + ms, () => called.push(ms)));
    waitUntil(performance.now() + 6, () => called.push(6));
    for (const wait of waits) wait.cancel();
    vi.advanceTimersByTime(10_000);
    expect(called).toEqual([6]);
    for (const wait of waits) wait.cancel();
  });

  it('goes on where a wait begins another, also for now', () => {
    const called: number[] = [];
    const again = (): void => {
      called.push(called.length);
      if (called.length < 2000) waitUntil(performance.now(), again);
    };
    waitUntil(performance.now() + 1, again);
    vi.advanceTimersByTime(10_000);
    expect(called).toHaveLength(2000);
  });

  it('catches up after the loop was held for longer than the wheel reaches', () => {
    const called: number[] = [];
    const startMs = performance.now();
    for (const ms of [10, 900]) waitUntil(startMs + ms, () => called.push(ms));
    vi.setSystemTime(Date.now() + 5000);
    vi.advanceTimersByTime(5000);
    waitUntil(performance.now() + 20, () => called.push(20));
    vi.advanceTimersByTime(5000);
    expect(called).toEqual([10, 900, 20]);
  });

  it('is not held up by a time that is none', () => {
    const called: string[] = [];
    waitUntil(Number.NaN, () => called.push('none'));
    waitUntil(performance.now() + 5, () => called.push('later'));
    vi.advanceTimersByTime(20);
    expect(called).toEqual(['none', 'later']);
  });

  it('waits for longer than a timer of Node can', () => {
    let called = 0;
    const monthMs = 30 * 86_400_000;
    waitUntil(performance.now() + monthMs, () => called++);
    vi.advanceTimersByTime(monthMs - 1000);
    expect(called).toBe(0);
    vi.advanceTimersByTime(2000);
    expect(called).toBe(1);
  });

  it('forgets what was set before, however far that is', () => {
    for (const [firstMs, nextMs] of [
      [5, 9],
      [900, 5],
      [5000, 7],
      [7, 5000],
    ] as const) {
      const called: string[] = [];
      const startMs = performance.now();
      const one = waitUntil(startMs + firstMs, () => called.push('first'));
      one.set(startMs + nextMs, () => called.push('next'));
      vi.advanceTimersByTime(nextMs - 1);
      expect(called).toEqual([]);
      vi.advanceTimersByTime(10_000);
      expect(called).toEqual(['next']);
    }
  });

  it('may be cancelled, or set anew, by another that is due in the same millisecond', () => {
    const called: string[] = [];
    const startMs = performance.now();
    const atMs = Math.ceil(startMs) + 5;
    waitUntil(atMs, () => {
      called.push('first');
      second.cancel();
      third.set(atMs + 5, () => called.push('third, later'));
    });
    const second = waitUntil(atMs, () => called.push('second'));
    const third = waitUntil(atMs, () => called.push('third'));
    waitUntil(atMs, () => called.push('last'));
    vi.advanceTimersByTime(7);
    expect(called).toEqual(['first', 'last']);
    vi.advanceTimersByTime(7);
    expect(called).toEqual(['first', 'last', 'third, later']);
  });

  it('serves the others where one throws', () => {
    const called: string[] = [];
    const atMs = Math.ceil(performance.now()) + 5;
    waitUntil(atMs, () => {
      throw new Error('one of many');
    });
    waitUntil(atMs, () => called.push('of the same millisecond'));
    waitUntil(atMs + 3, () => called.push('later'));
    expect(() => vi.advanceTimersByTime(20)).toThrow('one of many');
    vi.advanceTimersByTime(20);
    expect(called).toEqual(['of the same millisecond', 'later']);
  });

  it("tells the time of its turn, and the clock's where there is none", () => {
    const told: [number, number][] = [];
    const look = (): void => {
      told.push([wheelMs(), performance.now()]);
      vi.setSystemTime(Date.now() + 3);
    };
    const atMs = Math.ceil(performance.now()) + 5;
    for (let n = 0; n < 3; n++) waitUntil(atMs, look);
    vi.advanceTimersByTime(10);
    expect(new Set(told.map(([turnMs]) => turnMs)).size).toBe(1);
    expect(wheelMs()).toBe(performance.now());
  });
});
