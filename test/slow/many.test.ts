import { spawnSync } from 'node:child_process';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Ledger } from '../../src/proof/ledger.js';
import { startReaders } from '../support/readers.js';
import { serve } from '../support/server.js';
import { post } from '../support/witness.js';

/** Thousands of exchanges under way at the same moment: the books stay true, and nothing is reset on suspicion. */
const EXCHANGES = 2000;
/** The readers are a process of their own, so each of the two has as many sockets, and some more. */
const DESCRIPTORS = EXCHANGES + 500;

function openFilesAllowed(): number {
  const said = spawnSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).stdout.trim();
  return said === 'unlimited' ? Number.POSITIVE_INFINITY : Number(said);
}

function inOrder({ bytes }: Ledger): boolean {
  const { written, flushed, acked, read } = bytes;
  return written >= flushed && flushed >= (acked ?? 0) && (acked ?? flushed) >= (read ?? 0);
}

describe(`${EXCHANGES} exchanges at once`, () => {
  for (const evidence of ['koffi', 'procfs', 'callbacks'] as const) {
    it(`with evidence from ${evidence}`, async (ctx) => {
      if (process.platform !== 'linux') ctx.skip('these sources are of Linux');
      const allowed = openFilesAllowed();
      if (allowed < DESCRIPTORS) ctx.skip(`ulimit -n is ${allowed}, below ${DESCRIPTORS}`);
      const server = await serve({
        evidence,
        sequence: ['random'],
        repeatLast: true,
        randomSeed: 11,
        randomWeights: { partial_disconnect: 1, slow_success: 1, stall: 1 },
        partialText: 'p'.repeat(400),
        successText: 's'.repeat(400),
        ledgerHistory: EXCHANGES,
        settleTimeoutMs: 60_000,
      });
      const readers = startReaders();
      onTestFinished(() => readers.stop());
      const requests = Array.from({ length: EXCHANGES }, (_, n) =>
        post('/v1/chat/completions', { stream: true, user: `wirefault:m${n}` }, { Connection: 'close' }),
      );
      const startMs = performance.now();
      const running = readers.run({
        port: server.port,
        host: '127.0.0.1',
        reading: 'fast',
        requests,
        concurrency: EXCHANGES,
      });
      // All have come; those that end by themselves have ended.
      await server.event(() => server.requests.length === EXCHANGES);
      const stalls = server.requests.filter(({ behavior }) => behavior === 'stall').length;
      await server.results(EXCHANGES - stalls);
      await server.close();
      const results = await running;
      const seconds = ((performance.now() - startMs) / 1000).toFixed(1);

      expect(server.ledgers).toHaveLength(EXCHANGES);
      const byMarker = new Map(server.ledgers.map((ledger) => [ledger.request?.marker, ledger]));
      expect(byMarker.size).toBe(EXCHANGES);
      const wrong = results.flatMap(({ received, end }, n) => {
        const ledger = byMarker.get(`m${n}`);
        if (!ledger) return [`m${n} has no ledger`];
        const { bytes, outcome, settled } = ledger;
        const told = JSON.stringify({ outcome, bytes, settled, received, end });
        if (!inOrder(ledger)) return [`out of order: ${told}`];
        if ((bytes.read ?? 0) > received || received > bytes.flushed) return [`not read ≤ received ≤ flushed: ${told}`];
        if (outcome !== 'reset') return received === bytes.flushed ? [] : [`less than was flushed: ${told}`];
        // No reset without evidence, at the best level that there is.
        const level = evidence === 'callbacks' ? 'flushed' : 'read';
        if (settled?.reached !== true || settled.level !== level) return [`reset without evidence: ${told}`];
        if (evidence !== 'callbacks' && received !== bytes.written) return [`a reset that lost bytes: ${told}`];
        return end === 'rst' || evidence === 'callbacks' ? [] : [`a masked end: ${told}`];
      });
      const count = (outcome: string): number => server.ledgers.filter((ledger) => ledger.outcome === outcome).length;
      const waited = Math.max(...server.ledgers.map(({ settled }) => settled?.waitedMs ?? 0));
      console.info(
        `${evidence}: ${count('reset')} resets, ${count('completed')} whole, ${count('stalled')} stalled in ${seconds} s; the longest settling took ${waited.toFixed(0)} ms`,
      );
      expect(wrong.slice(0, 5)).toEqual([]);
      for (const outcome of ['reset', 'completed', 'stalled']) expect(count(outcome)).toBeGreaterThan(500);
    });
  }
});
