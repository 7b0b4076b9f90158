import { describe, expect, it } from 'vitest';
import type { FaultSpec } from '../../src/fault/spec.js';
import type { FaultServerOptions } from '../../src/index.js';
import type { Ledger } from '../../src/proof/ledger.js';
import { readAnswer } from '../support/http.js';
import { serve } from '../support/server.js';
import { post, type WireEnd, witness, witnessed } from '../support/witness.js';

/** `timeScale`: all pauses of an answer are so many times shorter, and the ledger tells both. */
const PLANNED_MS = 30_000;
const SCALE = 100;
const SCALED_MS = PLANNED_MS / SCALE;

const ASK = post('/v1/chat/completions', { stream: true }, { Connection: 'close' });

async function exchange(options: FaultServerOptions): Promise<{ ledger: Ledger; bytes: Buffer; end: WireEnd }> {
  const server = await serve({ timeScale: SCALE, ...options });
  const { bytes, end } = await witnessed(server.port, ASK);
  return { ledger: await server.ledger(1), bytes, end };
}

/** Timers are of whole milliseconds, and may be a little early. */
function expectPlayed({ times }: Ledger, plannedMs: number, scale = SCALE): void {
  expect(times).toMatchObject({ scale, plannedWaitMs: plannedMs });
  expect(times.endMs).toBeGreaterThanOrEqual(plannedMs / scale - 5);
  expect(times.endMs).toBeLessThan(plannedMs);
}

describe(`at ${SCALE} times the speed a pause of ${PLANNED_MS} ms is one of ${SCALED_MS}`, () => {
  const FAULTS: Record<string, readonly [fault: FaultSpec, end: WireEnd, complete: boolean | undefined]> = {
    'before the first byte': [{ pace: { firstByteMs: PLANNED_MS } }, 'fin', true],
    'in the middle': [{ pace: { pauses: [{ at: 'event:1', ms: PLANNED_MS }] } }, 'fin', true],
    'in two parts': [
      {
        pace: {
          pauses: [
            { at: 'headers', ms: PLANNED_MS / 2 },
            { at: 'event:2', ms: PLANNED_MS / 2 },
          ],
        },
      },
      'fin',
      true,
    ],
    'between keep-alives': [
      {
        framing: { kind: 'chunked' },
        pace: { pulse: { everyMs: PLANNED_MS / 10, times: 10 } },
        cut: { at: 'event:1', teardown: 'fin' },
      },
      'fin',
      false,
    ],
    'before a reset': [{ cut: { at: 'event:1', teardown: 'rst', delayMs: PLANNED_MS } }, 'rst', false],
    'before a FIN': [{ cut: { at: 'event:1', teardown: 'fin', delayMs: PLANNED_MS } }, 'fin', false],
    'of a connection that is not read': [
      { cut: { at: 'accept', teardown: 'rst', delayMs: PLANNED_MS } },
      'rst',
      undefined,
    ],
  };
  for (const [name, [fault, end, complete]] of Object.entries(FAULTS)) {
    it(name, async () => {
      const seen = await exchange({ sequence: [fault] });
      expect(seen.end).toBe(end);
      expect(readAnswer(seen.bytes)?.complete).toBe(complete);
      expectPlayed(seen.ledger, PLANNED_MS);
    });
  }

  it('that an option has', async () => {
    const seen = await exchange({ sequence: ['stall_resume'], keepaliveMs: PLANNED_MS });
    expect(readAnswer(seen.bytes)?.complete).toBe(true);
    expectPlayed(seen.ledger, PLANNED_MS);
  });

  it('after each delta', async () => {
    const seen = await exchange({ sequence: ['slow_success'], chunkDelayMs: PLANNED_MS / 3 });
    expect(readAnswer(seen.bytes)?.complete).toBe(true);
    // Three deltas of text.
    expectPlayed(seen.ledger, PLANNED_MS);
  });

  it('behind an answer', async () => {
    const fault: FaultSpec = { idle: { teardown: 'fin', afterMs: PLANNED_MS } };
    const server = await serve({ timeScale: SCALE, sequence: [fault] });
    const client = witness(server.port);
    const startMs = performance.now();
    client.send(post('/v1/chat/completions', { stream: true }));
    expect(await client.ended).toBe('fin');
    const tookMs = performance.now() - startMs;
    expect(tookMs).toBeGreaterThanOrEqual(SCALED_MS - 5);
    expect(tookMs).toBeLessThan(PLANNED_MS);
    expect(await server.ledger(1)).toMatchObject({ outcome: 'completed', times: { scale: SCALE, plannedWaitMs: 0 } });
  });
});

it('keep-alives for ever come so many times as often', async () => {
  const server = await serve({ timeScale: 1000, sequence: ['ping_flood'], keepaliveMs: PLANNED_MS });
  const client = witness(server.port);
  client.send(post('/v1/chat/completions', { stream: true }));
  await client.until((bytes) => (bytes.toString().match(/: keep-alive/g)?.length ?? 0) >= 4);
  client.close();
  // Of a thing without an end one pause is told.
  expect(await server.ledger(1)).toMatchObject({ times: { scale: 1000, plannedWaitMs: PLANNED_MS } });
});

it('below 1 pauses are longer', async () => {
  const fault: FaultSpec = { pace: { firstByteMs: 20 } };
  const { ledger } = await exchange({ timeScale: 0.1, sequence: [fault] });
  expect(ledger.times).toMatchObject({ scale: 0.1, plannedWaitMs: 20 });
  expect(ledger.times.endMs).toBeGreaterThanOrEqual(195);
});

it('by itself time is what was planned', async () => {
  const fault: FaultSpec = { pace: { firstByteMs: 20 } };
  const { ledger } = await exchange({ timeScale: undefined, sequence: [fault] });
  expect(ledger.times).toMatchObject({ scale: 1, plannedWaitMs: 20 });
  expect(ledger.times.endMs).toBeGreaterThanOrEqual(19);
});
