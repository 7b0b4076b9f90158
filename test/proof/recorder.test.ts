import { once } from 'node:events';
import net from 'node:net';
import { describe, expect, it } from 'vitest';
import type { FaultServerOptions } from '../../src/index.js';
import type { Ledger } from '../../src/proof/ledger.js';
import { readAnswer } from '../support/http.js';
import { type Served, serve } from '../support/server.js';
import { post, type Witness, witness } from '../support/witness.js';

const PATH = '/v1/chat/completions';
const ASK = post(PATH, { stream: true });
/** Answered in one piece. */
const ASK_WHOLE = post(PATH, {});
const CLOSING = post(PATH, { stream: true }, { Connection: 'close' });

/** Whatever happened, the levels are in their order. */
function expectOrder({ bytes }: Ledger): void {
  const { written, flushed, acked, read } = bytes;
  expect(written).toBeGreaterThanOrEqual(flushed);
  expect(flushed).toBeGreaterThanOrEqual(acked ?? 0);
  expect(acked ?? 0).toBeGreaterThanOrEqual(read ?? 0);
}

/** How many bytes of `bytes` are the first answer; 0 while it isn't complete. */
function answerLength(bytes: Buffer): number {
  const answer = readAnswer(bytes);
  return answer?.complete ? bytes.length - answer.rest.length : 0;
}

/** The lengths of complete answers, one after the other. */
function lengthsOf(bytes: Buffer): number[] {
  const lengths: number[] = [];
  for (let at = 0; ; ) {
    const length = answerLength(bytes.subarray(at));
    if (length === 0) return lengths;
    lengths.push(length);
    at += length;
  }
}

/** With a source that knows all levels. */
async function provenServer(options: FaultServerOptions, skip: (why: string) => never): Promise<Served> {
  const server = await serve(options);
  if (server.evidence !== 'koffi') skip(`evidence is ${server.evidence} here, which is not exact at once`);
  return server;
}

function whole(length: number) {
  return { written: length, flushed: length, acked: length, read: length };
}

describe('exchanges of one connection', () => {
  const sequence = ['success', 'rate_limit', 'tool_call_success'] as const;

  it('one after the other have counts of their own', async (ctx) => {
    const server = await provenServer({ sequence }, ctx.skip);
    const client = witness(server.port);
    for (let n = 1; n <= 3; n++) {
      client.send(ASK);
      const lengths = lengthsOf(await client.until((bytes) => lengthsOf(bytes).length === n));
      const ledger = await server.ledger(n);
      expect(ledger).toMatchObject({ connection: 1, onConnection: n, stale: false, lost: 0 });
      expect(ledger.bytes).toEqual(whole(lengths[n - 1] ?? 0));
      expect(ledger.teardown.first).toBeNull();
    }
  });

  it('sent in one piece, too', async (ctx) => {
    const server = await provenServer({ sequence }, ctx.skip);
    const client = witness(server.port);
    client.send(ASK.repeat(3));
    const lengths = lengthsOf(await client.until((bytes) => lengthsOf(bytes).length === 3));
    await server.idle();
    const inOrder = [1, 2, 3].map((number) => server.ledgers.find(({ exchange }) => exchange === number));
    expect(inOrder.map((ledger) => ledger?.bytes)).toEqual(lengths.map(whole));
    expect(new Set(lengths).size).toBe(3);
  });

  it('an interim 100 is no part of an answer', async (ctx) => {
    const server = await provenServer({ sequence }, ctx.skip);
    const client = witness(server.port);
    const expectant = post(PATH, { stream: true }, { Expect: '100-continue' });
    client.send(expectant.slice(0, -5));
    const interim = await client.until((bytes) => bytes.includes('100 Continue\r\n\r\n'));
    const interimBytes = interim.length;
    client.send(expectant.slice(-5));
    const bytes = await client.until((got) => answerLength(got.subarray(interimBytes)) > 0);
    expect((await server.ledger(1)).bytes).toEqual(whole(bytes.length - interimBytes));
  });

  it('pulses count, and go beyond the plan', async () => {
    const server = await serve({ sequence: ['ping_flood'], keepaliveMs: 1 });
    const client = witness(server.port);
    client.send(ASK);
    const got = await client.until((bytes) => bytes.length > 6000);
    client.halfClose();
    await server.close();
    const ledger = await server.ledger(1);
    expectOrder(ledger);
    expect(ledger.bytes.written).toBeGreaterThan(ledger.plan.bytes);
    expect(ledger.bytes.flushed).toBeGreaterThanOrEqual(got.length);
  });
});

describe('who ended it', () => {
  it('a client that resets in a flood of pulses had no more than was flushed', async () => {
    const server = await serve({ sequence: ['ping_flood'], keepaliveMs: 1 });
    const client = net.connect(server.port, '127.0.0.1', () => client.write(ASK));
    client.on('error', () => {});
    while (client.bytesRead < 6000) await once(client, 'data');
    client.resetAndDestroy();
    const ledger = await server.ledger(1);
    expectOrder(ledger);
    expect(ledger).toMatchObject({ outcome: 'stalled', stale: true, teardown: { first: 'client_rst' } });
    expect(ledger.bytes.flushed).toBeGreaterThanOrEqual(client.bytesRead);
  });

  it('a client that asked for the end gets our FIN first', async () => {
    const server = await serve({ sequence: ['success'] });
    const client = witness(server.port);
    client.send(CLOSING);
    expect(await client.ended).toBe('fin');
    const ledger = await server.ledger(1);
    expectOrder(ledger);
    expect(ledger.bytes.flushed).toBe(client.received.length);
    expect(ledger.teardown.first).toBe('server');
    expect(ledger.outcome).toBe('completed');
  });

  it('a client that goes in the middle has left what it had by then', async (ctx) => {
    const server = await provenServer({ sequence: ['slow_success'], chunkDelayMs: 100 }, ctx.skip);
    const client = witness(server.port);
    client.send(ASK);
    await client.until((bytes) => bytes.includes('data: '));
    // What comes next comes much later, and is answered with a reset.
    client.close();
    const ledger = await server.ledger(1);
    expectOrder(ledger);
    expect(ledger).toMatchObject({ outcome: 'client_closed', stale: true, teardown: { first: 'client_fin' } });
    expect(ledger.bytes.acked).toBe(client.received.length);
    expect(ledger.bytes.written).toBeGreaterThan(client.received.length);
  });

  it('a client that half-closes reads on', async (ctx) => {
    const server = await provenServer({ sequence: ['slow_success'], chunkDelayMs: 1 }, ctx.skip);
    const client = witness(server.port);
    client.send(ASK);
    client.halfClose();
    expect(await client.ended).toBe('fin');
    const ledger = await server.ledger(1);
    expectOrder(ledger);
    expect(ledger).toMatchObject({ outcome: 'completed', teardown: { first: 'client_fin' } });
    expect(ledger.bytes.flushed).toBe(client.received.length);
    expect(ledger.bytes.flushed).toBe(ledger.plan.bytes);
  });

  it('a client that half-closes in a stall ends it', async (ctx) => {
    const server = await provenServer({ sequence: ['stall'] }, ctx.skip);
    const client = witness(server.port);
    client.send(ASK);
    const head = await client.until((bytes) => bytes.includes('\r\n\r\n'));
    client.halfClose();
    const ledger = await server.ledger(1);
    expect(ledger).toMatchObject({
      outcome: 'stalled',
      stale: false,
      teardown: { kind: 'stall', first: 'client_fin' },
    });
    expect(ledger.bytes).toEqual(whole(head.length));
    expect(await client.ended).toBe('fin');
  });

  it('the server that is closed in a stall', async (ctx) => {
    const server = await provenServer({ sequence: ['stall'] }, ctx.skip);
    const client = witness(server.port);
    client.send(ASK);
    const head = await client.until((bytes) => bytes.includes('\r\n\r\n'));
    await server.close();
    const ledger = await server.ledger(1);
    expect(ledger).toMatchObject({ outcome: 'stalled', stale: false, teardown: { kind: 'stall', first: 'server' } });
    expect(ledger.bytes).toEqual(whole(head.length));
    expect(await client.ended).toBe('fin');
  });
});

describe('a reset', () => {
  const LONG = 'x'.repeat(5_000_000);
  const options: FaultServerOptions = { sequence: ['partial_disconnect'], chunkDelayMs: 0, disconnectDelayMs: 0 };

  /** A client that never reads, and what the server says of it. */
  async function unread(given: FaultServerOptions): Promise<{ ledger: Ledger; client: Witness }> {
    const server = await serve({ ...options, partialText: LONG, ...given });
    const client = witness(server.port);
    client.pause();
    client.send(ASK_WHOLE);
    return { ledger: await server.ledger(1), client };
  }

  it('of a client that does not read comes after the timeout', async () => {
    const { ledger, client } = await unread({ settleTimeoutMs: 30 });
    expectOrder(ledger);
    expect(ledger).toMatchObject({ outcome: 'reset', settled: { reached: false }, teardown: { first: 'server' } });
    expect(ledger.settled?.waitedMs).toBeGreaterThanOrEqual(30);
    expect(ledger.bytes.written).toBeGreaterThan(LONG.length);
    expect(ledger.lost).toBe(ledger.bytes.written - (ledger.bytes.acked ?? 0));
    expect(ledger.lost).toBeGreaterThan(0);
    // Node drops what a paused client had, and may take the reset for an end.
    client.resume();
    await client.ended;
    expect(client.received.length).toBeLessThanOrEqual(ledger.bytes.flushed);
  });

  it('with settleTimeoutMs 0 looks once', async () => {
    const { ledger } = await unread({ settleTimeoutMs: 0 });
    expectOrder(ledger);
    expect(ledger).toMatchObject({ outcome: 'reset', settled: { reached: false }, teardown: { first: 'server' } });
    expect(ledger.lost).toBeGreaterThan(0);
  });

  it('with settleTimeoutMs 0 the ledger of a whole answer is made, too', async () => {
    const server = await serve({ sequence: ['success'], repeatLast: true, settleTimeoutMs: 0 });
    const client = witness(server.port);
    for (let n = 1; n <= 3; n++) {
      client.send(ASK);
      const ledger = await server.ledger(n);
      expectOrder(ledger);
      expect(ledger.bytes.written).toBe(ledger.plan.bytes);
    }
  });

  it('before any byte of the answer has nothing to settle', async () => {
    const server = await serve({ sequence: ['connection_reset'] });
    const client = witness(server.port);
    client.send(ASK);
    expect(await client.ended).toBe('rst');
    const ledger = await server.ledger(1);
    expect(ledger).toMatchObject({
      outcome: 'reset',
      settled: null,
      lost: 0,
      teardown: { kind: 'rst', first: 'server' },
    });
    expect(ledger.bytes).toMatchObject({ written: 0, flushed: 0 });
  });
});
