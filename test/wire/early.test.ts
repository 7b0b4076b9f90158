import { describe, expect, it } from 'vitest';
import type { FaultSpec } from '../../src/fault/spec.js';
import type { Ledger } from '../../src/proof/ledger.js';
import { readAnswer } from '../support/http.js';
import { type Served, serve } from '../support/server.js';
import { unreadBytes, unreadSeen } from '../support/unread.js';
import { post, type Witness, witness, witnessed } from '../support/witness.js';

/**
 * Faults that act before there is a request: at `accept`, and at `request:K`. How much was read is what the ledger
 * says, to the byte; the rest lies in the kernel, which is asked for it.
 */
const PATH = '/v1/chat/completions';
const REQUEST = post(PATH, { stream: true, text: 'x'.repeat(100) });
const CLOSE = post(PATH, {}, { Connection: 'close' });

const TEARDOWNS = ['rst', 'rst_now', 'fin', 'half_close', 'stall'] as const;
type Teardown = (typeof TEARDOWNS)[number];

const OUTCOMES: Readonly<Record<Teardown, string>> = {
  rst: 'reset',
  rst_now: 'reset',
  fin: 'closed',
  half_close: 'closed',
  stall: 'stalled',
};

/** What the client sees: a close(2) with bytes unread is a RST, whatever it was meant to be (RFC 2525, section 2.17). */
const SEEN: Readonly<Record<Teardown, { readonly nothingUnread: string; readonly unread: string }>> = {
  rst: { nothingUnread: 'rst', unread: 'rst' },
  rst_now: { nothingUnread: 'rst', unread: 'rst' },
  fin: { nothingUnread: 'fin', unread: 'rst' },
  half_close: { nothingUnread: 'fin', unread: 'fin' },
  stall: { nothingUnread: 'open', unread: 'open' },
};

/** Waits until exactly so much of what the client has sent lies unread, and stays so while other things happen. */
async function untilUnread(server: Served, client: Witness, bytes: number): Promise<void> {
  if (!unreadSeen) return;
  await expect.poll(() => unreadBytes(server.port, client.localPort), { timeout: 10_000 }).toBe(bytes);
  for (let n = 0; n < 3; n++) await witnessed(server.port, 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n');
  expect(unreadBytes(server.port, client.localPort)).toBe(bytes);
}

/** A connection on which one exchange went well. */
async function keptAlive(server: Served): Promise<{ client: Witness; received: number }> {
  const client = witness(server.port);
  client.send(REQUEST);
  const bytes = await client.until((all) => readAnswer(all)?.complete === true);
  await server.results(1);
  return { client, received: bytes.length };
}

function expectEarly(ledger: Ledger, teardown: Teardown, position: string, requestBytes: number): void {
  expect(ledger).toMatchObject({
    request: null,
    requestBytes,
    outcome: OUTCOMES[teardown],
    cut: { position, offset: 0, inside: 'before the answer' },
    bytes: { written: 0, flushed: 0 },
    events: {},
    terminal: null,
    teardown: { kind: teardown },
  });
}

async function expectHealthy(server: Served): Promise<void> {
  const { bytes, end } = await witnessed(server.port, CLOSE);
  expect(end).toBe('fin');
  expect(readAnswer(bytes)).toMatchObject({ status: 200, complete: true });
}

for (const teardown of TEARDOWNS) {
  describe(`${teardown}@accept`, () => {
    const sequence = [`${teardown}@accept`, 'success'] as const;

    it('of a client that sends nothing', async () => {
      const server = await serve({ sequence });
      const client = witness(server.port);
      await server.event(({ type }) => type === 'request');
      if (teardown !== 'stall') expect(await client.ended).toBe(SEEN[teardown].nothingUnread);
      client.close();
      expectEarly(await server.ledger(1), teardown, 'accept', 0);
      expect(client.received.length).toBe(0);
      await expectHealthy(server);
    });

    it('of a client that sends at once', async () => {
      // The pause makes sure that the bytes are there before the end.
      const fault: FaultSpec = { cut: { at: 'accept', teardown, delayMs: 100 } };
      const server = await serve({ sequence: [fault, 'success'] });
      const client = witness(server.port);
      client.send(REQUEST);
      if (teardown === 'stall') await untilUnread(server, client, REQUEST.length);
      else expect(await client.ended).toBe(SEEN[teardown].unread);
      client.close();
      expectEarly(await server.ledger(1), teardown, 'accept', 0);
      expect(client.received.length).toBe(0);
      await expectHealthy(server);
    });

    it('of a connection that was kept alive: at the first byte of the next request', async () => {
      const server = await serve({ sequence: ['success', ...sequence] });
      const { client, received } = await keptAlive(server);
      client.send('P');
      await server.event((event) => event.type === 'request' && event.attempt === 2);
      if (teardown !== 'stall') expect(await client.ended).toBe(SEEN[teardown].nothingUnread);
      client.close();
      expectEarly(await server.ledger(2), teardown, 'accept', 1);
      expect(client.received.length).toBe(received);
      await expectHealthy(server);
    });
  });

  describe(`${teardown}@request:7`, () => {
    const sequence = [`${teardown}@request:7`, 'success'] as const;

    it('of a client that sends all of its request at once: exactly seven bytes are read', async () => {
      const server = await serve({ sequence });
      const client = witness(server.port);
      client.send(REQUEST);
      if (teardown === 'stall') await untilUnread(server, client, REQUEST.length - 7);
      else expect(await client.ended).toBe(SEEN[teardown].unread);
      client.close();
      expectEarly(await server.ledger(1), teardown, 'request:7', 7);
      expect(client.received.length).toBe(0);
      await expectHealthy(server);
    });

    it('of a client that sends byte by byte, and no more than seven', async () => {
      const server = await serve({ sequence });
      const client = witness(server.port);
      for (const byte of REQUEST.slice(0, 7)) {
        client.send(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (teardown === 'stall') await untilUnread(server, client, 0);
      else expect(await client.ended).toBe(SEEN[teardown].nothingUnread);
      // Stalled, it may not have been read yet; but it will be, since the client can't take it back.
      client.close();
      expectEarly(await server.ledger(1), teardown, 'request:7', 7);
      await expectHealthy(server);
    });

    it('of a connection that was kept alive: what came first was read by then, and no byte beyond the seventh', async () => {
      const server = await serve({ sequence: ['success', ...sequence] });
      const { client, received } = await keptAlive(server);
      client.send(REQUEST.slice(0, 3));
      await server.event((event) => event.type === 'request' && event.attempt === 2);
      client.send(REQUEST.slice(3));
      if (teardown === 'stall') await untilUnread(server, client, REQUEST.length - 7);
      else expect(await client.ended).toBe(SEEN[teardown].unread);
      client.close();
      expectEarly(await server.ledger(2), teardown, 'request:7', 7);
      expect(client.received.length).toBe(received);
      await expectHealthy(server);
    });
  });
}

it('of a kept-alive connection whose next request comes in one piece the ledger says what was read', async () => {
  const server = await serve({ sequence: ['success', 'rst@request:7'] });
  const { client } = await keptAlive(server);
  client.send(REQUEST);
  expect(await client.ended).toBe('rst');
  expectEarly(await server.ledger(2), 'rst', 'request:7', REQUEST.length);
});

it('a request that was read ahead of its turn is answered in its turn, without a byte', async () => {
  const server = await serve({ sequence: ['slow_success', 'rst@request:7', 'success'], chunkDelayMs: 5 });
  const { bytes } = await witnessed(server.port, REQUEST.repeat(3));
  expect(readAnswer(bytes)).toMatchObject({ status: 200, complete: true, rest: Buffer.alloc(0) });
  expect(await server.ledger(2)).toMatchObject({ request: { path: PATH }, requestBytes: 0, outcome: 'reset' });
  expect(server.requests).toHaveLength(2);
});

it('blank lines between requests begin none', async () => {
  const server = await serve({ sequence: ['success', 'rst@accept', 'rate_limit'] });
  const { client, received } = await keptAlive(server);
  client.send('\r\n\r\n');
  // It is another connection that meets the fault.
  expect(await witness(server.port).ended).toBe('rst');
  client.send(REQUEST);
  const bytes = await client.until((all) => readAnswer(all.subarray(received))?.complete === true);
  expect(readAnswer(bytes.subarray(received))?.status).toBe(429);
  client.close();
});

describe('a client that is left unread and goes', () => {
  const STALLS = ['stall@accept', 'stall@request:7', 'half_close@accept', 'half_close@request:7'] as const;
  for (const word of STALLS) {
    for (const [how, first] of [
      ['close', 'client_fin'],
      ['reset', 'client_rst'],
    ] as const) {
      it(`${word}, by a ${how}: it is seen, and the server is idle`, async () => {
        const server = await serve({ sequence: [word] });
        const client = witness(server.port, '127.0.0.1', { staysOpen: true });
        client.send(REQUEST);
        await server.event(({ type }) => type === 'request');
        const read = word.endsWith('accept') ? 0 : 7;
        await untilUnread(server, client, REQUEST.length - read);
        client[how]();
        await server.idle();
        const [result] = await server.results(1);
        const halfClosed = word.startsWith('half_close');
        if (!halfClosed) expect(result?.outcome).toBe('stalled');
        // Half-closed, a client that goes properly is the scripted end.
        else expect(result?.outcome).toBe(how === 'close' ? 'closed' : 'client_closed');
        expect(await server.ledger(1)).toMatchObject({
          requestBytes: read,
          teardown: { first: halfClosed ? 'server' : first },
        });
      });
    }
  }

  it('on a connection that was kept alive', async () => {
    const server = await serve({ sequence: ['success', 'stall@request:7'] });
    const { client } = await keptAlive(server);
    client.send(REQUEST.slice(0, 7));
    await server.event((event) => event.type === 'request' && event.attempt === 2);
    client.close();
    await server.idle();
    expect(await server.ledger(2)).toMatchObject({ outcome: 'stalled', teardown: { first: 'client_fin' } });
  });

  it('twenty of them at once', async () => {
    const server = await serve({ sequence: ['stall@accept'], repeatLast: true });
    const clients = Array.from({ length: 20 }, () => witness(server.port));
    for (const client of clients) client.send(REQUEST);
    await server.event(() => server.requests.length === clients.length);
    await Promise.all(clients.map(({ connected }) => connected));
    for (const [n, client] of clients.entries()) client[n % 2 === 0 ? 'close' : 'reset']();
    await server.idle();
    expect(server.requests.map(({ outcome }) => outcome)).toEqual(clients.map(() => 'stalled'));
  });
});

const BIG = post(PATH, '', { 'Content-Length': '1000000' });

describe('an answer that comes before the body is read', () => {
  const early: FaultSpec = { request: { read: 'head' } };

  it('is whole, and what the client sends after it does it no harm', async () => {
    const server = await serve({ sequence: [early] });
    const client = witness(server.port);
    client.send(BIG);
    await client.until((bytes) => readAnswer(bytes)?.complete === true);
    client.send('x'.repeat(1_000_000));
    expect(await client.ended).toBe('fin');
    expect(readAnswer(client.received)).toMatchObject({ status: 200, complete: true, rest: Buffer.alloc(0) });
    expect(await server.ledger(1)).toMatchObject({
      outcome: 'completed',
      request: { bodyBytes: null },
      teardown: { kind: 'keep_alive' },
    });
  });

  it('is held at a gate with not a byte of the body read, also on a connection that was kept alive', async () => {
    const held: FaultSpec = { ...early, pace: { gates: [{ at: 'byte:0', name: 'gate' }] } };
    const server = await serve({ sequence: ['success', held] });
    const { client, received } = await keptAlive(server);
    client.send(BIG);
    await server.waitingAt('gate');
    client.send('x'.repeat(100_000));
    await untilUnread(server, client, 100_000);
    server.release('gate');
    expect(await client.ended).toBe('fin');
    expect(readAnswer(client.received.subarray(received))).toMatchObject({ status: 200, complete: true });
  });
});

describe('an answer to an unread request that waits for its turn', () => {
  /** The first answer has begun, and the second request's head was read. */
  async function queued(): Promise<{ server: Served; client: Witness }> {
    const server = await serve({
      sequence: ['slow_success', 'early_response'],
      chunkDelayMs: 50,
      successText: 'x'.repeat(80),
      disconnectDelayMs: 100,
    });
    const client = witness(server.port);
    client.send(REQUEST);
    await client.until((bytes) => bytes.includes('\r\n\r\n'));
    client.send(BIG);
    await server.event((event) => event.type === 'request' && event.attempt === 2);
    return { server, client };
  }

  it('comes behind the answer before it', async () => {
    const { client } = await queued();
    await client.ended;
    const first = readAnswer(client.received);
    expect(first).toMatchObject({ status: 200, complete: true });
    expect(first && readAnswer(first.rest)).toMatchObject({ status: 413, complete: true });
  });

  for (const how of ['close', 'reset'] as const) {
    it(`ends with its client, by a ${how}`, async () => {
      const { server, client } = await queued();
      client[how]();
      await server.idle();
      expect(server.requests.map(({ outcome }) => outcome)).toEqual(['client_closed', 'client_closed']);
    });
  }

  it('ends with its server', async () => {
    const { server } = await queued();
    await server.close();
    expect(server.requests.map(({ outcome }) => outcome)).toEqual(['server_closed', 'server_closed']);
    expect(server.ledgers).toHaveLength(2);
  });
});

describe('a position that the request never reaches', () => {
  it('is where the client stops', async () => {
    const server = await serve({ sequence: ['rst@request:5000'] });
    const client = witness(server.port);
    client.send(REQUEST);
    client.halfClose();
    expect(await client.ended).toBe('rst');
    expectEarly(await server.ledger(1), 'rst', 'request:5000', REQUEST.length);
  });

  it('is where the time for a request is over', async () => {
    const server = await serve({ sequence: ['rst@request:5000'], requestTimeoutMs: 100 });
    const { bytes, end } = await witnessed(server.port, REQUEST);
    expect({ bytes: bytes.length, end }).toEqual({ bytes: 0, end: 'rst' });
    expectEarly(await server.ledger(1), 'rst', 'request:5000', REQUEST.length);
  });

  it('is waited for no longer than the server is there', async () => {
    const server = await serve({ sequence: ['success', 'rst@request:5000'] });
    const { client } = await keptAlive(server);
    client.send('POST');
    await server.event((event) => event.type === 'request' && event.attempt === 2);
    await server.close();
    expect(await client.ended).not.toBe('closed_by_witness');
    expect(await server.ledger(2)).toMatchObject({ outcome: 'server_closed', requestBytes: 4, request: null });
  });
});

describe('a 100 that is withheld', () => {
  const withheld: FaultSpec = { request: { continue: 'withhold' } };
  const [head = '', body = ''] = post(PATH, { stream: true }, { Expect: '100-continue' }).split(/(?<=\r\n\r\n)/);

  it('never comes; the answer does, to a client that sends its body all the same', async () => {
    const server = await serve({ sequence: [withheld, 'rate_limit'] });
    const client = witness(server.port);
    client.send(head);
    await client.connected;
    // Another exchange comes and goes meanwhile.
    await expect
      .poll(async () => (await witnessed(server.port, 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n')).end)
      .toBe('fin');
    expect(client.received.length).toBe(0);
    client.send(body);
    const bytes = await client.until((all) => readAnswer(all)?.complete === true);
    expect(readAnswer(bytes)).toMatchObject({ status: 200, rest: Buffer.alloc(0) });
    expect(await server.ledger(1)).toMatchObject({ outcome: 'completed', request: { bodyBytes: body.length } });
    client.close();
  });

  it('is withheld from one request only', async () => {
    const server = await serve({ sequence: [withheld, 'rate_limit'] });
    const client = witness(server.port);
    client.send(head + body + head);
    const bytes = await client.until((all) => all.includes('HTTP/1.1 100 '));
    const first = readAnswer(bytes);
    expect(first).toMatchObject({ status: 200, complete: true });
    expect(first && readAnswer(first.rest)).toMatchObject({ status: 100 });
    client.send(body);
    await client.until((all) => all.includes('HTTP/1.1 429 '));
    client.close();
  });

  it('does not stop the clock: a client that waits for it for ever gets a 408', async () => {
    const server = await serve({ sequence: [withheld], requestTimeoutMs: 50 });
    const { bytes, end } = await witnessed(server.port, head);
    expect(end).toBe('fin');
    expect(readAnswer(bytes)).toMatchObject({ status: 408, complete: true });
  });

  it('means nothing to a client that does not wait for it', async () => {
    const server = await serve({ sequence: [withheld] });
    const { bytes, end } = await witnessed(server.port, CLOSE);
    expect(end).toBe('fin');
    expect(readAnswer(bytes)).toMatchObject({ status: 200, complete: true });
  });
});
