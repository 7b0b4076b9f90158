import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startFaultProxy } from '../../src/index.js';
import { post, witness, witnessed } from '../support/witness.js';
import { certificates, hasOpenssl, secureUpstream } from './support/certificates.js';
import { chunkedAnswer, listening, proxied, rawUpstream } from './support/upstream.js';

const ASK = post('/v1/chat/completions', { stream: true });
const BODY = Buffer.from('data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n');
const ANSWER = chunkedAnswer(BODY, 20);
const HEAD = ANSWER.indexOf('\r\n\r\n') + 4;
/** Behind so many bytes of the body, each of whose chunks of 20 has four bytes before it and two behind. */
const behind = (bytes: number): number => HEAD + bytes + 4 + Math.floor((bytes - 1) / 20) * 6;
const FIRST_EVENT = BODY.indexOf('\n\n') + 2;

/** How the upstream dies once so many bytes of its answer are out, and what the client sees of it. */
const PHASES = [
  ['before any byte', 0],
  ['in the status line', 7],
  ['in the head', HEAD - 6],
  ['behind the head', HEAD],
  ['in a size line', HEAD + 1],
  ['in an event', HEAD + 12],
  ['between two events', behind(FIRST_EVENT)],
  ['in the terminal', behind(BODY.length - 5)],
  ['behind the terminal', behind(BODY.length)],
  ['before the last chunk', ANSWER.length - 5],
  ['before the final CRLF', ANSWER.length - 2],
] as const;

describe('an upstream that dies', () => {
  it.each(PHASES)('%s: its RST is a RST to the client, behind what came', async (_, bytes) => {
    const upstream = await rawUpstream((socket) => {
      if (bytes > 0) socket.write(ANSWER.subarray(0, bytes));
      socket.resetAndDestroy();
    });
    const proxy = await proxied({ upstream: upstream.url });
    const client = await witnessed(proxy.port, ASK);
    expect(client.end).toBe('rst');
    expect(client.bytes.equals(ANSWER.subarray(0, client.bytes.length))).toBe(true);
    expect(await proxy.ledger(1)).toMatchObject({
      outcome: 'upstream_reset',
      upstream: { end: 'reset', bytes: client.bytes.length },
      bytes: { written: client.bytes.length },
    });
  });

  it.each(PHASES)('%s: its FIN is a FIN to the client, and no success', async (_, bytes) => {
    const upstream = await rawUpstream((socket) => void socket.end(ANSWER.subarray(0, bytes)));
    const proxy = await proxied({ upstream: upstream.url });
    const client = await witnessed(proxy.port, ASK);
    expect(client.end).toBe('fin');
    expect(client.bytes.equals(ANSWER.subarray(0, bytes))).toBe(true);
    const { outcome, upstream: up } = await proxy.ledger(1);
    expect([outcome, up?.end]).toEqual(['upstream_closed', 'fin']);
  });

  it('as soon as it is connected: the same, and no request has been read', async () => {
    const server = net.createServer((socket) => void socket.resetAndDestroy());
    const port = await listening(server);
    onTestFinished(() => void server.close());
    const proxy = await proxied({ upstream: `http://127.0.0.1:${port}` });
    const client = await witnessed(proxy.port, ASK);
    expect([client.end, client.bytes.length]).toEqual(['rst', 0]);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'upstream_reset', upstream: { end: 'reset', bytes: 0 } });
  });

  it.each(['rst', 'fin'])('behind its whole answer, by %s: nothing is wrong, and it is dialled anew', async (how) => {
    const upstream = await rawUpstream((socket) => {
      socket.write(ANSWER, () => void (how === 'fin' ? socket.end() : socket.resetAndDestroy()));
    });
    const proxy = await proxied({ upstream: upstream.url });
    const client = witness(proxy.port);
    for (let n = 1; n <= 3; n++) {
      client.send(ASK);
      const all = await client.until((bytes) => bytes.length === n * ANSWER.length);
      expect(all.subarray(-ANSWER.length).equals(ANSWER)).toBe(true);
      expect((await proxy.ledger(n)).outcome).toBe('completed');
      const { [n - 1]: connection } = upstream.connections;
      if (!connection?.closed) await once(connection as Socket, 'close');
    }
    expect(upstream.connections).toHaveLength(3);
  });

  it('while its client waits at a gate: what came is sent when the gate opens, and then it ends so', async () => {
    const upstream = await rawUpstream((socket) => void socket.end(ANSWER.subarray(0, behind(FIRST_EVENT))));
    const proxy = await proxied({
      upstream: upstream.url,
      sequence: [{ pace: { gates: [{ at: 'headers', name: 'head' }] } }],
    });
    const client = witness(proxy.port);
    client.send(ASK);
    await proxy.waitingAt('head');
    expect(client.received.length).toBeLessThanOrEqual(HEAD);
    proxy.release('head');
    expect(await client.ended).toBe('fin');
    expect(client.received.equals(ANSWER.subarray(0, behind(FIRST_EVENT)))).toBe(true);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'upstream_closed', events: { content: { flushed: 1 } } });
  });

  it('while an event is held: what came of it is sent', async () => {
    const upstream = await rawUpstream((socket) => void socket.end(ANSWER.subarray(0, HEAD + 12)));
    const proxy = await proxied({ upstream: upstream.url, sequence: ['rst@terminator'] });
    const client = await witnessed(proxy.port, ASK);
    expect([client.end, client.bytes.length]).toEqual(['fin', HEAD + 12]);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'upstream_closed', cut: null });
  });

  it('while its answer is kept: what came of it is sent', async () => {
    const upstream = await rawUpstream((socket) => void socket.end(ANSWER.subarray(0, HEAD + 12)));
    const proxy = await proxied({ upstream: upstream.url, sequence: ['rst@half'] });
    const client = await witnessed(proxy.port, ASK);
    expect([client.end, client.bytes.length]).toEqual(['fin', HEAD + 12]);
    expect(await proxy.ledger(1)).toMatchObject({
      outcome: 'upstream_closed',
      upstream: { buffered: 'position half' },
    });
  });
});

describe('an upstream that is not there', () => {
  it('is a reset to the client', async () => {
    const upstream = await rawUpstream(ANSWER);
    await upstream.close();
    const proxy = await proxied({ upstream: upstream.url });
    const client = await witnessed(proxy.port, ASK);
    expect([client.end, client.bytes.length]).toEqual(['rst', 0]);
    expect(await proxy.ledger(1)).toMatchObject({
      outcome: 'upstream_refused',
      upstream: { end: 'refused', address: null, status: null, error: expect.stringContaining('ECONNREFUSED') },
    });
  });

  it('or a 502 that says so', async () => {
    const upstream = await rawUpstream(ANSWER);
    await upstream.close();
    const proxy = await proxied({ upstream: upstream.url, onUpstreamError: '502' });
    const client = await witnessed(proxy.port, post('/v1/chat/completions', {}, { Connection: 'close' }));
    expect(client.bytes.toString()).toMatch(/^HTTP\/1\.1 502 [\s\S]*UPSTREAM_FAILED/);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'upstream_refused' });
  });

  it('answers nothing: given up after the time that was set', async () => {
    const upstream = await rawUpstream(() => {});
    const proxy = await proxied({ upstream: upstream.url, upstreamTimeoutMs: 30 });
    expect((await witnessed(proxy.port, ASK)).end).toBe('rst');
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'upstream_timeout', upstream: { end: 'timeout' } });
  });

  it('speaks no HTTP: it is passed on, and said', async () => {
    const upstream = await rawUpstream((socket) => void socket.end('SSH-2.0-OpenSSH\r\n'));
    const proxy = await proxied({ upstream: upstream.url });
    const client = await witnessed(proxy.port, ASK);
    expect([client.end, client.bytes.toString()]).toEqual(['fin', 'SSH-2.0-OpenSSH\r\n']);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'upstream_invalid' });
  });
});

describe.skipIf(!hasOpenssl)('TLS, with certificates that openssl makes', () => {
  const file = certificates();

  it('with an own authority', async () => {
    const { url } = await secureUpstream(file, 'right', ANSWER);
    const proxy = await proxied({ upstream: url, upstreamCa: file('ca.pem'), sequence: ['success', 'rst@event:1'] });
    const client = witness(proxy.port);
    client.send(ASK);
    expect((await client.until((bytes) => bytes.length === ANSWER.length)).equals(ANSWER)).toBe(true);
    expect((await witnessed(proxy.port, ASK)).end).toBe('rst');
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'completed', upstream: { end: 'kept' } });
  });

  it.each([
    ['another name', 'wrong', 'ca.pem'],
    ['another authority', 'right', 'other.pem'],
  ])('a certificate of %s is refused, and no request goes up', async (_, name, ca) => {
    const { url } = await secureUpstream(file, name, ANSWER);
    const proxy = await proxied({ upstream: url, upstreamCa: file(ca) });
    const client = await witnessed(proxy.port, ASK);
    expect([client.end, client.bytes.length]).toEqual(['rst', 0]);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'upstream_tls', upstream: { end: 'tls', bytes: 0 } });
  });

  it('which is not checked where that was asked for', async () => {
    const { url } = await secureUpstream(file, 'wrong', ANSWER);
    const proxy = await proxied({ upstream: url, upstreamInsecure: true });
    const client = witness(proxy.port);
    client.send(ASK);
    await client.until((bytes) => bytes.length === ANSWER.length);
    const said = proxy.events.filter(({ type }) => type === 'upstream_insecure' || type === 'ready');
    expect(said).toMatchObject([{ type: 'upstream_insecure', upstream: url }, { type: 'ready' }]);
  });

  it('with a certificate of the client', async () => {
    const { url, connections } = await secureUpstream(file, 'right', ANSWER, { asksForCertificate: true });
    const files = { upstreamCa: file('ca.pem'), upstreamCert: file('client.pem'), upstreamKey: file('client.key') };
    const proxy = await proxied({ upstream: url, ...files });
    const client = witness(proxy.port);
    client.send(ASK);
    await client.until((bytes) => bytes.length === ANSWER.length);
    expect(connections[0]?.getPeerCertificate().subject.CN).toBe('client');
  });

  it('to what speaks none is a failure of TLS', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url.replace('http:', 'https:') });
    upstream.connections[0]?.destroy();
    const client = witness(proxy.port);
    client.send(ASK);
    while (upstream.connections.length === 0) await new Promise((resolve) => setImmediate(resolve));
    upstream.connections[0]?.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    expect(await client.ended).toBe('rst');
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'upstream_tls' });
  });

  it.each([
    [{ upstreamCa: '/nowhere' }, /upstreamCa: can't use \/nowhere/],
    [{ upstreamCert: '/nowhere' }, /upstreamCert: needs upstreamKey/],
    [{ upstream: 'ftp://x' }, /upstream: "ftp:\/\/x" is not allowed/],
    [{ upstream: 'https://user:secret@x' }, /\(hidden\)/],
    [{ upstreamKeyEnv: 'WIREFAULT_NO_SUCH' }, /WIREFAULT_NO_SUCH is not set/],
    [{ upstreamTimeoutMs: -1 }, /upstreamTimeoutMs: -1 is not allowed/],
    [{ upstream: 'http://x', upstreamCa: 'x' }, /https/],
    [{ upstream: 'http://x', upstreamInsecure: true }, /upstreamInsecure: true is not allowed; .*https/],
  ])('%j is refused', async (options, message) => {
    await expect(startFaultProxy({ upstream: 'https://127.0.0.1:1', ...options })).rejects.toThrow(message);
  });
});

describe('keys', () => {
  it('of the environment go up, and into no ledger', async () => {
    process.env.WIREFAULT_TEST_KEY = 'sk-upstream';
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url, upstreamKeyEnv: 'WIREFAULT_TEST_KEY' });
    const client = witness(proxy.port);
    client.send(post('/v1/chat/completions', {}, { Authorization: 'Bearer sk-client' }));
    await client.until((bytes) => bytes.length === ANSWER.length);
    expect(upstream.requests[0]).toContain('Authorization: Bearer sk-upstream\r\n');
    expect(JSON.stringify(await proxy.ledger(1))).not.toMatch(/sk-(upstream|client)/);
  });
});
