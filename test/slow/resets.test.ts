import { describe, expect, it } from 'vitest';
import type { Reading } from '../support/readers.js';
import { resetTrials, type Trial, wrongWith } from '../support/reset-trials.js';

/**
 * The bar: a thousand resets in each cell, and in every one of them the recorder's word is true. Prints the table.
 */
const BODIES = [1, 1_000, 100_000, 5_000_000];
const READINGS = ['fast', 'slow', 'paused'] as const;

/** Paused clients hold what was sent to them until all of their batch are through. */
const PAUSED_BATCH = 100;
const PAUSED_TIMEOUT_MS = 50;
/** Far beyond what a reader needs on a loaded machine. */
const READING_TIMEOUT_MS = 10_000;

interface Cell {
  readonly evidence: 'koffi' | 'procfs';
  readonly bodyBytes: number;
  readonly reading: Reading;
}

async function trialsOf(cell: Cell, count: number): Promise<Trial[]> {
  if (cell.reading !== 'paused') return resetTrials({ ...cell, count, settleTimeoutMs: READING_TIMEOUT_MS });
  const trials: Trial[] = [];
  while (trials.length < count) {
    trials.push(...(await resetTrials({ ...cell, count: PAUSED_BATCH, settleTimeoutMs: PAUSED_TIMEOUT_MS })));
  }
  return trials;
}

function report({ evidence, bodyBytes, reading }: Cell, trials: readonly Trial[], seconds: number): void {
  const count = (wanted: (trial: Trial) => boolean): string => String(trials.filter(wanted).length).padStart(5);
  const columns = [
    evidence.padEnd(6),
    `${bodyBytes} B`.padStart(9),
    reading.padEnd(6),
    `${count(() => true)} trials`,
    `${count(({ ledger, got }) => got.received === ledger.bytes.read)} exact`,
    `${count(({ got }) => got.end !== 'rst')} masked ends`,
    `${count(({ ledger, got }) => got.received < ledger.bytes.written)} with loss`,
    `${count(({ ledger }) => ledger.stale)} stale`,
    `${seconds.toFixed(0).padStart(4)} s`,
  ];
  console.info(columns.join('  '));
}

for (const [evidence, count] of [
  ['koffi', 1000],
  ['procfs', 100],
] as const) {
  describe(`${count} resets with evidence from ${evidence}`, () => {
    for (const bodyBytes of BODIES) {
      for (const reading of READINGS) {
        it(`${bodyBytes} bytes, a ${reading} reader`, async (ctx) => {
          if (process.platform !== 'linux') ctx.skip('these sources are of Linux');
          const startMs = performance.now();
          const cell = { evidence, bodyBytes, reading };
          const trials = await trialsOf(cell, count);
          report(cell, trials, (performance.now() - startMs) / 1000);
          expect(trials).toHaveLength(count);
          const wrong = trials.map((trial) => wrongWith(trial, reading)).filter((one) => one !== undefined);
          expect(wrong.slice(0, 5)).toEqual([]);
          for (const { ledger } of trials) {
            expect(ledger).toMatchObject({ outcome: 'reset', evidence, teardown: { kind: 'rst', first: 'server' } });
          }
        });
      }
    }
  });
}
