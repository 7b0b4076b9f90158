import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Line, proxying, serving } from '../support/cli-process.js';
import { post, witness, witnessed } from '../support/witness.js';
import { certificates, hasOpenssl, secureUpstream } from './support/certificates.js';
import { chunkedAnswer, rawUpstream } from './support/upstream.js';

/** `wirefault proxy` as a process: each flag of the upstream does what its line of `--help` says. */
const PATH = '/v1/chat/completions';
const ASK = post(PATH, { stream: true });
const EVENTS = ['{"choices":[{"delta":{"content":"a"}}]}', '{"choices":[{"delta":{"content":"b"}}]}', '[DONE]'].map(
  (data) => `data: ${data}\n\n`,
);
const BODY = Buffer.from(EVENTS.join(''));
/** In one chunk, so that events lie in it as they do in the body. */
const ANSWER = chunkedAnswer(BODY);
const behindEvent = (n: number): number => ANSWER.indexOf(BODY) + EVENTS.slice(0, n).join('').length;

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'wirefault-proxy-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

/** What the client gets of `length` bytes, on a connection that stays. */
async function whole(port: number, request: string, length = ANSWER.length): Promise<Buffer> {
  const client = witness(port);
  client.send(request);
  const bytes = await client.until((received) => received.length >= length);
  client.close();
  return bytes;
}

describe('--upstream', () => {
  it("passes its answers on, with the script's fault at its place", async () => {
    const upstream = await rawUpstream(ANSWER);
    const dir = folder();
    const journal = join(dir, 'journal.jsonl');
    const proxy = await proxying(
      '--upstream',
      upstream.url,
      '--sequence',
      'rst@event:2,success',
      '--journal',
      journal,
      '--settle-timeout-ms',
      '10000',
    );
    const cut = await witnessed(proxy.port, ASK);
    expect([cut.end, cut.bytes.toString()]).toEqual(['rst', ANSWER.subarray(0, behindEvent(2)).toString()]);
    expect(await proxy.event('result', 1)).toMatchObject({ behavior: 'rst@event:2', outcome: 'reset', chunksSent: 2 });
    expect((await whole(proxy.port, ASK)).equals(ANSWER)).toBe(true);
    expect(await proxy.event('result', 2)).toMatchObject({ behavior: 'success', outcome: 'completed' });
    expect(upstream.requests).toHaveLength(2);
    proxy.child.kill('SIGTERM');
    expect([await proxy.ended, proxy.stderr()]).toEqual([143, '']);
    const ledgers = readFileSync(journal, 'utf8').trim().split('\n');
    expect(ledgers.map((line) => JSON.parse(line))).toMatchObject([
      { cut: { position: 'event:2', offset: behindEvent(2) }, upstream: { url: upstream.url, end: 'dropped' } },
      { cut: null, upstream: { bytes: ANSWER.length, end: 'kept' } },
    ]);
  });

  it('may have a path, which stands before all paths', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxying('--upstream', `${upstream.url}/gateway/openai`);
    await whole(proxy.port, ASK);
    expect(upstream.requests[0]).toMatch(/^POST \/gateway\/openai\/v1\/chat\/completions HTTP\/1\.1\r\n/);
  });
});

describe('--upstream-key-env', () => {
  it("sends that key up in the place of the client's, and neither stands anywhere", async () => {
    vi.stubEnv('WIREFAULT_TEST_KEY', 'sk-of-the-upstream');
    onTestFinished(() => void vi.unstubAllEnvs());
    const upstream = await rawUpstream(ANSWER);
    const journal = join(folder(), 'journal.jsonl');
    const proxy = await proxying(
      '--upstream',
      upstream.url,
      '--upstream-key-env',
      'WIREFAULT_TEST_KEY',
      '--journal',
      journal,
    );
    const keys = { Authorization: 'Bearer sk-of-the-client', 'X-Api-Key': 'sk-of-the-client' };
    await whole(proxy.port, post(PATH, { stream: true }, keys));
    await proxy.event('result');
    const [request = ''] = upstream.requests;
    expect(request).toContain('\r\nAuthorization: Bearer sk-of-the-upstream\r\n');
    expect(request).not.toContain('sk-of-the-client');
    proxy.child.kill('SIGTERM');
    await proxy.ended;
    const told = [readFileSync(journal, 'utf8'), ...proxy.lines, proxy.stderr()].join('\n');
    expect(told).toContain(upstream.url);
    expect(told).not.toMatch(/sk-of-the-/);
  });

  it("without it the client's key goes up", async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxying('--upstream', upstream.url);
    await whole(proxy.port, post(PATH, {}, { Authorization: 'Bearer sk-of-the-client' }));
    expect(upstream.requests[0]).toContain('\r\nAuthorization: Bearer sk-of-the-client\r\n');
  });
});

describe('--decode', () => {
  it.each([
    [[], 'gzip, br'],
    [['--decode'], 'identity'],
  ] as const)('%j: Accept-Encoding goes up as %s', async (flags, coding) => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxying('--upstream', upstream.url, ...flags);
    await whole(proxy.port, post(PATH, { stream: true }, { 'Accept-Encoding': 'gzip, br' }));
    expect(upstream.requests[0]).toMatch(new RegExp(`\r\nAccept-Encoding: ${coding}\r\n`));
  });
});

describe('an upstream that fails', () => {
  it.each([
    [[], /^$/, 'rst'],
    [['--on-upstream-error', 'mirror'], /^$/, 'rst'],
    [
      ['--on-upstream-error', '502'],
      /^HTTP\/1\.1 502 [\s\S]*the upstream http:\/\/127\.0\.0\.1:\d+ failed \(refused\)/,
      'fin',
    ],
  ] as const)('is told so: %j', async (flags, answer, end) => {
    const upstream = await rawUpstream(ANSWER);
    await upstream.close();
    const proxy = await proxying('--upstream', upstream.url, ...flags);
    const client = await witnessed(proxy.port, post(PATH, {}, { Connection: 'close' }));
    expect(client.bytes.toString()).toMatch(answer);
    expect(client.end).toBe(end);
    const result = await proxy.event('result');
    expect(result).toMatchObject({ outcome: 'upstream_refused', reason: expect.stringContaining('ECONNREFUSED') });
  });

  it('by silence is given up after --upstream-timeout-ms', async () => {
    const upstream = await rawUpstream(() => {});
    const proxy = await proxying('--upstream', upstream.url, '--upstream-timeout-ms', '30');
    expect((await witnessed(proxy.port, ASK)).end).toBe('rst');
    expect(await proxy.event('result')).toMatchObject({ outcome: 'upstream_timeout', reason: 'no byte for 30 ms' });
  });
});

describe('--max-buffer-bytes', () => {
  it.each([
    [String(ANSWER.length), 'rst', 'reset'],
    [String(ANSWER.length - 1), 'fin', 'cut_unreached'],
  ])('%s: an answer that is kept may have so many', async (most, end, outcome) => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxying('--upstream', upstream.url, '--max-buffer-bytes', most, '--sequence', 'rst@half');
    const client = await witnessed(proxy.port, post(PATH, { stream: true }, { Connection: 'close' }));
    expect(client.end).toBe(end);
    expect(await proxy.event('result')).toMatchObject({ outcome });
    if (outcome === 'cut_unreached') expect(client.bytes.toString()).toContain(`the answer is over ${most} bytes`);
  });
});

describe('--record', () => {
  it('stores what serve --replay answers with', async () => {
    const upstream = await rawUpstream(ANSWER);
    const dir = folder();
    const proxy = await proxying('--upstream', upstream.url, '--record', dir);
    const request = post(PATH, { stream: true }, { Authorization: 'Bearer sk-of-the-client' });
    await whole(proxy.port, request);
    await proxy.event('result');
    proxy.child.kill('SIGTERM');
    await proxy.ended;
    const [exchange = ''] = readdirSync(dir);
    expect(readFileSync(join(dir, exchange, 'answer.http')).equals(ANSWER)).toBe(true);
    expect(readFileSync(join(dir, exchange, 'request.http'), 'utf8')).not.toContain('sk-of-the-client');
    const replay = await serving('--replay', dir, '--sequence', 'success,rst@event:1');
    expect((await whole(replay.port, request)).equals(ANSWER)).toBe(true);
    const cut = await witnessed(replay.port, request);
    expect([cut.end, cut.bytes.length]).toEqual(['rst', behindEvent(1)]);
    expect(upstream.connections).toHaveLength(1);
  });
});

describe.skipIf(!hasOpenssl)('TLS', () => {
  const file = certificates();
  const ofType = (lines: readonly string[], type: string): Line[] =>
    lines.map((line) => JSON.parse(line)).filter((line) => line.type === type);

  it('--upstream-ca, --upstream-cert and --upstream-key', async () => {
    const upstream = await secureUpstream(file, 'right', ANSWER, { asksForCertificate: true });
    const own = ['--upstream-cert', file('client.pem'), '--upstream-key', file('client.key')];
    const proxy = await proxying('--upstream', upstream.url, '--upstream-ca', file('ca.pem'), ...own);
    expect((await whole(proxy.port, ASK)).equals(ANSWER)).toBe(true);
    expect(upstream.connections[0]?.getPeerCertificate().subject.CN).toBe('client');
    expect(ofType(proxy.lines, 'upstream_insecure')).toEqual([]);
  });

  it('without them no request goes up', async () => {
    const upstream = await secureUpstream(file, 'right', ANSWER);
    const proxy = await proxying('--upstream', upstream.url);
    const client = await witnessed(proxy.port, ASK);
    expect([client.end, client.bytes.length]).toEqual(['rst', 0]);
    expect(await proxy.event('result')).toMatchObject({ outcome: 'upstream_tls' });
    expect(upstream.connections.filter((socket) => socket.bytesRead > 0)).toEqual([]);
  });

  it.each([
    ['one process', []],
    ['several', ['--workers', '2']],
  ])('--upstream-insecure is warned of, once, before anything is served: %s', async (_, flags) => {
    const upstream = await secureUpstream(file, 'wrong', ANSWER);
    const proxy = await proxying('--upstream', upstream.url, '--upstream-insecure', ...flags);
    expect((await whole(proxy.port, ASK)).equals(ANSWER)).toBe(true);
    expect(ofType(proxy.lines, 'upstream_insecure')).toMatchObject([{ level: 'warn', upstream: upstream.url }]);
    expect(JSON.parse(proxy.lines[0] ?? '')).toMatchObject({ type: 'upstream_insecure' });
    expect(proxy.stderr()).toBe('');
  });
});
