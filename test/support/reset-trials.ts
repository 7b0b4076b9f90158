import { type FaultServer, startFaultServer } from '../../src/index.js';
import type { Ledger } from '../../src/proof/ledger.js';
import { type Reading, type ReadResult, startReaders } from './readers.js';
import { post } from './witness.js';

/** Trials of resets: what the recorder says of each beside what an independent reader got. */
export interface Trial {
  readonly ledger: Ledger;
  readonly got: ReadResult;
}

export interface TrialsOptions {
  readonly count: number;
  /** Bytes of text before the cut; head and JSON come on top. */
  readonly bodyBytes: number;
  readonly reading: Reading;
  readonly host?: string;
  readonly settleTimeoutMs?: number;
  readonly evidence?: 'koffi' | 'procfs' | 'callbacks';
}

const CONCURRENCY = 8;

export async function resetTrials(options: TrialsOptions): Promise<Trial[]> {
  const { count, bodyBytes, reading, host = '127.0.0.1' } = options;
  await using server: FaultServer = await startFaultServer({
    host,
    sequence: ['partial_disconnect'],
    repeatLast: true,
    partialText: 'x'.repeat(bodyBytes),
    chunkDelayMs: 0,
    disconnectDelayMs: 0,
    ledgerHistory: count,
    requestHistory: 0,
    settleTimeoutMs: options.settleTimeoutMs ?? 2000,
    ...(options.evidence ? { evidence: options.evidence } : {}),
  });
  const readers = startReaders();
  try {
    // The marker in its body ties a request to its ledger.
    const requests = Array.from({ length: count }, (_, n) => post('/v1/chat/completions', { user: `wirefault:t${n}` }));
    const concurrency = reading === 'paused' ? count : CONCURRENCY;
    const running = readers.run({ port: server.port, host, reading, requests, concurrency });
    if (reading === 'paused') {
      for (let n = 1; n <= count; n++) await server.ledger(n);
      readers.resumePaused();
    }
    const results = await running;
    await server.idle();
    return results.map((got, n) => {
      const ledger = server.ledgers.find(({ request }) => request?.marker === `t${n}`);
      if (!ledger) throw new Error(`trial ${n} has no ledger`);
      return { ledger, got };
    });
  } finally {
    readers.stop();
  }
}

/** What is wrong with a trial, or `undefined`. Whoever reads gets exactly what is recorded, and then a reset. */
export function wrongWith({ ledger, got }: Trial, reading: Reading): string | undefined {
  const { flushed, acked, read } = ledger.bytes;
  const counts = `read ${read}, acked ${acked}, flushed ${flushed}; the reader got ${got.received} and a ${got.end}`;
  if ((read ?? 0) > got.received || got.received > flushed) return `not read ≤ received ≤ flushed: ${counts}`;
  if (reading === 'paused') return undefined;
  if (got.end !== 'rst') return `no reset: ${counts}`;
  if (read !== null && got.received !== read) return `not exactly what was read: ${counts}`;
  if (read === null && acked !== null && got.received < acked) return `less than was acknowledged: ${counts}`;
  return undefined;
}
