import { describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/proof/ledger.js';
import { plain } from '../../src/proof/paint.js';
import { type IdleRepeat, idleResultsSchema } from '../../src/trial/idle-results.js';
import type { IdleRun } from '../../src/trial/idle-run.js';
import { readRefused, readSilence, rearmsOf, rowOf, spreadOf } from '../../src/trial/idle-summary.js';
import { idleText, timeText } from '../../src/trial/idle-text.js';
import { ledgerWith } from '../proof/ledgers.js';

const PROCESS = { stdout: '', stderr: '', exitCode: 1, signal: null, durationMs: 900, ended: undefined } as const;

function run(main: readonly Ledger[], more: Partial<IdleRun> = {}): IdleRun {
  return { main, open: new Set(), over: 'ended', process: { ...PROCESS, failed: undefined }, ...more };
}

/** A silence behind bytes written after 2 ms, that began so long after the first. */
function silence(
  n: number,
  atMs: number,
  given: { clientEndMs: number | null; first?: Ledger['teardown']['first'] },
): Ledger {
  const { clientEndMs, first = 'client_fin' } = given;
  return ledgerWith({
    exchange: n,
    outcome: 'stalled',
    teardown: { kind: 'stall', first },
    times: {
      requestAt: new Date(1_000_000 + atMs).toISOString(),
      firstWriteMs: 1,
      lastWriteMs: 2,
      scale: 1,
      plannedWaitMs: 0,
      endMs: clientEndMs ?? 9000,
      clientEndMs,
      teardownMs: null,
    },
  });
}

describe('a silence', () => {
  it('lasted from the last write to the end by the client; pauses are from there to the next request', () => {
    const main = [
      silence(1, 0, { clientEndMs: 302 }),
      silence(2, 402, { clientEndMs: 303, first: 'client_rst' }),
      silence(3, 905, { clientEndMs: 304 }),
    ];
    expect(readSilence(run(main))).toEqual({
      outcome: 'gave_up',
      patienceMs: 300,
      closed: 'fin',
      retries: { count: 2, pausesMs: [100, 200], capped: false },
      because: null,
    });
    expect(readSilence(run(main.slice(1), { over: 'enough' }))).toMatchObject({
      patienceMs: 301,
      closed: 'rst',
      retries: { count: 1, capped: true },
    });
  });

  it('that was not over when the run was has no limit', () => {
    // The end is that of the killed client.
    const open = silence(1, 0, { clientEndMs: 1000 });
    expect(readSilence(run([open], { open: new Set([1]), over: 'limit' }))).toMatchObject({
      outcome: 'no_limit',
      patienceMs: null,
      closed: 'none',
    });
  });

  it('ended with the next request where the connection was left open', () => {
    const main = [silence(1, 0, { clientEndMs: 1000 }), silence(2, 502, { clientEndMs: 480 })];
    expect(readSilence(run(main, { open: new Set([1, 2]), over: 'limit' }))).toMatchObject({
      outcome: 'gave_up',
      patienceMs: 500,
      closed: 'none',
      because: expect.stringContaining('left the connection open'),
    });
  });

  it.each([
    [run([]), 'it ended (exit code 1) without a main request'],
    [run([], { over: 'no_request' }), 'it sent no main request'],
    [run([], { process: { ...PROCESS, failed: 'ENOENT' } }), 'it could not be started: ENOENT'],
    [run([ledgerWith({ outcome: 'cut_unreached' })]), 'its answer has no such place'],
    [run([silence(1, 0, { clientEndMs: null, first: 'server' })]), 'the connection was not ended by the client'],
  ])('is not measured, and it says why (%#)', (given, because) => {
    expect(readSilence(given)).toMatchObject({ outcome: 'not_measured', patienceMs: null, because });
  });
});

describe('refused connects', () => {
  const process = { ...PROCESS, failed: undefined };

  it('lasted from the first to the last', () => {
    expect(readRefused({ connectsMs: [0, 500, 1500], outlived: false, process })).toMatchObject({
      outcome: 'gave_up',
      patienceMs: 1500,
      retries: { count: 2, pausesMs: [500, 1000] },
    });
  });

  it('that nobody can see lasted as long as the process', () => {
    expect(readRefused({ connectsMs: undefined, outlived: false, process })).toMatchObject({
      patienceMs: 900,
      retries: null,
    });
    expect(readRefused({ connectsMs: [], outlived: false, process })).toMatchObject({ because: 'it never connected' });
    expect(readRefused({ connectsMs: [0, 1], outlived: true, process })).toMatchObject({
      outcome: 'no_limit',
      patienceMs: null,
    });
  });
});

describe('several runs', () => {
  it('have a minimum, a median and a maximum, where no limit is longer than any', () => {
    expect(spreadOf([300, 100, 200])).toEqual({ minMs: 100, medianMs: 200, maxMs: 300 });
    expect(spreadOf([100, 300])).toEqual({ minMs: 100, medianMs: 200, maxMs: 300 });
    expect(spreadOf([null, 100, 200])).toEqual({ minMs: 100, medianMs: 200, maxMs: null });
    expect(spreadOf([null, 100])).toEqual({ minMs: 100, medianMs: null, maxMs: null });
    expect(spreadOf([])).toEqual({ minMs: null, medianMs: null, maxMs: null });
  });

  it('agree on what re-arms a client, or it is not known', () => {
    expect(rearmsOf(300, [null, 600])).toEqual({ rearms: true, because: null });
    expect(rearmsOf(300, [310, 305])).toEqual({ rearms: false, because: null });
    expect(rearmsOf(300, [310, null])).toMatchObject({ rearms: null, because: 'its runs differ' });
    expect(rearmsOf(300, [20])).toMatchObject({ rearms: null, because: expect.stringContaining('broken') });
    expect(rearmsOf(300, [])).toMatchObject({ rearms: null });
  });
});

describe('the table', () => {
  it('has a row for each probe, and notes', () => {
    const gaveUp = (patienceMs: number, pausesMs: number[]): Omit<IdleRepeat, 'repeat'> => ({
      outcome: 'gave_up',
      patienceMs,
      closed: 'fin',
      retries: { count: pausesMs.length, pausesMs, capped: false },
      because: null,
    });
    const what = { meaning: 'silence', from: 'the last byte', measuredBy: 'socket' } as const;
    const none = { patienceMs: null, closed: 'none', retries: null, because: null } as const;
    const results = idleResultsSchema.parse({
      version: 1,
      client: 'mine',
      clientVersion: '1.2.3',
      protocol: 'openai-chat',
      date: new Date(0).toISOString(),
      platform: 'linux x64',
      node: 'v20.20.0',
      wirefault: '0.1.0',
      seed: 42,
      maxWaitMs: 60_000,
      repeats: 2,
      probes: [
        rowOf({ probe: 'headers', ...what }, [gaveUp(312, [500, 1000]), gaveUp(3012, [480])]),
        rowOf({ probe: 'first_event', ...what }, [{ outcome: 'no_limit', ...none }, gaveUp(20_000, [])]),
        rowOf({ probe: 'no_close', ...what }, [{ outcome: 'not_measured', ...none, because: 'no such place' }]),
      ],
      rearm: [
        {
          by: 'comment',
          meaning: '',
          rearms: true,
          limitMs: 300,
          everyMs: 100,
          livedMs: [null],
          watchedMs: 600,
          because: null,
        },
        {
          by: 'ping',
          meaning: '',
          rearms: null,
          limitMs: null,
          everyMs: null,
          livedMs: [],
          watchedMs: null,
          because: 'why',
        },
      ],
      gap: { minMs: 290, medianMs: 295.5, maxMs: 300, found: [], because: null },
    });
    expect(idleText(results, plain).replaceAll(/ {2,}/g, ' | ')).toBe(
      [
        'mine (1.2.3), openai-chat, 2 runs each, at most 60 s',
        '',
        'probe | situation | from | min | median | max | closes | retries',
        'headers | silence | the last byte | 312 ms | 1.66 s | 3.01 s | FIN | 1 to 2 (after 500 ms, 1 s)',
        'first_event | silence | the last byte | 20 s | > 60 s | > 60 s | FIN | 0',
        'no_close | silence | the last byte | n/a | - | - | - | -',
        'gap | the shortest pause between events that it minds | the event before | 290 ms | 296 ms | 300 ms | - | -',
        '',
        're-armed by comment: yes',
        're-armed by ping: n/a: why',
        'no_close: no such place',
        '',
      ].join('\n'),
    );
  });

  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [3012, '3.01 s'],
    [62_440, '62.4 s'],
    [600_000, '10 min'],
  ])('%d is %s', (ms, text) => expect(timeText(ms)).toBe(text));
});
