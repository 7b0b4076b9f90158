import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { FaultSpec } from '../../src/fault/spec.js';
import type { FaultServerOptions } from '../../src/index.js';
import { leasedCopyOf } from '../../src/slabs.js';
import { type Served, serve } from '../support/server.js';
import { post, type Witness, witness } from '../support/witness.js';
import { BARE_HEAD, booksOf } from './ledgers.js';

/**
 * An exchange that waits for its client's end gives up the bytes that it was made of. What is told of it, then and later,
 * is what the client sent and got.
 */
const BODY = { stream: true, metadata: 'wirefault:resting' };
const REQUEST = post('/v1/chat/completions', BODY);
const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

async function stored(server: Served, of: 'request' | 'response'): Promise<Buffer | number> {
  const answer = await fetch(`${server.controlURL}/__journal/1/${of}`);
  return answer.ok ? Buffer.from(await answer.arrayBuffer()) : answer.status;
}

/** A client whose answer has come to rest: what the server has stored by then is the whole of it. */
async function resting(options: FaultServerOptions): Promise<{ server: Served; client: Witness }> {
  const server = await serve(options);
  const client = witness(server.port, '127.0.0.1', { staysOpen: true });
  client.send(REQUEST);
  await client.until((bytes) => bytes.includes('data: '));
  // Stored when it comes to rest, which the client may see before.
  await expect.poll(() => stored(server, 'response')).toBeInstanceOf(Buffer);
  const { length } = Buffer.from((await stored(server, 'response')) as Buffer);
  await client.until((bytes) => bytes.length >= length);
  return { server, client };
}

for (const teardown of ['stall', 'half_close'] as const) {
  for (const position of ['event:1', 'event:2', 'event:3+4'] as const) {
    describe(`${teardown}@${position}`, () => {
      const sequence = [`${teardown}@${position}`] as const;

      it('is told as it was, while it rests and after', async () => {
        const { server, client } = await resting({ sequence });
        expect(await stored(server, 'response')).toEqual(client.received);
        client.close();
        const ledger = await server.ledger(1);
        expect(ledger.bytes.written).toBe(client.received.length);
        expect(ledger.plan.writtenSha256).toBe(sha256(client.received));
        expect(ledger.plan.bytes).toBeGreaterThan(client.received.length);
        const body = REQUEST.slice(REQUEST.indexOf('\r\n\r\n') + 4);
        expect(ledger.request).toMatchObject({
          method: 'POST',
          bodyBytes: Buffer.byteLength(body),
          bodySha256: sha256(body),
          marker: 'resting',
        });
        expect(await stored(server, 'response')).toEqual(client.received);
        expect(String(await stored(server, 'request'))).toBe(REQUEST);
      });

      it('is kept where no ledger is made', async () => {
        const { server, client } = await resting({ sequence, ledgerHistory: 0 });
        client.close();
        await server.idle();
        expect(await stored(server, 'response')).toEqual(client.received);
      });

      it('counts the paragraphs that came', async () => {
        const { server, client } = await resting({ sequence, contentBlocks: 4 });
        client.close();
        const { blocks, plan } = await server.ledger(1);
        expect(blocks).toMatchObject({ told: 4 });
        expect(plan.writtenSha256).toBe(sha256(client.received));
      });
    });
  }
}

it('what is written beside the plan is in its place: pulses, then silence', async () => {
  const fault: FaultSpec = { pace: { pulse: { everyMs: 1, times: 3 } }, cut: { at: 'event:3', teardown: 'stall' } };
  const { server, client } = await resting({ sequence: [fault] });
  expect(client.received.toString().split('data: ').length - 1).toBeGreaterThan(3);
  client.close();
  await server.idle();
  expect(await stored(server, 'response')).toEqual(client.received);
});

describe('the memory of an answer', () => {
  const WHOLE = Buffer.alloc(10_000, 'x');

  /** Books of an answer that rests once it has written so much, and the bytes as they were planned. */
  function restingBook(writtenBytes: number, options: { readonly history?: number } = {}) {
    const lease = leasedCopyOf(WHOLE);
    const bytes = lease.bytes();
    const steps = [
      { op: 'write', start: 0, end: writtenBytes },
      { op: 'teardown', kind: 'stall' },
    ] as const;
    const books = booksOf(options);
    const book = books.open({
      connection: 1,
      onConnection: 1,
      head: BARE_HEAD,
      request: { ...BARE_HEAD, body: Buffer.alloc(0) },
      protocol: 'openai-chat',
      selection: { kind: 'exhausted', lane: 'default', attempt: 1 },
      generation: 1,
      droppedLanes: 0,
      plan: { bytes, lease, marks: [], steps, closes: false, unapplied: [] },
    });
    return { book, bytes };
  }

  /** How many of them still have their bytes; in tests, memory that is let go of is overwritten. */
  function stillThere(all: readonly Buffer[]): number {
    return all.filter((bytes) => bytes.equals(WHOLE)).length;
  }

  // Some 26 answers share a piece of memory, and the last piece isn't full.
  const MANY = 100;
  const MOST_LEFT = 30;

  it.each([0, 10])('is let go of at rest, with %i ledgers kept', (history) => {
    const all = Array.from({ length: MANY }, () => restingBook(WHOLE.length, { history }));
    expect(stillThere(all.map(({ bytes }) => bytes))).toBe(MANY);
    for (const { book } of all) book.onRest(true);
    expect(stillThere(all.map(({ bytes }) => bytes))).toBeLessThan(MOST_LEFT);
    expect(all.some(({ book }) => book.plan.lease !== undefined)).toBe(false);
  });

  it('is not, while the kernel has not all of it; nor is it held', () => {
    const all = Array.from({ length: MANY }, () => restingBook(WHOLE.length));
    for (const { book } of all) book.onRest(false);
    expect(stillThere(all.map(({ bytes }) => bytes))).toBe(MANY);
    expect(all.some(({ book }) => book.plan.lease !== undefined)).toBe(false);
  });

  it('of which a part is written is let go of at once: the part has its own', () => {
    const all = Array.from({ length: MANY }, () => restingBook(100));
    // Each piece is used again as soon as it is full.
    expect(new Set(all.map(({ bytes }) => bytes.buffer)).size).toBeLessThan(3);
    expect(all.every(({ book }) => book.plan.bytes.equals(WHOLE.subarray(0, 100)))).toBe(true);
  });
});
