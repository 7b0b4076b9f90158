import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FaultServerOptions } from '../../src/index.js';
import { readAnswer } from '../support/http.js';
import { type Served, serve } from '../support/server.js';
import { post, witness, witnessed } from '../support/witness.js';

const PATH = '/v1/chat/completions';

interface Captured extends Served {
  readonly dir: string;
  stored(exchange: number, part: 'request' | 'response'): Promise<Buffer>;
}

async function capturing(options: FaultServerOptions): Promise<Captured> {
  const dir = await mkdtemp(join(tmpdir(), 'wirefault-capture-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const server = await serve({ capture: join(dir, 'new'), ...options });
  return Object.assign(server, {
    dir,
    stored: async (exchange: number, part: string) => {
      await server.idle();
      return readFile(join(dir, 'new', `00000${exchange}.${part}`));
    },
  });
}

/** A request in chunks, with an extension, odd spelling and a trailer: nobody would write it again like this. */
const ODD = [
  `POST ${PATH}?a=%41 HTTP/1.1`,
  'hOsT: x',
  'Transfer-Encoding:   chunked',
  'X-Twice: 1',
  'x-twice: 2',
  '',
  '1;name=value',
  '{',
  '01',
  '}',
  '0',
  'X-Trailer: t',
  '',
  '',
].join('\r\n');

describe('a capture', () => {
  it('holds a chunked request byte for byte, and the answer as the client got it', async () => {
    const server = await capturing({ sequence: ['success'] });
    const client = witness(server.port);
    client.send(ODD);
    const got = await client.until((bytes) => readAnswer(bytes)?.complete === true);
    expect(await server.stored(1, 'request')).toEqual(Buffer.from(ODD));
    expect(await server.stored(1, 'response')).toEqual(got);
  });

  it('holds what a reset and a stall let through', async () => {
    const server = await capturing({ sequence: ['partial_disconnect', 'stall'], chunkDelayMs: 1 });
    const request = post(PATH, { stream: true });
    const reset = await witnessed(server.port, request);
    expect(reset.end).toBe('rst');
    const client = witness(server.port);
    client.send(request);
    const head = await client.until((bytes) => bytes.includes('\r\n\r\n'));
    client.halfClose();
    await client.ended;
    expect(await server.stored(1, 'response')).toEqual(reset.bytes);
    expect(await server.stored(2, 'response')).toEqual(head);
    expect(await server.stored(2, 'request')).toEqual(Buffer.from(request));
  });

  it('holds pulses as they were sent', async () => {
    const server = await capturing({ sequence: ['ping_flood'], keepaliveMs: 1 });
    const client = witness(server.port);
    client.send(post('/v1/responses', { stream: true }));
    await client.until((bytes) => bytes.length > 6000);
    await server.close();
    await client.ended;
    expect(await server.stored(1, 'response')).toEqual(client.received);
  });

  it('parts pipelined requests exactly, whatever stands between and behind them', async () => {
    const server = await capturing({ sequence: ['success'], repeatLast: true });
    const requests = [post(PATH, { user: 'one' }), ODD, post('/v1/messages', { user: 'three' })];
    const client = witness(server.port);
    client.send(`${requests.join('')}POST / HT`);
    const got = await client.until((bytes) => bytes.toString('latin1').split('HTTP/1.1 200').length === 4);
    await server.idle();
    const responses: Buffer[] = [];
    for (const [n, request] of requests.entries()) {
      expect(await server.stored(n + 1, 'request')).toEqual(Buffer.from(request));
      responses.push(await server.stored(n + 1, 'response'));
    }
    expect(Buffer.concat(responses)).toEqual(got);
  });

  it('holds nothing of what is refused or beside the answers', async () => {
    const server = await capturing({ sequence: ['success'], apiKey: 'right' });
    await witnessed(server.port, post(PATH, {}, { Connection: 'close', Authorization: 'Bearer wrong' }));
    await witnessed(server.port, 'GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await witnessed(server.port, 'nonsense\r\n\r\n');
    await server.idle();
    expect(await readdir(join(server.dir, 'new'))).toEqual([]);
  });

  it('that can not be written is told once, and the wire goes on', async () => {
    const server = await capturing({ sequence: ['success'], repeatLast: true });
    await rm(join(server.dir, 'new'), { recursive: true });
    for (let n = 0; n < 3; n++) {
      const { bytes } = await witnessed(server.port, post(PATH, {}, { Connection: 'close' }));
      expect(readAnswer(bytes)).toMatchObject({ status: 200, complete: true });
    }
    await server.idle();
    expect(server.events.filter(({ type }) => type === 'capture_failed')).toEqual([
      { type: 'capture_failed', reason: expect.stringContaining('ENOENT') },
    ]);
  });

  it('needs no ledgers', async () => {
    const server = await capturing({ ledgerHistory: 0 });
    const { bytes } = await witnessed(server.port, post(PATH, {}, { Connection: 'close' }));
    expect(await server.stored(1, 'response')).toEqual(bytes);
    expect(server.ledgers).toEqual([]);
  });
});

describe('keys', () => {
  const SECRETS = {
    Authorization: 'Bearer s3cret-1',
    'PROXY-authorization': 'Basic s3cret-2',
    'x-api-key': 's3cret-3',
    'Api-Key': 's3cret-4',
    'X-Goog-Api-Key': 's3cret-5',
    Cookie: 'id=s3cret-6',
  };
  const request = post(PATH, { note: 'not s3cret-7' }, { ...SECRETS, Connection: 'close' });

  async function told(options: FaultServerOptions): Promise<Record<'ledger' | 'journal' | 'capture', string>> {
    const dir = await mkdtemp(join(tmpdir(), 'wirefault-keys-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    const journal = join(dir, 'journal');
    const server = await capturing({ journal, ...options });
    await witnessed(server.port, request);
    const capture = String(await server.stored(1, 'request'));
    return { ledger: JSON.stringify(server.ledgers), journal: String(await readFile(journal)), capture };
  }

  it('are in no ledger, no journal and no capture', async () => {
    const { ledger, journal, capture } = await told({});
    for (const text of [ledger, journal]) expect(text).not.toContain('s3cret');
    // The scheme is no secret, and bodies stay as they are.
    expect(JSON.parse(journal).request.headers).toMatchObject({
      authorization: 'Bearer [redacted]',
      'proxy-authorization': 'Basic [redacted]',
      'x-api-key': '[redacted]',
      'api-key': '[redacted]',
      'x-goog-api-key': '[redacted]',
      cookie: '[redacted]',
      host: 'x',
    });
    const redacted = request.replace(/(Bearer |Basic |: )(id=)?s3cret-[1-6]/g, '$1[redacted]');
    expect(capture).toBe(redacted);
    expect(capture.match(/s3cret/g)).toHaveLength(1);
  });

  it('are everywhere with redact: false', async () => {
    const { ledger, journal, capture } = await told({ redact: false });
    for (const text of [ledger, journal, capture]) {
      for (const value of Object.values(SECRETS)) expect(text).toContain(value);
    }
    expect(capture).toBe(request);
  });
});
