import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Counters, SocketProbe } from '../../src/proof/counters.js';
import { type Line, rounds } from '../../src/proof/rounds.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A probe whose counters the test sets, and which counts how often it was asked. */
function probe(): SocketProbe & { read: number | undefined; asked: number } {
  const made = {
    read: 0 as number | undefined,
    asked: 0,
    look: (): Counters | undefined => {
      made.asked++;
      return made.read === undefined ? undefined : { flushed: 1000, acked: 1000, read: made.read };
    },
  };
  return made;
}

function ask(line: Line, target: number, timeoutMs: number, answered: (gone: boolean) => void): void {
  line.ask({ target, sinceMs: 0, untilMs: 0, after: undefined, answered }, timeoutMs);
}

describe('what became of the bytes of answers', () => {
  it('is asked once for all the exchanges of a connection, and never within the turn', () => {
    const client = probe();
    client.read = 300;
    const line = rounds().of(client);
    const done: [number, boolean][] = [];
    for (const target of [100, 200, 300]) ask(line, target, 1000, (gone) => done.push([target, gone]));
    expect([client.asked, done]).toEqual([0, []]);
    vi.advanceTimersByTime(2);
    expect(client.asked).toBe(1);
    expect(done).toEqual([
      [100, false],
      [200, false],
      [300, false],
    ]);
  });

  it('settles as far as the client has read, and goes on asking for the rest', () => {
    const client = probe();
    client.read = 150;
    const line = rounds().of(client);
    const done: number[] = [];
    for (const target of [100, 200]) ask(line, target, 1000, () => done.push(target));
    vi.advanceTimersByTime(10);
    expect(done).toEqual([100]);
    client.read = 200;
    vi.advanceTimersByTime(100);
    expect(done).toEqual([100, 200]);
    const { asked } = client;
    vi.advanceTimersByTime(1000);
    expect(client.asked).toBe(asked);
  });

  it('is given up after the time-out, and at once where the socket is gone', () => {
    const [silent, gone] = [probe(), probe()];
    const both = rounds();
    const done: [string, boolean][] = [];
    ask(both.of(silent), 1, 500, (was) => done.push(['silent', was]));
    gone.read = undefined;
    ask(both.of(gone), 1, 500, (was) => done.push(['gone', was]));
    vi.advanceTimersByTime(20);
    expect(done).toEqual([['gone', true]]);
    vi.advanceTimersByTime(600);
    expect(done).toEqual([
      ['gone', true],
      ['silent', false],
    ]);
  });

  it('may ask again from within an answer', () => {
    const client = probe();
    client.read = 500;
    const line = rounds().of(client);
    const done: number[] = [];
    ask(line, 100, 1000, () => {
      done.push(100);
      ask(line, 200, 1000, () => done.push(200));
    });
    vi.advanceTimersByTime(50);
    expect(done).toEqual([100, 200]);
  });

  it('waits for a source that answers later', async () => {
    const line = rounds().of({ look: async () => ({ flushed: 10, acked: 10, read: null }) });
    const done = new Promise((resolve) => ask(line, 10, 1000, resolve));
    await vi.advanceTimersByTimeAsync(5);
    expect(await done).toBe(false);
  });
});
