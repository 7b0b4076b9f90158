import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { startMockLlmServer } from '@deepseek-ai/dsh-llm-mock-server';
import { Agent, Client, fetch } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAnswer } from '../support/http.js';
import { post, witness, witnessed } from '../support/witness.js';
import { listening, proxied } from './support/upstream.js';

/** Servers and clients that wirefault has no part in, on both sides of the proxy. */
const PATH = '/v1/chat/completions';
const eventOf = (content: string): string => `data: {"choices":[{"delta":{"content":"${content}"}}]}\n\n`;
const DONE = 'data: [DONE]\n\n';

interface NodeServer {
  readonly url: string;
  readonly sockets: readonly Socket[];
}

/** An upstream of Node's own http. */
async function nodeServer(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<NodeServer> {
  const sockets: Socket[] = [];
  const server = http.createServer(answer).on('connection', (socket) => sockets.push(socket));
  const url = `http://127.0.0.1:${await listening(server)}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url, sockets };
}

/** A client that keeps one connection, and sends the next request when it has the answer to the last. */
function keptClient(url: string): Client {
  const client = new Client(url, { pipelining: 1, keepAliveTimeout: 60_000 });
  onTestFinished(() => client.destroy());
  return client;
}

/** All that a request of undici's `stream` gets. */
async function streamed(client: Client, body: string): Promise<string> {
  let text = '';
  await client.stream({ path: PATH, method: 'POST', body }, ({ statusCode }) => {
    expect(statusCode).toBe(200);
    return new Writable({
      write: (bytes, _, done) => {
        text += bytes;
        done();
      },
    });
  });
  return text;
}

describe('node:http as the upstream, undici as the client', () => {
  it('an event comes through before the upstream has made the next one', async () => {
    let next: (() => void) | undefined;
    const upstream = await nodeServer(async (request, response) => {
      request.resume();
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      for (let n = 1; n <= 20; n++) {
        const asked = new Promise<void>((resolve) => {
          next = resolve;
        });
        response.write(eventOf(String(n)));
        await asked;
      }
      response.end(DONE);
    });
    const proxy = await proxied({ upstream: upstream.url });
    const dispatcher = new Agent({ pipelining: 1 });
    onTestFinished(() => dispatcher.destroy());
    const response = await fetch(`${proxy.baseURL}${PATH}`, { method: 'POST', body: '{"stream":true}', dispatcher });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const read: string[] = [];
    for await (const bytes of response.body ?? []) {
      read.push(Buffer.from(bytes).toString());
      next?.();
    }
    // Each read is one event: the upstream waited until it was there.
    expect(read).toEqual([...Array.from({ length: 20 }, (_, n) => eventOf(String(n + 1))), DONE]);
    expect(await proxy.ledger(1)).toMatchObject({
      outcome: 'completed',
      events: { content: { planned: 20 }, '[DONE]': { planned: 1 } },
      upstream: { buffered: null, rewritten: false, end: 'kept' },
    });
  });

  it('fifty answers on one connection, down and up', async () => {
    const upstream = await nodeServer(async (request, response) => {
      const body = (await request.toArray()).join('');
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(eventOf(body));
      setImmediate(() => response.end(DONE));
    });
    const proxy = await proxied({ upstream: upstream.url });
    const client = keptClient(proxy.baseURL);
    // All are asked for at once; the client sends one after the other.
    const texts = await Promise.all(Array.from({ length: 50 }, (_, n) => streamed(client, String(n))));
    expect(texts).toEqual(texts.map((_, n) => eventOf(String(n)) + DONE));
    await proxy.idle();
    const places = proxy.ledgers.map(({ connection, upstream: up }) => ({ connection, reused: up?.reused }));
    expect(places).toEqual(places.map((_, n) => ({ connection: 1, reused: n > 0 })));
    expect(upstream.sockets).toHaveLength(1);
  });

  it('a cut fails the client, and its next request gets a connection of its own', async () => {
    const upstream = await nodeServer((request, response) => {
      request.resume();
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.end(eventOf('a') + eventOf('b') + DONE);
    });
    const proxy = await proxied({ upstream: upstream.url, sequence: ['rst@event:1', 'fin@event:2', 'success'] });
    const client = keptClient(proxy.baseURL);
    await expect(streamed(client, '{}')).rejects.toThrow(/ECONNRESET|other side closed|terminated/);
    await expect(streamed(client, '{}')).rejects.toThrow(/other side closed|terminated/);
    expect(await streamed(client, '{}')).toBe(eventOf('a') + eventOf('b') + DONE);
    await proxy.idle();
    expect(proxy.ledgers.map(({ outcome, connection }) => [outcome, connection])).toEqual([
      ['reset', 1],
      ['closed', 2],
      ['completed', 3],
    ]);
  });

  it('a compressed stream stays compressed, and --decode has the upstream not compress it', async () => {
    const upstream = await nodeServer((request, response) => {
      request.resume();
      const zips = /\bgzip\b/.test(String(request.headers['accept-encoding']));
      response.writeHead(200, { 'Content-Type': 'text/event-stream', ...(zips ? { 'Content-Encoding': 'gzip' } : {}) });
      const out = zips ? createGzip() : response;
      if (out !== response) out.pipe(response);
      out.end(eventOf('żółw') + DONE);
    });
    for (const decode of [false, true]) {
      const proxy = await proxied({ upstream: upstream.url, decode });
      const headers = { 'Accept-Encoding': 'gzip' };
      const response = await fetch(`${proxy.baseURL}${PATH}`, { method: 'POST', body: '{"stream":true}', headers });
      expect(response.headers.get('content-encoding')).toBe(decode ? null : 'gzip');
      expect(await response.text()).toBe(eventOf('żółw') + DONE);
      expect(Object.keys((await proxy.ledger(1)).events)).toEqual(decode ? ['content', '[DONE]'] : []);
    }
  });

  it('a client that goes is told to the upstream', async () => {
    let gone: Promise<unknown> | undefined;
    const upstream = await nodeServer((request, response) => {
      request.resume();
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(eventOf('a'));
      gone = once(response, 'close');
    });
    const proxy = await proxied({ upstream: upstream.url });
    const abort = new AbortController();
    const { signal } = abort;
    const response = await fetch(`${proxy.baseURL}${PATH}`, { method: 'POST', body: '{"stream":true}', signal });
    const reader = response.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(eventOf('a'));
    abort.abort();
    expect(gone).toBeDefined();
    await gone;
    // The client's FIN goes up, and the upstream answers it by a RST.
    expect(await proxy.ledger(1)).toMatchObject({
      outcome: 'client_closed',
      teardown: { first: 'client_fin' },
      upstream: { end: 'reset' },
    });
  });
});

/** Answers in chunks, an event each; what follows the first one is sent once `GET /next` was asked. */
const PYTHON = `
import http.server, threading
go = threading.Event()
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def chunk(self, data):
        self.wfile.write(b'%x\\r\\n%b\\r\\n' % (len(data), data)); self.wfile.flush()
    def do_GET(self):
        go.set()
        self.send_response(204); self.end_headers()
    def do_POST(self):
        self.rfile.read(int(self.headers['content-length']))
        self.send_response(200)
        self.send_header('Content-Type', 'text/event-stream'); self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        self.chunk(b'data: {"choices":[{"delta":{"content":"one"}}]}\\n\\n')
        go.wait(); go.clear()
        self.chunk(b'data: {"choices":[{"delta":{"content":"two"}}]}\\n\\n')
        self.chunk(b'data: [DONE]\\n\\n')
        self.chunk(b'')
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H); print(s.server_port, flush=True); s.serve_forever()`;

/** A process of its own, for one test; `undefined` where there is no Python. */
async function pythonServer(): Promise<{ port: number; child: ChildProcess } | undefined> {
  const child = spawn('python3', ['-c', PYTHON], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill());
  const begun = await Promise.race([once(child.stdout, 'data'), once(child, 'error'), once(child, 'exit')]);
  const port = Number(String(begun[0]));
  return port ? { port, child } : undefined;
}

describe('a Python server that streams in chunks', () => {
  it('keeps its connection, and is cut in the middle of an answer', async (ctx) => {
    const server = await pythonServer();
    if (!server) return ctx.skip('no python3 here');
    const upstream = `http://127.0.0.1:${server.port}`;
    const proxy = await proxied({ upstream, sequence: ['success', 'rst@event:1', 'success'] });
    const next = async (): Promise<void> => {
      await witnessed(server.port, 'GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    };
    const whole = eventOf('one') + eventOf('two') + DONE;
    const client = witness(proxy.port);
    client.send(post(PATH, { stream: true }));
    const first = await client.until((bytes) => bytes.includes('one'));
    expect(readAnswer(first)).toMatchObject({ status: 200, chunks: [eventOf('one').length], complete: false });
    await next();
    const all = await client.until((bytes) => bytes.subarray(-5).toString() === '0\r\n\r\n');
    expect(readAnswer(all)?.body.toString()).toBe(whole);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'completed', upstream: { end: 'kept', reused: false } });
    // The answer is cut while the upstream waits.
    const cut = await witnessed(proxy.port, post(PATH, { stream: true }));
    expect([cut.end, readAnswer(cut.bytes)?.body.toString()]).toEqual(['rst', eventOf('one')]);
    expect(await proxy.ledger(2)).toMatchObject({ outcome: 'reset', upstream: { end: 'dropped', reused: true } });
    await next();
    client.send(post(PATH, { stream: true }));
    await client.until((bytes) => bytes.subarray(all.length).includes('one'));
    await next();
    const both = await client.until((bytes) => bytes.length === 2 * all.length);
    expect(readAnswer(both.subarray(all.length))?.body.toString()).toBe(whole);
  });

  it('is killed between two events: what it had sent is there, and no success', async (ctx) => {
    const server = await pythonServer();
    if (!server) return ctx.skip('no python3 here');
    const proxy = await proxied({ upstream: `http://127.0.0.1:${server.port}` });
    const client = witness(proxy.port);
    client.send(post(PATH, { stream: true }));
    await client.until((bytes) => bytes.includes('one'));
    server.child.kill('SIGKILL');
    expect(await client.ended).toBe('fin');
    expect(readAnswer(client.received)).toMatchObject({ body: Buffer.from(eventOf('one')), complete: false });
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'upstream_closed', upstream: { end: 'fin' } });
    // Nobody listens there any more.
    expect((await witnessed(proxy.port, post(PATH, { stream: true }))).end).toBe('rst');
    expect(await proxy.ledger(2)).toMatchObject({ outcome: 'upstream_refused' });
  });
});

describe('a mock server that breaks answers, as the upstream', () => {
  // It says "reset", and sends a FIN: the proxy passes on what was on the wire, and says that.
  it.each([
    ['success', 'completed', true],
    ['connection_reset', 'upstream_closed', false],
    ['partial_disconnect', 'upstream_closed', false],
    ['partial_eof', 'completed', false],
    ['rate_limit', 'completed', false],
  ] as const)('%s: %s', async (behavior, outcome, terminal) => {
    const mock = await startMockLlmServer({ sequence: [behavior] });
    onTestFinished(() => mock.close());
    const proxy = await proxied({ upstream: mock.baseURL.replace(/\/v1$/, '') });
    const body = { model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] };
    const headers = { 'Content-Type': 'application/json', Connection: 'close' };
    const { bytes, end } = await witnessed(proxy.port, post(PATH, body, headers));
    expect(end).toBe('fin');
    const ledger = await proxy.ledger(1);
    expect(ledger).toMatchObject({ outcome, bytes: { written: bytes.length }, upstream: { bytes: bytes.length } });
    expect(bytes.includes('data: [DONE]')).toBe(terminal);
    expect(ledger.terminal?.delivered ?? false).toBe(terminal);
  });
});
