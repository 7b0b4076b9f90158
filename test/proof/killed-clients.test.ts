import { describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/proof/ledger.js';
import { startClient } from '../support/clients.js';
import { type Served, serve } from '../support/server.js';
import { post, witness } from '../support/witness.js';

const PATH = '/v1/chat/completions';
const ASK = post(PATH, { stream: true });
/** Answered in one piece. */
const ASK_WHOLE = post(PATH, {});

/** Whatever happened, the levels are in their order. */
function expectOrder({ bytes }: Ledger): void {
  const { written, flushed, acked, read } = bytes;
  expect(written).toBeGreaterThanOrEqual(flushed);
  expect(flushed).toBeGreaterThanOrEqual(acked ?? 0);
  expect(acked ?? 0).toBeGreaterThanOrEqual(read ?? 0);
}

describe('a client killed by SIGKILL', () => {
  const LONG = 'y'.repeat(4000);
  const gone = ['client_fin', 'client_rst'];

  const start = (server: Served, reads: 'all' | 'nothing', request = ASK) =>
    startClient({ port: server.port, host: '127.0.0.1', request, reads });

  it('before its request is complete leaves no ledger, and a server that goes on', async () => {
    const server = await serve({ sequence: ['success'] });
    const client = start(server, 'all', ASK.slice(0, -3));
    await client.message(({ type }) => type === 'sent');
    await client.kill();
    await server.event(({ type }) => type === 'rejected');
    await server.idle();
    expect(server.ledgers).toEqual([]);
    const next = witness(server.port);
    next.send(ASK);
    expect(await server.ledger(1)).toMatchObject({ connection: 2, outcome: 'completed' });
  });

  it('after the headers of a stall', async () => {
    const server = await serve({ sequence: ['stall'] });
    const client = start(server, 'all');
    const received = await client.message(({ type }) => type === 'received');
    await client.kill();
    const ledger = await server.ledger(1);
    expectOrder(ledger);
    expect(ledger).toMatchObject({ outcome: 'stalled', teardown: { kind: 'stall', first: 'client_fin' } });
    expect(received).toMatchObject({ bytes: ledger.bytes.flushed });
    expect([null, ledger.bytes.flushed]).toContain(ledger.bytes.acked);
    expect([null, ledger.bytes.flushed]).toContain(ledger.bytes.read);
  });

  for (const reads of ['all', 'nothing'] as const) {
    it(`in the middle of a paced answer of which it reads ${reads}`, async () => {
      const server = await serve({ sequence: ['slow_success'], successText: LONG, chunkDelayMs: 2 });
      const client = start(server, reads);
      let received = 0;
      if (reads === 'all') {
        const message = await client.message((one) => one.type === 'received' && one.bytes > 1000);
        if (message.type === 'received') received = message.bytes;
      } else await client.message(({ type }) => type === 'sent');
      await client.kill();
      const ledger = await server.ledger(1);
      expectOrder(ledger);
      expect(ledger.outcome).toBe('client_closed');
      expect(gone).toContain(ledger.teardown.first);
      expect(ledger.bytes.flushed).toBeGreaterThanOrEqual(received);
      expect(ledger.bytes.written).toBeLessThan(ledger.plan.bytes);
      expect(ledger.terminal?.delivered).not.toBe(true);
      // What is not known to be true now is marked.
      const { flushed, acked, read } = ledger.bytes;
      if (acked === null || read === null || acked < flushed || read < acked) expect(ledger.stale).toBe(true);
    });
  }

  it('while it leaves a large answer unread', async () => {
    const server = await serve({ sequence: ['success'], successText: 'z'.repeat(8_000_000), settleTimeoutMs: 20_000 });
    const client = start(server, 'nothing', ASK_WHOLE);
    await client.message(({ type }) => type === 'sent');
    await server.event(({ type }) => type === 'request');
    await client.kill();
    const ledger = await server.ledger(1);
    expectOrder(ledger);
    expect(ledger).toMatchObject({ stale: true, teardown: { first: 'client_rst' } });
    // The kernels may have had room for all of it.
    expect(['client_closed', 'completed']).toContain(ledger.outcome);
  });

  it('after the answer changes nothing of its ledger', async (ctx) => {
    const server = await serve({ sequence: ['success'] });
    if (server.evidence !== 'koffi') ctx.skip(`evidence is ${server.evidence} here, which is not exact at once`);
    const client = start(server, 'all');
    const ledger = await server.ledger(1);
    await client.message((one) => one.type === 'received' && one.bytes === ledger.plan.bytes);
    const before = structuredClone(ledger);
    await client.kill();
    await server.close();
    expect(server.ledgers).toEqual([before]);
    expect(before).toMatchObject({ outcome: 'completed', stale: false, lost: 0, bytes: { read: before.plan.bytes } });
  });
});
