import os from 'node:os';
import { describe, expect, it } from 'vitest';
import { type Asking, control, controlJson, controlText } from '../support/control.js';
import { readAnswer } from '../support/http.js';
import { type Served, serve } from '../support/server.js';
import { post, witnessed } from '../support/witness.js';

/** Who must not drive the server, and what must not break it: at real sockets, and without any effect. */
const TOKEN = 's3cret-token';
const BODY = { fault: 'rate_limit', once: true };

/** That nothing came of what was sent: no rule, no reset, no gate, no refusal, and answers are as ever. */
async function untouched(server: Served): Promise<void> {
  expect(server.rules).toEqual([]);
  expect(server.spentRules).toEqual([]);
  expect(server.events.filter(({ type }) => type === 'unavailable')).toEqual([]);
  const { bytes } = await witnessed(server.port, post('/v1/chat/completions', {}, { Connection: 'close' }));
  expect(readAnswer(bytes)).toMatchObject({ status: 200, complete: true });
  const ledger = await server.ledger(1);
  expect([ledger.generation, ledger.attempt]).toEqual([1, 1]);
}

/** Every request that does something. */
const DOING: readonly (readonly [string, unknown?])[] = [
  ['POST /__control', BODY],
  ['GET /__control'],
  ['DELETE /__control'],
  ['POST /__reset'],
  ['POST /__gate/go', { count: 'all' }],
  ['POST /__refuse', { ms: 60_000 }],
  ['GET /__journal'],
  ['GET /__journal?follow=1'],
  ['GET /__journal/1/request'],
  ['GET /__metrics'],
];

async function allDenied(server: Served, status: number, asking: Asking): Promise<void> {
  for (const [line, body] of DOING) {
    const answer = await controlJson<{ error: { code: string; message: string } }>(server.port, line, {
      ...asking,
      ...(body ? { body } : {}),
    });
    expect([line, answer.status, answer.json.error.code]).toEqual([line, status, 'control_denied']);
    expect(answer.json.error.message).not.toContain(TOKEN);
  }
}

describe('a web page', () => {
  const pages: readonly (readonly [string, (port: number) => NonNullable<Asking['headers']>])[] = [
    ['of elsewhere (Origin)', () => ({ Origin: 'https://evil.com' })],
    ['of a file or a sandbox (Origin null)', () => ({ Origin: 'null' })],
    ['of another port of this machine', (port) => ({ Origin: `http://127.0.0.1:${port + 1}` })],
    ['of the same machine by its other name', (port) => ({ Origin: `http://localhost:${port}` })],
    ['whose name was made to point here (DNS rebinding)', (port) => ({ Host: `evil.com:${port}` })],
    ['rebound, with its Origin', (port) => ({ Host: `evil.com:${port}`, Origin: `http://evil.com:${port}` })],
    ['rebound to a name that begins well', () => ({ Host: '127.0.0.1.evil.com' })],
    ['that fetches without a body (Sec-Fetch-Site)', () => ({ 'Sec-Fetch-Site': 'cross-site' })],
    ['of the same site', () => ({ 'Sec-Fetch-Site': 'same-site' })],
  ];
  for (const [what, headers] of pages) {
    it(`${what} gets a 403, and nothing comes of it`, async () => {
      const server = await serve();
      await allDenied(server, 403, { headers: headers(server.port) });
      await untouched(server);
    });
  }

  it('that asks first (CORS preflight) is told nothing that would let it go on', async () => {
    const server = await serve();
    const headers = { Origin: 'https://evil.com', 'Access-Control-Request-Method': 'POST' };
    const answer = await control(server.port, 'OPTIONS /__control', { headers });
    expect(answer.status).toBe(403);
    expect(answer.headers.filter(([name]) => name.startsWith('access-control'))).toEqual([]);
    await untouched(server);
  });

  it('that puts the whole URL into the request line comes no further', async () => {
    const server = await serve();
    const line = `POST http://127.0.0.1:${server.port}/__control`;
    expect((await control(server.port, line, { headers: { Host: 'evil.com' }, body: BODY })).status).toBe(404);
    await untouched(server);
  });
});

describe('a server on more than loopback', () => {
  it('has no control plane without a token, for a client of this machine neither', async () => {
    const server = await serve({ host: '0.0.0.0' });
    await allDenied(server, 403, {});
    await allDenied(server, 403, { headers: { 'X-Wirefault-Token': TOKEN } });
    await untouched(server);
  });

  it('has none on a port of its own either', async () => {
    const server = await serve({ host: '0.0.0.0', controlPort: 0 });
    const port = Number(new URL(server.controlURL ?? '').port);
    expect((await control(port, 'POST /__control', { body: BODY })).status).toBe(403);
    await untouched(server);
  });

  it('takes a client that has the token, whatever it calls the server', async () => {
    const server = await serve({ host: '0.0.0.0', controlToken: TOKEN });
    const elsewhere = Object.values(os.networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
    for (const host of ['127.0.0.1', ...(elsewhere ? [elsewhere] : [])]) {
      for (const headers of [
        { 'X-Wirefault-Token': TOKEN },
        { Authorization: `Bearer ${TOKEN}`, Host: 'wirefault.example.org' },
      ]) {
        const answer = await control(server.port, 'POST /__control', { host, headers, body: { ...BODY, label: host } });
        expect([host, answer.status]).toEqual([host, 201]);
      }
    }
    server.clearRules();
    await untouched(server);
  });

  it('refuses everybody without it, or with another', async () => {
    const server = await serve({ host: '0.0.0.0', controlToken: TOKEN });
    const wrong = [
      {},
      { 'X-Wirefault-Token': 'wrong' },
      { Authorization: `Basic ${TOKEN}` },
      { 'X-Wirefault-Token': `${TOKEN} ` },
    ];
    for (const headers of wrong.slice(0, 3)) await allDenied(server, 401, { headers });
    // HTTP takes the space away (RFC 9110, section 5.5).
    expect((await control(server.port, 'GET /__control', { headers: wrong[3] ?? {} })).status).toBe(200);
    await untouched(server);
  });

  it('keeps its token to itself: in refusals, events, journal and captured bytes', async () => {
    const server = await serve({ controlToken: TOKEN });
    const headers = { 'X-Wirefault-Token': TOKEN };
    // A client that sends it with everything, for want of a better way.
    await witnessed(server.port, post('/v1/responses', {}, { Connection: 'close', ...headers }));
    const ledger = await server.ledger(1);
    const journal = (await control(server.port, 'GET /__journal', { headers })).body.toString();
    const raw = (await control(server.port, 'GET /__journal/1/request', { headers })).body.toString();
    expect(raw).toContain('X-Wirefault-Token: [redacted]');
    for (const text of [JSON.stringify(ledger), journal, raw, JSON.stringify(server.events)])
      expect(text).not.toContain(TOKEN);
  });
});

describe('control requests that are wrong', () => {
  const wrong: readonly (readonly [string, string, unknown, number])[] = [
    ['not JSON', 'POST /__control', 'fault=F2&once=true', 400],
    ['cut JSON', 'POST /__control', '{"fault":"F2"', 400],
    ['JSON that is no object', 'POST /__control', '["F2"]', 400],
    ['an unknown key', 'POST /__control', { ...BODY, onec: true }, 400],
    ['an unknown fault', 'POST /__control', { fault: 'F22' }, 400],
    ['too large', 'POST /__control', { ...BODY, label: 'x'.repeat(70_000) }, 413],
    ['too large, and no JSON', 'POST /__refuse', 'x'.repeat(1_000_000), 413],
    ['deeply nested', 'POST /__control', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, 400],
    ['wrong method', 'PUT /__control', BODY, 405],
    ['wrong method', 'GET /__reset', undefined, 405],
    ['unknown path', 'POST /__cotnrol', BODY, 404],
    ['no number', 'DELETE /__control/all', undefined, 404],
    ['endless refusal', 'POST /__refuse', { ms: 1e12 }, 400],
    ['a regular expression that is none', 'POST /__control', { ...BODY, match: '/(/' }, 400],
  ];
  for (const [what, line, body, status] of wrong) {
    it(`${what}: ${line} is a ${status} with a reason, and nothing comes of it`, async () => {
      const server = await serve();
      const answer = await controlJson<{ error: { message: string } }>(server.port, line, { body });
      expect(answer.status).toBe(status);
      expect(answer.json.error.message.length).toBeGreaterThan(10);
      await untouched(server);
    });
  }

  it('a body that is larger than any request may be is not read', async () => {
    const server = await serve({ maxBodyBytes: 100_000 });
    const { bytes } = await witnessed(
      server.port,
      controlText(server.port, 'POST /__control', { headers: { 'Content-Length': '100001' } }),
    );
    expect(readAnswer(bytes)?.status).toBe(413);
    await untouched(server);
  });

  it('a body in chunks is a body like any other', async () => {
    const server = await serve();
    const json = JSON.stringify(BODY);
    const head = controlText(server.port, 'POST /__control', {
      headers: { 'Transfer-Encoding': 'chunked', Connection: 'close' },
    });
    const chunks = [...json].map((byte) => `1\r\n${byte}\r\n`).join('');
    const { bytes } = await witnessed(server.port, `${head}${chunks}0\r\n\r\n`);
    expect(readAnswer(bytes)?.status).toBe(201);
    expect(server.rules).toHaveLength(1);
  });
});
