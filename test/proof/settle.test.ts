import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Counters, SocketProbe } from '../../src/proof/counters.js';
import { type EvidenceLevel, type Settled, settler } from '../../src/proof/settle.js';

const TARGET = 1000;
const TIMEOUT_MS = 2000;
/** Questions to a client that never reads: 1, 2, 4, 8, 16 and then 32 ms apart, for two seconds. */
const MOST_ASKS = 70;

function counters(flushed: number, acked: number | null, read: number | null): Counters {
  return { flushed, acked, read };
}

/** Answers from a list, whose last entry stands for ever. */
function scripted(answers: readonly (Counters | undefined)[]): SocketProbe & { readonly asks: readonly number[] } {
  const asks: number[] = [];
  return {
    asks,
    look: () => {
      asks.push(performance.now());
      return answers[Math.min(asks.length, answers.length) - 1];
    },
  };
}

interface Going {
  /** Once it has ended. */
  readonly settled: Settled | undefined;
}

function settling(probe: SocketProbe, until: EvidenceLevel = 'read', timeoutMs = TIMEOUT_MS, by = settler()): Going {
  let settled: Settled | undefined;
  by.settle({ probe, until, target: TARGET, timeoutMs }, (result) => {
    expect(settled, 'told twice').toBeUndefined();
    settled = result;
  });
  return {
    get settled() {
      return settled;
    },
  };
}

const UNREAD = counters(TARGET, TARGET, 0);
const READ = counters(TARGET, TARGET, TARGET);

describe('at a clock that is moved by hand', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('what has arrived already is settled at once', () => {
    expect(settling(scripted([READ])).settled).toEqual({
      level: 'read',
      reached: true,
      counters: READ,
      gone: false,
      waitedMs: 0,
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('waits until all is read, and no longer', () => {
    const probe = scripted([counters(500, 400, 0), UNREAD, counters(TARGET, TARGET, TARGET - 1), READ]);
    const going = settling(probe);
    vi.advanceTimersByTime(6);
    expect(going.settled).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(going.settled).toMatchObject({ level: 'read', reached: true, waitedMs: 7 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('asks at growing intervals, and a client that never reads not more than some 70 times in two seconds', () => {
    const probe = scripted([UNREAD]);
    const going = settling(probe);
    vi.advanceTimersByTime(TIMEOUT_MS - 1);
    expect(going.settled).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(going.settled).toEqual({
      level: 'read',
      reached: false,
      counters: UNREAD,
      gone: false,
      waitedMs: TIMEOUT_MS,
    });
    expect(probe.asks.length).toBeLessThanOrEqual(MOST_ASKS);
    const gaps = probe.asks.slice(1).map((at, n) => at - (probe.asks[n] ?? 0));
    expect(gaps.slice(0, 7)).toEqual([1, 2, 4, 8, 16, 32, 32]);
    expect(Math.max(...gaps)).toBe(32);
    expect(vi.getTimerCount()).toBe(0);
  });

  for (const [until, seen, level] of [
    ['read', READ, 'read'],
    ['read', counters(TARGET, TARGET, null), 'acked'],
    ['read', counters(TARGET, null, null), 'flushed'],
    ['acked', UNREAD, 'acked'],
    ['acked', counters(TARGET, null, null), 'flushed'],
    ['flushed', counters(TARGET, 0, 0), 'flushed'],
  ] as const) {
    it(`wanted ${until}, known ${JSON.stringify(seen)}: it is settled to ${level}`, () => {
      expect(settling(scripted([seen]), until).settled).toMatchObject({ level, reached: true });
    });
  }

  it('a level that is known is waited for, also where a lower one is complete', () => {
    expect(settling(scripted([UNREAD]), 'read').settled).toBeUndefined();
    expect(settling(scripted([counters(TARGET, 0, null)]), 'read').settled).toBeUndefined();
    expect(settling(scripted([counters(0, null, null)]), 'read').settled).toBeUndefined();
  });

  it('where the client is gone and its level with it, the next one is taken', () => {
    const going = settling(scripted([UNREAD, counters(TARGET, TARGET, null)]));
    vi.advanceTimersByTime(1);
    expect(going.settled).toMatchObject({ level: 'acked', reached: true });
  });

  it('a socket that goes ends it, with what was known last', () => {
    expect(settling(scripted([undefined])).settled).toMatchObject({ reached: false, gone: true, counters: undefined });
    const going = settling(scripted([UNREAD, undefined]));
    vi.advanceTimersByTime(1);
    expect(going.settled).toMatchObject({ level: 'read', reached: false, gone: true, counters: UNREAD });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('the timeout is kept, also between two questions, and 0 asks once', () => {
    const probe = scripted([UNREAD]);
    const going = settling(probe, 'read', 5);
    vi.advanceTimersByTime(5);
    expect(going.settled).toMatchObject({ reached: false, waitedMs: 5 });
    expect(settling(scripted([READ]), 'read', 0).settled).toMatchObject({ reached: true });
    expect(settling(scripted([UNREAD, READ]), 'read', 0).settled).toMatchObject({ reached: false, waitedMs: 0 });
  });

  it('one that waits for long holds up none that comes later', () => {
    const shared = settler();
    settling(scripted([UNREAD]), 'read', TIMEOUT_MS, shared);
    vi.advanceTimersByTime(1000);
    const going = settling(scripted([UNREAD, READ]), 'read', TIMEOUT_MS, shared);
    vi.advanceTimersByTime(1);
    expect(going.settled).toMatchObject({ reached: true, waitedMs: 1 });
  });

  it('a source that answers later is waited for, and asked no second time meanwhile', async () => {
    const replies: ((seen: Counters | undefined) => void)[] = [];
    const going = settling({ look: () => new Promise((resolve) => replies.push(resolve)) });
    vi.advanceTimersByTime(500);
    expect(replies).toHaveLength(1);
    replies[0]?.(UNREAD);
    await vi.advanceTimersByTimeAsync(1);
    expect(replies).toHaveLength(2);
    replies[1]?.(READ);
    await vi.advanceTimersByTimeAsync(0);
    expect(going.settled).toMatchObject({ level: 'read', reached: true, waitedMs: 501 });
  });

  it('a source that answers later can find the socket gone, or the time over', async () => {
    const gone = settling({ look: async () => undefined });
    await vi.advanceTimersByTimeAsync(0);
    expect(gone.settled).toMatchObject({ gone: true });
    const over = settling({ look: async () => UNREAD });
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
    expect(over.settled).toMatchObject({ reached: false, waitedMs: TIMEOUT_MS });
  });
});

describe('thousands at once', () => {
  const SOCKETS = 5000;
  /** What a query of the kernel costs. */
  const LOOK_MS = 0.05;

  function busy(ms: number): void {
    const end = performance.now() + ms;
    while (performance.now() < end);
  }

  it('all end in time, and the event loop turns all the while', async () => {
    const shared = settler();
    const loop = monitorEventLoopDelay({ resolution: 1 });
    let looks = 0;
    const probe: SocketProbe = {
      look: () => {
        looks++;
        busy(LOOK_MS);
        return UNREAD;
      },
    };
    const ends: Promise<Settled>[] = [];
    let turns = 0;
    let asked = 0;
    let mostInATurn = 0;
    let going = true;
    const turn = (): void => {
      turns++;
      mostInATurn = Math.max(mostInATurn, looks - asked);
      asked = looks;
      if (going) setImmediate(turn);
    };
    for (let n = 0; n < SOCKETS; n++) {
      ends.push(
        new Promise((resolve) => shared.settle({ probe, until: 'read', target: TARGET, timeoutMs: 1000 }, resolve)),
      );
      // As connections come: some in each turn of the loop.
      if (n % 50 === 49) await new Promise((resolve) => setImmediate(resolve));
    }
    loop.enable();
    asked = looks;
    turn();
    const settled = await Promise.all(ends);
    loop.disable();
    going = false;
    const [p99, waited] = [loop.percentile(99) / 1e6, Math.max(...settled.map(({ waitedMs }) => waitedMs))];
    console.info(
      `${SOCKETS} waiting: ${looks} questions, ${turns} turns, at most ${mostInATurn} questions in one, a turn's p99 ${p99.toFixed(1)} ms, the last ended after ${waited.toFixed(0)} ms`,
    );
    expect(settled.every(({ reached }) => !reached)).toBe(true);
    // Asked one after the other in one go, they would hold up a turn for 250 ms: a budget of 4 ms is 80 questions.
    expect(mostInATurn).toBeLessThanOrEqual(200);
    expect(looks).toBeLessThanOrEqual(SOCKETS * MOST_ASKS);
    expect(waited).toBeLessThan(10_000);
  });
});
