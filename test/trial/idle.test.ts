import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { attemptsCountable } from '../../src/net/syn-counter.js';
import { type Ask, measureIdle } from '../../src/trial/idle.js';
import { type IdleResults, idleResultsSchema, type ProbeName, type ProbeRow } from '../../src/trial/idle-results.js';
import { folder } from './support/little.js';
import { MEASURE, type Patience, patient, type Waited, waitedIn } from './support/patient.js';

interface Measured extends IdleResults {
  /** What the client wrote down, by its own clock. */
  readonly waited: readonly Waited[];
  row(probe: ProbeName): ProbeRow;
}

async function measured(
  patience: Patience,
  asks: readonly Ask[],
  more: Partial<Parameters<typeof measureIdle>[0]> = {},
): Promise<Measured> {
  const log = join(await folder(), 'waited.jsonl');
  const results = await measureIdle({ ...MEASURE, client: patient(patience, log), asks, ...more });
  expect(idleResultsSchema.parse(JSON.parse(JSON.stringify(results)))).toEqual(results);
  return {
    ...results,
    waited: waitedIn(log),
    row: (probe) => {
      const row = results.probes.find((one) => one.probe === probe);
      if (!row) throw new Error(`no row ${probe}`);
      return row;
    },
  };
}

/** The server's clock starts at the write, the client's when it reads; either may be late on a busy machine. */
const EARLY_MS = 200;
const LATE_MS = 600;

function expectNear(measuredMs: number | null | undefined, clientMs: number | undefined): void {
  expect(measuredMs).toBeGreaterThanOrEqual((clientMs ?? Number.NaN) - EARLY_MS);
  expect(measuredMs).toBeLessThanOrEqual((clientMs ?? Number.NaN) + LATE_MS);
}

const IDLE_MS = 600;
/** Where something comes within one patience, it may be late by a good part of it. */
const LONG_MS = 1200;
const SILENCES = ['no_headers', 'headers', 'first_event', 'between_events', 'no_terminal'] as const;

describe('the patience of a client', () => {
  it.each(SILENCES)('in a silence: %s', async (probe) => {
    const { row, waited } = await measured({ idleMs: IDLE_MS }, [probe]);
    const { outcome, measuredBy, minMs, medianMs, maxMs, repeats } = row(probe);
    expect({ outcome, measuredBy }).toEqual({ outcome: 'limit', measuredBy: 'socket' });
    expect(repeats).toMatchObject([
      { outcome: 'gave_up', closed: 'fin', retries: { count: 0, pausesMs: [], capped: false }, because: null },
    ]);
    expect(new Set([minMs, medianMs, maxMs])).toEqual(new Set([repeats[0]?.patienceMs]));
    expectNear(medianMs, waited[0]?.waitedMs);
  });

  it('at a connection whose request nobody reads', async ({ skip }) => {
    skip(process.platform !== 'linux', 'only Linux tells of a client that goes while nobody reads');
    const { row, waited } = await measured({ idleMs: IDLE_MS }, ['accept']);
    expect(row('accept')).toMatchObject({ outcome: 'limit', measuredBy: 'socket_table' });
    expectNear(row('accept').medianMs, waited[0]?.waitedMs);
  });

  it('behind the terminal', async () => {
    // This one goes at the terminal by itself: it has no reason to wait.
    const { row } = await measured({ idleMs: 1000, retriesMs: [10] }, ['no_terminal', 'no_close']);
    expect(row('no_close')).toMatchObject({ outcome: 'limit', repeats: [{ closed: 'fin', retries: { count: 0 } }] });
    expect(row('no_close').maxMs).toBeLessThan(Number(row('no_terminal').minMs));
  });

  it('over several runs has a minimum, a median and a maximum', async () => {
    const { row, waited } = await measured({ idleMs: IDLE_MS }, ['headers'], { repeats: 3, jobs: 1 });
    const { minMs, medianMs, maxMs, repeats } = row('headers');
    const sorted = repeats.map(({ patienceMs }) => patienceMs ?? Number.NaN).toSorted((a, b) => a - b);
    expect([minMs, medianMs, maxMs]).toEqual(sorted);
    for (const [n, { waitedMs }] of waited.entries()) expectNear(repeats[n]?.patienceMs, waitedMs);
  });

  it('that has no end is longer than was waited for', async () => {
    const log = join(await folder(), 'none');
    const { probes, rearm, gap } = await measureIdle({
      ...MEASURE,
      maxWaitMs: 400,
      client: patient({}, log),
      asks: ['headers', 'between_events', 'rearm', 'gap', 'total'],
    });
    for (const row of probes) {
      expect(row).toMatchObject({ outcome: 'no_limit', minMs: null, maxMs: null, repeats: [{ closed: 'none' }] });
    }
    expect(probes.map(({ probe }) => probe)).toEqual(['headers', 'between_events', 'total']);
    expect(rearm.map(({ rearms, because }) => ({ rearms, because }))).toEqual(
      Array(3).fill({ rearms: null, because: 'no limit between events' }),
    );
    expect(gap).toMatchObject({ found: [], because: 'no limit between events' });
  });

  it('may end by a reset, and the kernel says so', async () => {
    const { row } = await measured({ idleMs: IDLE_MS, close: 'rst' }, ['no_headers', 'between_events']);
    expect(row('no_headers').repeats).toMatchObject([{ closed: 'rst' }]);
    expect(row('between_events').repeats).toMatchObject([{ closed: 'rst' }]);
  });

  it('is followed by retries, with their pauses', async () => {
    const { row, waited } = await measured({ idleMs: IDLE_MS, retriesMs: [400, 900] }, ['headers']);
    const [run] = row('headers').repeats;
    expect(run?.retries).toMatchObject({ count: 2, capped: false });
    const own = waited.filter(({ why }) => why === 'pause');
    expect(own).toHaveLength(2);
    for (const [n, { waitedMs }] of own.entries()) expectNear(run?.retries?.pausesMs[n], waitedMs);
  });

  it('at a closed port is told by its SYNs, where they can be seen', async () => {
    const { row, waited } = await measured({ idleMs: IDLE_MS, retriesMs: [400, 900] }, ['refused']);
    const { measuredBy, outcome, repeats } = row('refused');
    expect(outcome).toBe('limit');
    expect(waited.map(({ why }) => why)).toEqual(['pause', 'pause']);
    const [run] = repeats;
    if ((await attemptsCountable()) !== undefined) {
      expect({ measuredBy, retries: run?.retries }).toEqual({ measuredBy: 'process', retries: null });
      return;
    }
    expect(measuredBy).toBe('syn');
    expect(run).toMatchObject({ closed: 'none', retries: { count: 2, capped: false } });
    for (const [n, { waitedMs }] of waited.entries()) expectNear(run?.retries?.pausesMs[n], waitedMs);
    const [first = 0, second = 0] = run?.retries?.pausesMs ?? [];
    expect(run?.patienceMs).toBeCloseTo(first + second, 1);
  });
});

describe('the patience between events', () => {
  it('is set back by any byte, and has no end in all', { timeout: 60_000 }, async () => {
    const { rearm, gap, row, waited } = await measured(
      { idleMs: LONG_MS, rearmedBy: 'bytes' },
      ['rearm', 'gap', 'total'],
      { maxWaitMs: 3000 },
    );
    expect(rearm.map(({ by, rearms, livedMs }) => ({ by, rearms, livedMs }))).toEqual([
      { by: 'comment', rearms: true, livedMs: [null] },
      { by: 'ping', rearms: true, livedMs: [null] },
      { by: 'empty_event', rearms: true, livedMs: [null] },
    ]);
    expect(row('total')).toMatchObject({ outcome: 'no_limit', minMs: null });
    const [found] = gap?.found ?? [];
    const [survivedMs, failedMs] = [Number(found?.survivedMs), Number(found?.failedMs)];
    expect(found?.tries).toBeGreaterThan(1);
    expect(survivedMs).toBeLessThan(failedMs);
    expect(gap?.medianMs).toBeCloseTo((failedMs + survivedMs) / 2);
    // By the client's own clock; either side may have been late in one of the tries.
    expect(failedMs).toBeGreaterThanOrEqual(LONG_MS - LATE_MS);
    expect(survivedMs).toBeLessThanOrEqual(Math.max(...waited.map(({ waitedMs }) => waitedMs)) + EARLY_MS);
  });

  it('is set back by events alone, and not beyond a limit in all', async () => {
    const { rearm, row, waited } = await measured(
      { idleMs: LONG_MS, rearmedBy: 'events', totalMs: 1800 },
      ['rearm', 'total'],
      { maxWaitMs: 4000 },
    );
    expect(rearm.map(({ by }) => by)).toEqual(['comment', 'ping', 'empty_event']);
    for (const { rearms, limitMs, everyMs, livedMs } of rearm) {
      expect(rearms).toBe(false);
      expect(limitMs).toBe(row('between_events').maxMs);
      expect(everyMs).toBeLessThan(LONG_MS);
      expectNear(livedMs[0], LONG_MS);
    }
    expect(row('total')).toMatchObject({ outcome: 'limit', repeats: [{ closed: 'fin', retries: null }] });
    expectNear(row('total').medianMs, waited.find(({ why }) => why === 'total')?.waitedMs);
  });
});

describe('a client that asks for nothing', () => {
  const never = (command: readonly string[]) => ({ name: 'never', command, output: { kind: 'text' } }) as const;

  it.each([
    [['no-such-program-wf'], /^client never: program no-such-program-wf not on PATH$/],
    [
      [process.execPath, '-e', 'console.error("no config"); process.exit(3)'],
      /^client never: it ended \(exit code 3\) without a main request: no config \(the server is at \{\{baseURL\}\}/,
    ],
  ])('%j is no client', async (command, message) => {
    const options = { ...MEASURE, client: never(command), asks: ['headers'] } as const;
    await expect(measureIdle(options)).rejects.toThrow(message);
  });
});
