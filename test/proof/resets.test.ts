import { describe, expect, it } from 'vitest';
import { resetTrials, wrongWith } from '../support/reset-trials.js';

/** A quick share of test/slow/resets.test.ts. */
const BODIES = [1, 1_000, 100_000, 5_000_000];

describe('a reset falls at an exact byte', () => {
  for (const bodyBytes of BODIES) {
    for (const reading of ['fast', 'slow', 'paused'] as const) {
      it(`${bodyBytes} bytes, a ${reading} reader`, async () => {
        const settleTimeoutMs = reading === 'paused' ? 100 : 5000;
        const trials = await resetTrials({ count: 16, bodyBytes, reading, settleTimeoutMs });
        expect(trials.map((trial) => wrongWith(trial, reading)).filter((wrong) => wrong !== undefined)).toEqual([]);
        for (const { ledger } of trials) {
          expect(ledger).toMatchObject({ outcome: 'reset', teardown: { kind: 'rst', first: 'server' } });
          if (reading !== 'paused') expect(ledger).toMatchObject({ lost: 0, settled: { reached: true } });
        }
      });
    }
  }

  it('a client that never reads makes settling time out; the reset comes all the same, and the loss is told', async () => {
    const trials = await resetTrials({ count: 4, bodyBytes: 5_000_000, reading: 'paused', settleTimeoutMs: 50 });
    for (const { ledger } of trials) {
      expect(ledger.settled).toMatchObject({ reached: false });
      expect(ledger.lost).toBeGreaterThan(1_000_000);
      expect(ledger.bytes.written - (ledger.bytes.acked ?? 0)).toBe(ledger.lost);
    }
  });
});
