import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PROTOCOLS } from '../../src/sse/dialect.js';
import { chunkedAnswer, PATH_OF, proxied, rawUpstream, recordings } from '../proxy/support/upstream.js';
import { readAnswer } from '../support/http.js';
import { serve } from '../support/server.js';
import { post, witness, witnessed } from '../support/witness.js';
import { exchangeIn, filesIn, folder } from './support/recorded.js';

const ALL = recordings();
const CLOSING = { Connection: 'close' };
const CHAT = PATH_OF['openai-chat'];

/** A stream of each dialect, as real providers sent it. */
const STREAMS = PROTOCOLS.flatMap((protocol) => {
  const found = ALL.find((one) => one.protocol === protocol && one.name.endsWith('/text.sse'));
  return found ? [[protocol, found.body] as const] : [];
});

const askFor = (n: number) => ({ stream: true, messages: [{ role: 'user', content: `question ${n}` }] });

/** What came, once it was so long: of a connection that stays open. */
async function told(port: number, request: string, length: number): Promise<Buffer> {
  const client = witness(port);
  client.send(request);
  const bytes = await client.until((received) => received.length >= length);
  client.close();
  return bytes;
}

describe('streams of real providers', () => {
  it.skipIf(ALL.length === 0)('come out of their recordings byte for byte', async () => {
    const dir = folder();
    let answer: Buffer = Buffer.alloc(0);
    const upstream = await rawUpstream((socket) => {
      const half = answer.length >> 1;
      socket.write(answer.subarray(0, half));
      setImmediate(() => socket.write(answer.subarray(half)));
    });
    const proxy = await proxied({ upstream: upstream.url, record: dir });
    const wanted: Buffer[] = [];
    for (const [n, { protocol, body }] of ALL.entries()) {
      answer = chunkedAnswer(body, 700);
      wanted.push(answer);
      await told(proxy.port, post(PATH_OF[protocol], askFor(n)), answer.length);
    }
    await proxy.idle();
    expect(readdirSync(dir)).toHaveLength(ALL.length);
    const server = await serve({ replay: dir, replayTiming: 'none' });
    // The last first: it is the request that finds its answer, not the order.
    for (const [n, { protocol, name }] of [...ALL.entries()].reverse()) {
      const recorded = wanted[n] ?? Buffer.alloc(0);
      const bytes = await told(server.port, post(PATH_OF[protocol], askFor(n)), recorded.length);
      expect(bytes.equals(recorded), name).toBe(true);
      const ledger = await server.ledger(ALL.length - n);
      expect(ledger.replayed).toEqual({ recording: String(n + 1).padStart(6, '0'), by: 'fingerprint' });
    }
  });

  describe.each(STREAMS)('of %s', (protocol, body) => {
    const answer = chunkedAnswer(body, 613);
    const texts = body
      .toString('latin1')
      .split('\n\n')
      .filter((text) => text !== '');

    it('are cut behind each of their events, and before their terminal', async () => {
      const dir = folder();
      const upstream = await rawUpstream(answer);
      const proxy = await proxied({ upstream: upstream.url, record: dir });
      await witnessed(proxy.port, post(PATH_OF[protocol], askFor(1), CLOSING));
      await proxy.idle();
      const sequence = [
        ...texts.map((_, n) => `rst@event:${n + 1}` as const),
        'fin@terminator',
        'eof@terminator',
      ] as const;
      const server = await serve({ replay: dir, replayTiming: 'none', sequence });
      const request = post(PATH_OF[protocol], askFor(1), CLOSING);
      const upTo = (n: number) =>
        texts
          .slice(0, n)
          .map((text) => `${text}\n\n`)
          .join('');
      for (const [n] of texts.entries()) {
        const { bytes, end } = await witnessed(server.port, request);
        expect(end).toBe('rst');
        expect(bytes.equals(answer.subarray(0, bytes.length))).toBe(true);
        const told = upTo(n + 1);
        expect(readAnswer(bytes)?.body.toString('latin1').slice(0, told.length)).toBe(told);
        expect(await server.ledger(n + 1)).toMatchObject({
          outcome: 'reset',
          cut: { position: `event:${n + 1}`, offset: bytes.length },
          bytes: { read: bytes.length },
        });
      }
      const fin = await witnessed(server.port, request);
      expect([fin.end, readAnswer(fin.bytes)?.complete]).toEqual(['fin', false]);
      const eof = await witnessed(server.port, request);
      expect(readAnswer(eof.bytes)).toMatchObject({ complete: true });
      expect(readAnswer(eof.bytes)?.body.toString('latin1')).toBe(upTo(texts.length - 1));
    });
  });
});

const DATA = [
  '{"choices":[{"delta":{"role":"assistant","content":""}}]}',
  '{"choices":[{"delta":{"content":"hello"}}]}',
  '{"choices":[{"delta":{"content":" world"}}]}',
  '{"choices":[{"delta":{},"finish_reason":"stop"}]}',
  '[DONE]',
];
const streamOf = (word: string): Buffer =>
  Buffer.from(DATA.map((data) => `data: ${data.replace('hello', word)}\n\n`).join(''));

/** Records what an upstream answers to each request, one after the other. */
async function recorded(answer: Parameters<typeof rawUpstream>[0], requests: readonly string[], options = {}) {
  const dir = folder();
  const upstream = await rawUpstream(answer);
  const proxy = await proxied({ upstream: upstream.url, record: dir, ...options });
  for (const request of requests) await witnessed(proxy.port, request);
  await proxy.close();
  return { dir, proxy };
}

/** Words of the answers to requests, in their order. */
async function wordsOf(port: number, requests: readonly string[]): Promise<string[]> {
  const words: string[] = [];
  for (const request of requests) {
    const { bytes } = await witnessed(port, request);
    words.push(/"content":"(\w+)"/.exec(bytes.toString('latin1'))?.[1] ?? '');
  }
  return words;
}

describe('which recording answers', () => {
  const counting = (socket: { write(bytes: Buffer): unknown }, nth: number): void => {
    socket.write(chunkedAnswer(streamOf(`word${nth}`)));
  };
  const ask = (n: number, more = {}, path = CHAT): string => post(path, { ...askFor(n), ...more }, CLOSING);

  it('is one of the same request, in order, the last repeated', async () => {
    const { dir } = await recorded(counting, [ask(1), ask(2), ask(1)]);
    const server = await serve({ replay: dir });
    expect(await wordsOf(server.port, [ask(2), ask(1), ask(1), ask(1), ask(2)])).toEqual([
      'word2',
      'word1',
      'word3',
      'word3',
      'word2',
    ]);
  });

  it('is the next one of its dialect where no request was the same', async () => {
    const { dir } = await recorded(counting, [ask(1), ask(2), ask(3)]);
    const server = await serve({ replay: dir });
    expect(await wordsOf(server.port, [ask(2), ask(7), ask(8), ask(9)])).toEqual(['word2', 'word1', 'word3', 'word3']);
    const by = await Promise.all([1, 2, 3, 4].map(async (n) => (await server.ledger(n)).replayed?.by));
    expect(by).toEqual(['fingerprint', 'order', 'order', 'order']);
  });

  it('does not depend on the order of keys, on who asks, or on the base URL', async () => {
    const { dir } = await recorded(counting, [ask(1), ask(2)]);
    const server = await serve({ replay: dir });
    const { messages, stream } = askFor(2);
    const turned = post('/fault/success/chat/completions', { user: 'me', messages, stream }, CLOSING);
    expect(await wordsOf(server.port, [turned])).toEqual(['word2']);
    expect((await server.ledger(1)).replayed?.by).toBe('fingerprint');
  });

  it('begins anew in each lane, and after a reset', async () => {
    const { dir } = await recorded(counting, [ask(1), ask(1)]);
    const server = await serve({ replay: dir, laneBy: 'header:x-lane' });
    const inLane = (lane: string): string => post(CHAT, askFor(1), { ...CLOSING, 'x-lane': lane });
    expect(await wordsOf(server.port, [inLane('a'), inLane('b'), inLane('a')])).toEqual(['word1', 'word1', 'word2']);
    server.reset();
    expect(await wordsOf(server.port, [inLane('a')])).toEqual(['word1']);
  });

  it('is none for a protocol that was not recorded, which uses nothing up', async () => {
    const { dir } = await recorded(counting, [ask(1)]);
    const server = await serve({ replay: dir, sequence: ['rst@event:1'] });
    const { bytes } = await witnessed(server.port, post('/v1/messages', { stream: true }, CLOSING));
    expect(readAnswer(bytes)).toMatchObject({ status: 404 });
    expect(bytes.toString()).toContain('nothing is recorded for this path; unknown dialect \\"anthropic-messages\\"');
    expect(await server.event(({ type }) => type === 'rejected')).toMatchObject({ status: 404, path: '/v1/messages' });
    expect((await witnessed(server.port, ask(1))).end).toBe('rst');
  });

  it('leaves faults that answer by themselves, and requests beside, as they are', async () => {
    const models = 'GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const listed = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"data":"up"}');
    const { dir } = await recorded(
      (socket, nth) => (nth === 1 ? socket.write(listed) : counting(socket, nth)),
      [models, ask(1)],
    );
    const server = await serve({ replay: dir, sequence: ['rate_limit', 'success'] });
    expect((await witnessed(server.port, models)).bytes.toString()).toContain('{"data":"up"}');
    const other = await witnessed(server.port, models.replace('/models', '/models/x'));
    expect(other.bytes.toString()).toContain('"id":"x"');
    expect(readAnswer((await witnessed(server.port, ask(1))).bytes)?.status).toBe(429);
    expect(await wordsOf(server.port, [ask(1)])).toEqual(['word2']);
  });
});

describe('upstreams that break off', () => {
  const whole = chunkedAnswer(streamOf('hello'), 60);
  const cut = whole.subarray(0, 200);
  const ask = post(CHAT, askFor(1), CLOSING);

  it.each([
    ['fin', 'fin'],
    ['reset', 'rst'],
  ] as const)('by %s do so again', async (how, end) => {
    const { dir } = await recorded(
      (socket) => {
        socket.write(cut, () => (how === 'fin' ? socket.end() : setTimeout(() => socket.resetAndDestroy(), 20)));
      },
      [ask],
    );
    expect(exchangeIn(dir)).toMatchObject({ answer: { end: how, bytes: cut.length } });
    const server = await serve({
      replay: dir,
      sequence: ['success', 'stall@event:1', 'keepalive_then_success'],
      keepaliveMs: 1,
    });
    const again = await witnessed(server.port, ask);
    expect(again.end).toBe(end);
    expect(again.bytes.equals(cut)).toBe(true);
    const stalled = witness(server.port);
    stalled.send(ask);
    const first = await stalled.until((bytes) => bytes.toString().includes('"role"'));
    expect(first.length).toBeLessThan(cut.length);
    stalled.close();
    // What is put in stands before what was recorded, which breaks off as it did.
    const edited = await witnessed(server.port, ask);
    expect(edited.end).toBe(end);
    expect(readAnswer(edited.bytes)?.complete).toBe(false);
    const { body } = readAnswer(cut) ?? { body: Buffer.alloc(0) };
    expect(readAnswer(edited.bytes)?.body.toString().endsWith(body.toString())).toBe(true);
  });

  it('say so where a position is behind the break', async () => {
    const { dir } = await recorded(
      (socket) => {
        socket.end(cut);
      },
      [ask],
    );
    await expect(serve({ replay: dir, sequence: ['rst@event:4'] })).rejects.toThrow(
      /^sequence: rst@event:4: 000001: position event:4: the answer doesn't reach it; it has 200 bytes and the events/,
    );
  });

  it('are told from those that the proxy broke off, whose end is a FIN', async () => {
    // The upstream never ends it: what ends it is the proxy's own cut.
    const { dir } = await recorded((socket) => void socket.write(cut), [ask], { sequence: ['rst@event:1'] });
    expect(exchangeIn(dir).answer).toMatchObject({ end: 'dropped', bytes: cut.length });
    const server = await serve({ replay: dir });
    const { bytes, end } = await witnessed(server.port, ask);
    expect([bytes.equals(cut), end]).toEqual([true, 'fin']);
  });

  it('before any byte are recorded as well', async () => {
    const { dir } = await recorded(
      (socket) => {
        socket.end();
      },
      [ask],
    );
    const server = await serve({ replay: dir });
    expect(await witnessed(server.port, ask)).toMatchObject({ end: 'fin', bytes: Buffer.alloc(0) });
  });
});

describe('other answers', () => {
  const ask = post(CHAT, askFor(1), CLOSING);

  it('are told byte for byte where they are compressed, and cut by bytes alone', async () => {
    const body = gzipSync(streamOf('hello'));
    const head = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
    const answer = Buffer.concat([Buffer.from(head), body]);
    const { dir } = await recorded(answer, [ask]);
    const server = await serve({ replay: dir, sequence: ['success', 'rst@body:20', 'success'], laneBy: 'none' });
    expect((await witnessed(server.port, ask)).bytes.equals(answer)).toBe(true);
    const { bytes } = await witnessed(server.port, ask);
    expect(bytes.equals(answer.subarray(0, head.length + 20))).toBe(true);
    await expect(serve({ replay: dir, sequence: ['rst@event:1'] })).rejects.toThrow("the answer doesn't reach it");
  });

  it('have no chunks for HTTP/1.0', async () => {
    const { dir } = await recorded(chunkedAnswer(streamOf('hello'), 50), [ask]);
    const server = await serve({ replay: dir });
    const { bytes } = await witnessed(server.port, ask.replace('HTTP/1.1', 'HTTP/1.0'));
    expect(bytes.toString()).not.toMatch(/transfer-encoding/i);
    expect(bytes.toString().endsWith(streamOf('hello').toString())).toBe(true);
  });

  it('are parts where they are JSON', async () => {
    const json = '{"choices":[{"message":{"role":"assistant","content":"hello there"}}]}';
    const answer = Buffer.from(
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`,
    );
    const unstreamed = post(CHAT, { messages: [] }, CLOSING);
    const { dir } = await recorded(answer, [unstreamed]);
    const server = await serve({ replay: dir, sequence: ['fin@text:5', 'success'] });
    expect((await witnessed(server.port, unstreamed)).bytes.toString()).toMatch(/"hello$/);
    expect((await witnessed(server.port, unstreamed)).bytes.equals(answer)).toBe(true);
  });
});

describe('the folder', () => {
  const ask = (n: number): string => post(CHAT, askFor(n), CLOSING);
  const answer = chunkedAnswer(streamOf('hello'), 60);

  it('goes on with its numbers, and is shared by several proxies', async () => {
    const dir = folder();
    mkdirSync(join(dir, '000004'));
    writeFileSync(join(dir, '000004', 'exchange.json'), '{}');
    const upstream = await rawUpstream(answer);
    const both = await Promise.all([1, 2].map(() => proxied({ upstream: upstream.url, record: dir })));
    await Promise.all(both.flatMap(({ port }) => [1, 2, 3].map((n) => witnessed(port, ask(n)))));
    await Promise.all(both.map((proxy) => proxy.idle()));
    expect(readdirSync(dir).toSorted()).toEqual([4, 5, 6, 7, 8, 9, 10].map((n) => String(n).padStart(6, '0')));
  });

  it('has the marks, the segments and the dialect of each answer', async () => {
    const { dir } = await recorded(answer, [ask(1)]);
    const exchange = exchangeIn(dir);
    expect(exchange).toMatchObject({
      version: 1,
      dialect: 'openai-chat',
      request: { method: 'POST', path: CHAT, stream: true, fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/) },
      answer: { status: 200, bytes: answer.length, end: 'whole' },
      redacted: null,
    });
    const files = filesIn(join(dir, '000001'));
    expect(files.get('answer.http')?.equals(answer)).toBe(true);
    expect(files.get('request.http')?.toString()).toBe(ask(1));
    const marks = (files.get('marks.jsonl')?.toString() ?? '')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(marks.filter(({ kind }) => kind === 'event').map(({ name }) => name)).toEqual([
      'role',
      'content',
      'content',
      'finish',
      '[DONE]',
    ]);
    for (const { start, end } of marks) expect(0 <= start && start <= end && end <= answer.length).toBe(true);
  });

  it('has no key in any of its files', async () => {
    const secret = 'sk-live-0123456789abcdef';
    const said = JSON.stringify({ error: { message: `Incorrect API key provided: ${secret}` } });
    const head = `HTTP/1.1 401 Unauthorized\r\nSet-Cookie: __cf_bm=cookiecookiecookie; path=/; secure\r\nContent-Length: ${said.length}\r\n\r\n`;
    const headers = {
      ...CLOSING,
      Authorization: `Bearer ${secret}`,
      'x-api-key': 'other-key-123456',
      Cookie: 'session=abcdefghijkl',
    };
    const request = post(`${CHAT}?key=query-key-123456&api-version=1`, askFor(1), headers);
    process.env.WIREFAULT_TEST_KEY = 'upstream-key-123456';
    const { dir } = await recorded(Buffer.from(`${head}${said}`), [request], { upstreamKeyEnv: 'WIREFAULT_TEST_KEY' });
    const everything = Buffer.concat([...filesIn(dir).values()]).toString('latin1');
    for (const key of [
      secret,
      'other-key-123456',
      'abcdefghijkl',
      'query-key-123456',
      'cookiecookie',
      'upstream-key',
    ]) {
      expect(everything).not.toContain(key);
    }
    const files = filesIn(join(dir, '000001'));
    expect(files.get('request.http')?.length).toBe(request.length);
    expect(files.get('request.http')?.toString()).toContain(`Authorization: Bearer ${'*'.repeat(secret.length)}\r\n`);
    expect(files.get('answer.http')?.length).toBe(head.length + said.length);
    expect(files.get('answer.http')?.toString()).toContain(`provided: ${'*'.repeat(secret.length)}"`);
    expect(exchangeIn(dir).redacted).toEqual([
      'request header authorization',
      'request header x-api-key',
      'request header cookie',
      'request query key',
      'answer header set-cookie',
      'answer, where it repeats a key',
    ]);
  });

  it('that can hold none is an error, and one that goes away is told', async () => {
    const upstream = await rawUpstream(answer);
    await expect(proxied({ upstream: upstream.url, record: '/dev/null/x' })).rejects.toThrow(
      /^record: can't use \/dev\/null\/x: /,
    );
    const dir = folder();
    const proxy = await proxied({ upstream: upstream.url, record: join(dir, 'a') });
    rmSync(join(dir, 'a'), { recursive: true });
    expect((await witnessed(proxy.port, ask(1))).bytes.equals(answer)).toBe(true);
    await proxy.idle();
    expect(proxy.events.find(({ type }) => type === 'record_failed')).toMatchObject({
      reason: expect.stringMatching('ENOENT'),
    });
  });
});
