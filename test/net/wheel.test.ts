import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Alarm, alarm } from '../../src/net/wheel.js';

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
});
