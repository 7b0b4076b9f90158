import { execFileSync, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LLMock } from '@copilotkit/aimock';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAnswer } from '../support/http.js';
import { post, witness, witnessed } from '../support/witness.js';
import { chunkedAnswer, listening, PATH_OF, proxied, rawUpstream, recordings } from './support/upstream.js';

const ALL = recordings();
const hasRecordings = ALL.length > 0;
const CLOSING = { Connection: 'close' };

describe('recorded streams', () => {
  it.skipIf(!hasRecordings)('come out byte for byte, with the framing that they had', async () => {
    let body: Buffer = Buffer.alloc(0);
    let cut = 0;
    const upstream = await rawUpstream((socket) => {
      const answer = chunkedAnswer(body, 700);
      socket.write(answer.subarray(0, cut));
      setImmediate(() => socket.write(answer.subarray(cut)));
    });
    const proxy = await proxied({ upstream: upstream.url });
    const client = witness(proxy.port);
    let before = 0;
    for (const [n, recording] of ALL.entries()) {
      body = recording.body;
      const wanted = chunkedAnswer(body, 700);
      cut = (n * 131) % wanted.length;
      client.send(post(PATH_OF[recording.protocol], { stream: true }));
      const received = await client.until((bytes) => bytes.length >= before + wanted.length);
      expect(received.subarray(before).equals(wanted), recording.name).toBe(true);
      before += wanted.length;
      const ledger = await proxy.ledger(n + 1);
      expect(ledger).toMatchObject({
        outcome: 'completed',
        bytes: { written: wanted.length },
        upstream: { bytes: wanted.length, status: 200, end: 'kept', rewritten: false, buffered: null, reused: n > 0 },
      });
      expect(ledger.upstream?.sha256).toBe(ledger.plan.writtenSha256);
      expect(Object.values(ledger.events).reduce((sum, { planned }) => sum + planned, 0)).toBe(
        body
          .toString('utf8')
          .split('\n\n')
          .filter((text) => text.trim() !== '').length,
      );
    }
    // One connection was enough.
    expect(upstream.connections).toHaveLength(1);
  });
});

describe('other upstreams', () => {
  const nginx = ((): string | undefined => {
    try {
      execFileSync('nginx', ['-v'], { stdio: 'ignore' });
      return 'nginx';
    } catch {
      return undefined;
    }
  })();

  it('nginx in front of a recorded stream', async (ctx) => {
    const [recording] = ALL;
    if (!nginx || !recording) return ctx.skip('no nginx here, or no recordings');
    const dir = mkdtempSync(join(tmpdir(), 'wirefault-nginx-'));
    const port = await freePort();
    writeFileSync(join(dir, 'stream.sse'), recording.body);
    writeFileSync(
      join(dir, 'nginx.conf'),
      `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/error.log;
       events {} http { access_log off; client_body_temp_path ${dir}/a; proxy_temp_path ${dir}/b; fastcgi_temp_path ${dir}/c;
       uwsgi_temp_path ${dir}/d; scgi_temp_path ${dir}/e; types { text/event-stream sse; }
       server { listen 127.0.0.1:${port}; root ${dir}; location / { error_page 405 =200 /stream.sse; try_files /stream.sse =404; } } }`,
    );
    const server = spawn(nginx, ['-c', join(dir, 'nginx.conf'), '-p', dir], { stdio: 'ignore' });
    onTestFinished(async () => {
      server.kill();
      await once(server, 'exit');
      rmSync(dir, { recursive: true });
    });
    await accepting(port);
    const proxy = await proxied({ upstream: `http://127.0.0.1:${port}`, sequence: ['success', 'rst@event:2'] });
    const request = post(PATH_OF[recording.protocol], { stream: true }, CLOSING);
    const direct = await witnessed(port, request);
    const through = await witnessed(proxy.port, request);
    expect(readAnswer(through.bytes)?.body.equals(recording.body)).toBe(true);
    expect(withoutDate(through.bytes)).toBe(withoutDate(direct.bytes));
    const broken = await witnessed(proxy.port, request);
    expect(broken.end).toBe('rst');
    const events = recording.body
      .toString('latin1')
      .split('\n\n')
      .slice(0, 2)
      .map((text) => `${text}\n\n`);
    expect(broken.bytes.toString('latin1').endsWith(events.join(''))).toBe(true);
  });

  it('node:http, which is answered chunk by chunk', async () => {
    const server = http.createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
      setImmediate(() => response.end('data: [DONE]\n\n'));
    });
    const port = await listening(server);
    onTestFinished(() => void server.close());
    const proxy = await proxied({ upstream: `http://127.0.0.1:${port}` });
    const { bytes } = await witnessed(proxy.port, post('/v1/chat/completions', {}, CLOSING));
    const answer = readAnswer(bytes);
    expect(answer).toMatchObject({ status: 200, complete: true, chunks: [47, 14] });
    expect(await proxy.ledger(1)).toMatchObject({ events: { content: { flushed: 1 }, '[DONE]': { flushed: 1 } } });
  });

  it('a Python server', async (ctx) => {
    const script = `
import http.server
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.0'
    def do_POST(self):
        self.rfile.read(int(self.headers['content-length']))
        self.send_response(200); self.send_header('content-type', 'text/event-stream'); self.end_headers()
        for n in range(3): self.wfile.write(b'data: {"choices":[{"delta":{"content":"x"}}]}\\n\\n'); self.wfile.flush()
        self.wfile.write(b'data: [DONE]\\n\\n')
    def log_message(self, *a): pass
s = http.server.HTTPServer(('127.0.0.1', 0), H); print(s.server_port, flush=True); s.serve_forever()`;
    const server = spawn('python3', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void server.kill());
    const started = await Promise.race([once(server.stdout, 'data'), once(server, 'error'), once(server, 'exit')]);
    const port = Number(String(started[0]));
    if (!port) return ctx.skip('no python3 here');
    const proxy = await proxied({ upstream: `http://127.0.0.1:${port}`, sequence: ['success', 'fin@event:2'] });
    const request = post('/v1/chat/completions', {});
    const whole = await witnessed(proxy.port, request);
    expect(whole.end).toBe('fin');
    expect(whole.bytes.toString('latin1').split('data: ')).toHaveLength(5);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'completed', upstream: { status: 200 } });
    const cut = await witnessed(proxy.port, request);
    expect([cut.end, cut.bytes.toString('latin1').split('data: ').length]).toEqual(['fin', 3]);
  });

  it('aimock', async () => {
    const mock = new LLMock();
    mock.on({ userMessage: /.*/ }, { content: 'one two three four five six seven eight' });
    await mock.start();
    onTestFinished(() => mock.stop());
    const proxy = await proxied({ upstream: mock.url, sequence: ['success', 'rst@terminator', 'malformed_json'] });
    const body = { model: 'gpt-4', stream: true, messages: [{ role: 'user', content: 'hi' }] };
    const request = post('/v1/chat/completions', body, {
      ...CLOSING,
      'Content-Type': 'application/json',
      Authorization: 'Bearer x',
    });
    const whole = await witnessed(proxy.port, request);
    expect(whole.bytes.toString()).toContain('data: [DONE]');
    const cut = await witnessed(proxy.port, request);
    expect(cut.end).toBe('rst');
    expect(cut.bytes.toString()).not.toContain('[DONE]');
    expect((await proxy.ledger(2)).terminal).toMatchObject({ name: '[DONE]', delivered: false });
    const malformed = await witnessed(proxy.port, request);
    expect(malformed.bytes.toString()).toContain('data: {not-json');
  });
});

describe('connections', () => {
  const ANSWER = chunkedAnswer(Buffer.from('data: [DONE]\n\n'));

  it('are kept, and made anew where a kept one has ended', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url });
    const client = witness(proxy.port);
    for (let n = 1; n <= 3; n++) {
      client.send(post('/v1/chat/completions', {}));
      await client.until((bytes) => bytes.length === n * ANSWER.length);
      await proxy.ledger(n);
      if (n === 2) for (const socket of upstream.connections) socket.resetAndDestroy();
    }
    expect(proxy.ledgers.map(({ upstream: up }) => up?.reused)).toEqual([false, true, false]);
    expect(upstream.connections).toHaveLength(2);
  });

  it('are not used again behind bytes that nobody asked for', async () => {
    const upstream = await rawUpstream(Buffer.concat([ANSWER, Buffer.from('stray')]));
    const proxy = await proxied({ upstream: upstream.url });
    const client = witness(proxy.port);
    for (let n = 1; n <= 2; n++) {
      client.send(post('/v1/chat/completions', {}));
      const all = await client.until((bytes) => bytes.length >= n * ANSWER.length);
      expect(all.equals(Buffer.concat(Array.from({ length: n }, () => ANSWER)))).toBe(true);
    }
    expect(upstream.connections).toHaveLength(2);
  });

  it('are half-closed where the client half-closes', async () => {
    const upstream = await rawUpstream(() => {}, { onEnd: (socket) => void socket.end(ANSWER) });
    const proxy = await proxied({ upstream: upstream.url });
    const client = witness(proxy.port);
    client.send(post('/v1/chat/completions', {}));
    client.halfClose();
    expect(await client.ended).toBe('fin');
    expect(client.received.equals(ANSWER)).toBe(true);
  });

  it('are dropped where the client goes', async () => {
    const upstream = await rawUpstream((socket) => void socket.write(ANSWER.subarray(0, 60)));
    const proxy = await proxied({ upstream: upstream.url });
    const client = witness(proxy.port);
    client.send(post('/v1/chat/completions', {}));
    await client.until((bytes) => bytes.length === 60);
    const gone = once(upstream.connections[0] as NonNullable<(typeof upstream.connections)[0]>, 'close');
    client.reset();
    await gone;
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'client_closed', upstream: { end: 'dropped', bytes: 60 } });
  });
});

it('a slow upstream: each byte goes on before the next has come', async () => {
  const answer = chunkedAnswer(Buffer.from('data: [DONE]\n\n'));
  const sent = new EventEmitter();
  const upstream = await rawUpstream(async (socket) => {
    for (const byte of answer) {
      const there = once(sent, 'there');
      socket.write(Buffer.from([byte]));
      await there;
    }
  });
  const proxy = await proxied({ upstream: upstream.url });
  const client = witness(proxy.port);
  client.send(post('/v1/chat/completions', {}));
  for (let length = 1; length <= answer.length; length++) {
    await client.until((bytes) => bytes.length === length);
    sent.emit('there');
  }
  expect(client.received.equals(answer)).toBe(true);
  expect(await proxy.ledger(1)).toMatchObject({ outcome: 'completed', bytes: { written: answer.length } });
});

describe('requests beside the script', () => {
  it('go up as well, and use nothing up', async () => {
    const upstream = await rawUpstream(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'));
    const proxy = await proxied({ upstream: upstream.url, sequence: ['rst@byte:5'] });
    const client = witness(proxy.port);
    client.send('GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.until((bytes) => bytes.toString().endsWith('{}'));
    client.send('HEAD /anything HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.until((bytes) => bytes.toString().split('HTTP/1.1').length === 3);
    expect(proxy.ledgers).toHaveLength(0);
    expect(proxy.events.filter(({ type }) => type === 'auxiliary')).toMatchObject([{ status: 200 }, { status: 200 }]);
    expect(upstream.requests.join('')).toContain('GET /v1/models');
  });

  it('a CONNECT and a WebSocket go nowhere', async () => {
    const upstream = await rawUpstream(ANSWER_NEVER);
    const proxy = await proxied({ upstream: upstream.url });
    const upgrade = 'GET /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const client = witness(proxy.port);
    client.send(upgrade);
    await client.until((bytes) => bytes.toString().startsWith('HTTP/1.1 426'));
    const { bytes } = await witnessed(
      proxy.port,
      'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    expect(bytes.toString()).toMatch(/^HTTP\/1\.1 4/);
    expect(upstream.connections).toHaveLength(0);
  });
});

const ANSWER_NEVER = (): void => {};

async function freePort(): Promise<number> {
  const server = http.createServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function accepting(port: number): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    const socket = createConnection(port, '127.0.0.1');
    const open = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`nothing listens on ${port}`);
}

function withoutDate(bytes: Buffer): string {
  return bytes.toString('latin1').replace(/\r\nDate: [^\r]*/i, '');
}
