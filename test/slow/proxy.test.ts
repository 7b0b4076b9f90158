import { createHash } from 'node:crypto';
import http from 'node:http';
import net, { type Socket } from 'node:net';
import { Client } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FaultSpec } from '../../src/fault/spec.js';
import { type ScriptWord, startFaultProxy } from '../../src/index.js';
import { listening, proxied, rawUpstream } from '../proxy/support/upstream.js';
import { usedBytes } from '../support/heap.js';
import { post, witness } from '../support/witness.js';

const ASK = post('/v1/chat/completions', { stream: true });
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';

function chunkOf(text: string): Buffer {
  return Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n`);
}

/** Writes `count` times, as fast as the socket takes it; counts in `state` how far it has come. */
function pour(socket: Socket, chunk: Buffer, count: number, state = { written: 0 }): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    const more = (): void => {
      for (; left > 0 && !socket.destroyed; left--) {
        state.written += chunk.length;
        if (socket.write(chunk)) continue;
        left--;
        return;
      }
      resolve();
    };
    socket.on('drain', more);
    socket.once('close', () => resolve());
    more();
  });
}

describe('answers of any length', () => {
  const EVENT = chunkOf(`data: {"choices":[{"delta":{"content":"${'x'.repeat(32_000)}"}}]}\n\n`);
  const COUNT = Math.ceil(1_073_741_824 / EVENT.length);

  it.each<[string, ScriptWord | FaultSpec]>([
    ['as they come', 'success'],
    ['with each event looked at', 'rst@terminator'],
    ['with each event written anew', { sse: { eol: 'crlf' } }],
  ])('1 GB passes in flat memory, %s', async (_, word) => {
    const upstream = await rawUpstream(async (socket) => {
      socket.write(HEAD);
      await pour(socket, EVENT, COUNT);
      socket.write(Buffer.concat([chunkOf('data: [DONE]\n\n'), Buffer.from('0\r\n\r\n')]));
    });
    const proxy = await proxied({ upstream: upstream.url, sequence: [word], settleTimeoutMs: 10_000 });
    const socket = net.connect({ port: proxy.port, host: '127.0.0.1' });
    const hash = createHash('sha256');
    let received = 0;
    let mostBytes = 0;
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      received += bytes.length;
      hash.update(bytes);
      const { rss } = process.memoryUsage();
      mostBytes = Math.max(mostBytes, rss);
      if (bytes.subarray(-5).toString() === '0\r\n\r\n') socket.destroy();
    });
    const before = process.memoryUsage().rss;
    socket.write(ASK);
    await new Promise((resolve) => socket.once('close', resolve));
    expect(received).toBeGreaterThan(1_073_741_824);
    expect((mostBytes - before) / 1_048_576).toBeLessThan(300);
    const ledger = await proxy.ledger(1);
    expect(ledger.bytes.written).toBe(received);
    expect(ledger.plan.writtenSha256).toBe(hash.digest('hex'));
    const counted = ledger.events.content?.planned ?? 0;
    expect(counted + (ledger.upstream?.unmarkedEvents ?? 0)).toBeGreaterThanOrEqual(COUNT);
  });
});

describe('a client that does not read', () => {
  it('holds the upstream back', async () => {
    const state = { written: 0 };
    const chunk = chunkOf(`data: ${'x'.repeat(60_000)}\n\n`);
    const upstream = await rawUpstream((socket) => {
      socket.write(HEAD);
      void pour(socket, chunk, 5000, state);
    });
    const proxy = await proxied({ upstream: upstream.url });
    const client = witness(proxy.port);
    client.pause();
    client.send(ASK);
    let last = -1;
    while (state.written !== last || last === 0) {
      last = state.written;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    // What fits into the kernel's buffers of two connections, and what is read ahead.
    expect(state.written).toBeLessThan(40_000_000);
    client.resume();
    const more = state.written + 1_000_000;
    await client.until((bytes) => bytes.length > more);
    client.close();
  });
});

describe('streams at once', () => {
  it('1,000 of them, each event at its time, half of them cut', async () => {
    const event = chunkOf('data: {"choices":[{"delta":{"content":"hello"}}]}\n\n');
    const upstream = await rawUpstream((socket) => {
      socket.write(HEAD);
      let n = 0;
      const timer = setInterval(() => {
        n++;
        if (n <= 20) socket.write(event);
        else {
          clearInterval(timer);
          socket.write(Buffer.concat([chunkOf('data: [DONE]\n\n'), Buffer.from('0\r\n\r\n')]));
        }
      }, 20);
      socket.on('close', () => clearInterval(timer));
    });
    const sequence = Array.from({ length: 1000 }, (_, n) => (n % 2 ? ('rst@event:10' as const) : ('success' as const)));
    const proxy = await proxied({ upstream: upstream.url, sequence });
    const clients = sequence.map(() => {
      const client = witness(proxy.port);
      client.send(ASK);
      return client;
    });
    await Promise.all(
      clients.map(async (client) => {
        await Promise.race([
          client.ended,
          client.until((bytes) => bytes.subarray(-5).toString() === '0\r\n\r\n').catch(() => {}),
        ]);
      }),
    );
    await proxy.idle();
    const outcomes = proxy.ledgers.map(({ outcome }) => outcome).toSorted();
    expect([outcomes.length, new Set(outcomes)]).toEqual([1000, new Set(['completed', 'reset'])]);
    expect(outcomes.filter((outcome) => outcome === 'reset')).toHaveLength(500);
    for (const { outcome, events } of proxy.ledgers) {
      if (outcome === 'reset') expect(events.content?.read).toBe(10);
    }
  });
});

describe('many answers, one after the other', () => {
  const EVENT = 'data: {"choices":[{"delta":{"content":"hello"}}]}\n\n';

  it.each<[string, readonly (ScriptWord | FaultSpec)[]]>([
    ['as they come', ['success']],
    ['with places looked for', [{ pace: { pauses: [{ at: 'event:2', ms: 0 }] } }]],
    ['written anew', [{ sse: { eol: 'crlf' } }]],
    ['kept whole', [{ framing: { kind: 'content_length' } }]],
    ['cut', ['rst@event:2']],
  ])('8,000 of them leave nothing behind, %s', async (_, sequence) => {
    const upstream = http.createServer((request, response) => {
      request.resume();
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(EVENT.repeat(3));
      response.end('data: [DONE]\n\n');
    });
    const port = await listening(upstream);
    onTestFinished(() => {
      upstream.closeAllConnections();
      upstream.close();
    });
    const proxy = await startFaultProxy({
      upstream: `http://127.0.0.1:${port}`,
      sequence,
      repeatLast: true,
      requestHistory: 0,
      ledgerHistory: 10,
      control: false,
    });
    onTestFinished(() => proxy.close());
    const clients = Array.from({ length: 8 }, () => new Client(proxy.baseURL));
    onTestFinished(async () => {
      await Promise.all(clients.map((client) => client.destroy()));
    });
    const ask = async (client: Client): Promise<void> => {
      const asked = client.request({ path: '/v1/chat/completions', method: 'POST', body: '{"stream":true}' });
      // A cut may come before the client has the head.
      await asked.then(({ body }) => body.dump()).catch(() => {});
    };
    const answers = async (count: number): Promise<number> => {
      await Promise.all(
        clients.map(async (client) => {
          for (let n = 0; n < count / clients.length; n++) await ask(client);
        }),
      );
      await proxy.idle();
      return usedBytes();
    };
    const before = await answers(2000);
    const growth = (await answers(8000)) - before;
    // 100 bytes for each.
    expect(growth).toBeLessThan(800_000);
    expect(proxy.droppedRequests).toBeGreaterThanOrEqual(10_000);
  });
});
