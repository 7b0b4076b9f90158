import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Har } from 'har-format';
import { describe, expect, it } from 'vitest';
import { addExplainCommand } from '../../src/commands/explain.js';
import { addRecordingCommand } from '../../src/commands/recording.js';
import { WirefaultError } from '../../src/errors.js';
import { PROTOCOLS } from '../../src/sse/dialect.js';
import { chunkedAnswer, PATH_OF, proxied, rawUpstream, recordings } from '../proxy/support/upstream.js';
import { runCommand } from '../support/command.js';
import { headerOf, readAnswer } from '../support/http.js';
import { serve } from '../support/server.js';
import { post, witnessed } from '../support/witness.js';
import { exchangeIn, fileOf, folder } from './support/recorded.js';

const CLOSING = { Connection: 'close' };
const CHAT = PATH_OF['openai-chat'];
const ASK = post(CHAT, { stream: true }, CLOSING);

async function bodyFrom(file: string, request = ASK): Promise<Buffer> {
  const server = await serve({ replay: file });
  return readAnswer((await witnessed(server.port, request)).bytes)?.body ?? Buffer.alloc(0);
}

describe('the body of a stream', () => {
  const events = ['data: {"choices":[{"delta":{"content":"hi"}}]}\n\n', 'data: [DONE]\n\n'];

  it('is a chunk for each event, under a stream of its dialect', async () => {
    const server = await serve({ replay: fileOf('report.sse', events.join('')), sequence: ['success', 'rst@event:1'] });
    const { bytes } = await witnessed(server.port, ASK);
    const answer = readAnswer(bytes);
    expect(answer).toMatchObject({ status: 200, complete: true, chunks: events.map(({ length }) => length) });
    expect(answer && headerOf(answer, 'content-type')).toBe('text/event-stream');
    const cut = await witnessed(server.port, ASK);
    expect(cut.end).toBe('rst');
    expect(readAnswer(cut.bytes)?.body.toString()).toBe(events[0]);
    expect((await server.ledger(1)).replayed).toEqual({ recording: 'report.sse', by: 'order' });
    const other = await witnessed(server.port, post('/v1/messages', { stream: true }, CLOSING));
    expect(readAnswer(other.bytes)?.status).toBe(404);
  });

  it.each([
    ['without its last blank line', 'data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: [DONE]'],
    ['with lines that end by CR', 'data: {"choices":[{"delta":{"content":"hi"}}]}\r\rdata: [DONE]\r\r'],
    ['with CRLF and blank lines everywhere', '\r\n\r\ndata: 1\r\n\r\n\r\n\r\n: x\r\n\r\n'],
    [
      'with half a character and half an event',
      Buffer.from('data: {"choices":[{"delta":{"content":"\u00e9').subarray(0, -1),
    ],
    ['with bytes that are no UTF-8', Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0xfe, 0x0a, 0x0a, 0x00, 0x80])],
    ['behind a byte order mark', '\ufeffdata: 1\n\n'],
    ['that is none', 'just text'],
    ['of nothing', ''],
  ])('%s stays as it is', async (_, body) => {
    const bytes = Buffer.from(body);
    expect((await bodyFrom(fileOf('report.sse', bytes))).equals(bytes)).toBe(true);
  });

  it('answers any protocol where its dialect is not known', async () => {
    const server = await serve({ replay: fileOf('report.sse', 'data: {}\n\n') });
    for (const protocol of PROTOCOLS) {
      const { bytes } = await witnessed(server.port, post(PATH_OF[protocol], { stream: true }, CLOSING));
      expect(readAnswer(bytes)?.body.toString()).toBe('data: {}\n\n');
    }
  });

  it.skipIf(recordings().length === 0)('of every real provider is known by its events', async () => {
    for (const { name, protocol, body } of recordings()) {
      const { out, err } = await runCommand(addRecordingCommand, ['recording', fileOf('x.sse', body), '--json']);
      expect([name, err, JSON.parse(out).dialect]).toEqual([name, '', protocol]);
    }
  });

  it('is explained with a fault', async () => {
    const file = fileOf('report.sse', events.join(''));
    const args = ['explain', 'rst@event:1', '--replay', file, '--format', 'json'];
    const plan = JSON.parse((await runCommand(addExplainCommand, args)).out);
    expect(plan).toMatchObject({ cut: { position: 'event:1' }, replayed: { recording: 'report.sse' } });
    expect(Buffer.from(plan.base64, 'base64').toString()).toContain(events[1]);
    const wrong = await runCommand(addExplainCommand, [...args, '--protocol', 'openai-responses']);
    expect([wrong.code, wrong.err]).toEqual([
      2,
      expect.stringContaining('--replay: nothing is recorded for this path'),
    ]);
  });
});

describe('other files', () => {
  it('of a JSON body', async () => {
    const json = '{"id":"x","choices":[{"message":{"content":"hi"}}]}\n';
    const server = await serve({ replay: fileOf('report.json', json), sequence: ['success', 'fin@text:1'] });
    const request = post(CHAT, {}, CLOSING);
    const answer = readAnswer((await witnessed(server.port, request)).bytes);
    expect(answer).toMatchObject({ status: 200, complete: true, body: Buffer.from(json) });
    expect(answer && headerOf(answer, 'content-type')).toBe('application/json');
    expect((await witnessed(server.port, request)).bytes.toString()).toMatch(/"content":"h$/);
  });

  it('of an answer as it was on the wire, whole or not', async () => {
    const whole = chunkedAnswer(Buffer.from('data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'), 20);
    for (const [bytes, complete] of [
      [whole, true],
      [whole.subarray(0, -9), false],
    ] as const) {
      const server = await serve({ replay: fileOf('000001.upstream', bytes) });
      const got = await witnessed(server.port, ASK);
      expect(got.bytes.equals(bytes)).toBe(true);
      expect([got.end, readAnswer(got.bytes)?.complete]).toEqual(['fin', complete]);
    }
  });
});

describe('HAR', () => {
  const stream = 'data: {"choices":[{"delta":{"content":"h\u00e9llo"}}]}\n\ndata: [DONE]\n\n';
  const other = Buffer.from([0xff, 0x00, 0x80]);

  it('goes out and comes back with the same bodies, heads and first bytes', async () => {
    const dir = folder();
    const answers = [chunkedAnswer(Buffer.from(stream)), chunkedAnswer(other, 2, 'application/octet-stream')];
    const upstream = await rawUpstream((socket, nth) => socket.write(answers[nth - 1] ?? ''));
    const proxy = await proxied({ upstream: upstream.url, record: dir });
    const asks = [1, 2].map((n) =>
      post(CHAT, { stream: n === 1, n }, { ...CLOSING, Authorization: 'Bearer sk-secret-1234' }),
    );
    for (const ask of asks) await witnessed(proxy.port, ask);
    await proxy.close();
    const har = join(folder(), 'out.har');
    expect(await runCommand(addRecordingCommand, ['recording', dir, '--har', har])).toEqual({
      code: 0,
      out: '',
      err: '',
    });
    expect(readFileSync(har, 'utf8')).not.toContain('sk-secret');
    const archive: Har = JSON.parse(readFileSync(har, 'utf8'));
    const [first, second] = archive.log.entries;
    expect(first).toMatchObject({
      request: { method: 'POST', postData: { text: '{"stream":true,"n":1}' } },
      response: { status: 200, statusText: 'OK', content: { text: stream, mimeType: 'text/event-stream' } },
    });
    expect(second?.response.content).toMatchObject({ text: other.toString('base64'), encoding: 'base64' });
    const wait = exchangeIn(dir).answer.segments?.[0]?.atMs;
    expect(first?.timings.wait).toBe(wait);
    const server = await serve({ replay: har });
    for (const [n, body] of [
      [1, other],
      [0, Buffer.from(stream)],
    ] as const) {
      const { bytes } = await witnessed(server.port, asks[n] ?? '');
      expect(readAnswer(bytes)?.body.equals(body)).toBe(true);
    }
    expect((await server.ledger(1)).replayed).toEqual({ recording: 'out.har#2', by: 'fingerprint' });
    expect((await server.ledger(1)).times.plannedWaitMs).toBeGreaterThan(0);
  });

  const entry = {
    request: { method: 'POST', url: 'https://api.example.com/v1/chat/completions?x=1', postData: { text: '{}' } },
    response: {
      status: 529,
      statusText: 'Overloaded',
      headers: [
        { name: ':status', value: '529' },
        { name: 'content-encoding', value: 'br' },
        { name: 'x-request-id', value: 'req_1' },
      ],
      content: { text: '{"error":{}}', mimeType: 'application/json' },
    },
  };
  const harOf = (...entries: unknown[]): string => JSON.stringify({ log: { version: '1.2', entries } });

  it('of a browser is taken with what it has, and what is for nobody here is left out', async () => {
    const page = { request: { method: 'GET', url: 'https://x/' }, response: { status: 200, headers: [], content: {} } };
    const server = await serve({ replay: fileOf('a.har', harOf(page, entry)) });
    const { bytes } = await witnessed(server.port, post(CHAT, {}, CLOSING));
    expect(bytes.toString()).toBe(
      'HTTP/1.1 529 Overloaded\r\nContent-Type: application/json\r\nContent-Length: 12\r\nConnection: keep-alive\r\nx-request-id: req_1\r\n\r\n{"error":{}}',
    );
  });

  it.each([
    ['nonsense', '{', /a\.har: no JSON: /],
    ['no archive', '{"log":{}}', /a\.har: no HAR: it has no log\.entries$/],
    ['nothing for us', harOf(), /none of its 0 entries is a POST for an answer/],
    ['an entry without an answer', harOf({ request: entry.request }), /a\.har: log\.entries\[0\]\.response: /],
    [
      'an entry without a body',
      harOf({ ...entry, response: { ...entry.response, content: {} } }),
      /log\.entries\[0\]\.response\.content has no text; save the HAR with content$/,
    ],
  ])('with %s is refused in one line', async (_, text, message) => {
    await expect(serve({ replay: fileOf('a.har', text) })).rejects.toThrow(message);
  });
});

describe('what is no recording', () => {
  const exchange = {
    version: 1,
    recordedAt: '2026-01-01T00:00:00.000Z',
    dialect: 'openai-chat',
    request: { method: 'POST', path: CHAT, stream: true, fingerprint: 'x' },
    answer: { status: 200, bytes: 4, segments: [{ atMs: 0, bytes: 4 }], end: 'whole' },
    redacted: null,
  };

  function directory(files: Readonly<Record<string, unknown>>): string {
    const dir = folder();
    mkdirSync(join(dir, '000001'));
    for (const [name, value] of Object.entries(files)) {
      writeFileSync(join(dir, '000001', name), typeof value === 'string' ? value : JSON.stringify(value));
    }
    return dir;
  }

  it.each([
    [
      'an empty folder',
      () => folder(),
      /has no recordings; expected folders such as 000001 with exchange\.json in them$/,
    ],
    ['nothing at all', () => join(folder(), 'none'), /none: there is no such file$/],
    ['a file of another kind', () => fileOf('x.txt', 'x'), /x\.txt: expected a directory of recordings, a \.har/],
    ['a folder without files', () => directory({}), /000001\/exchange\.json: there is no such file$/],
    ['no JSON', () => directory({ 'exchange.json': '{' }), /exchange\.json: no JSON: /],
    ['JSON of another kind', () => directory({ 'exchange.json': [] }), /exchange\.json: the whole: /],
    [
      'a newer version',
      () => directory({ 'exchange.json': { ...exchange, version: 2 } }),
      /version 2 is newer than this program, which reads 1$/,
    ],
    [
      'an end that is none',
      () => directory({ 'exchange.json': { ...exchange, answer: { ...exchange.answer, end: 'bang' } } }),
      /exchange\.json: answer\.end: /,
    ],
    ['no answer', () => directory({ 'exchange.json': exchange }), /000001\/answer\.http: there is no such file$/],
    [
      'another length',
      () => directory({ 'exchange.json': exchange, 'answer.http': 'HTTP/' }),
      /answer\.bytes is 4, but answer\.http has 5 bytes$/,
    ],
    [
      'segments of another length',
      () =>
        directory({
          'exchange.json': { ...exchange, answer: { ...exchange.answer, segments: [{ atMs: 0, bytes: 3 }] } },
          'answer.http': 'HTTP',
        }),
      /answer\.segments have 3 bytes, but answer\.http has 4; leave them out for all at once$/,
    ],
    [
      'time that goes back',
      () =>
        directory({
          'exchange.json': {
            ...exchange,
            answer: {
              ...exchange.answer,
              segments: [
                { atMs: 5, bytes: 2 },
                { atMs: 4, bytes: 2 },
              ],
            },
          },
          'answer.http': 'HTTP',
        }),
      /answer\.segments\[1\]\.atMs is before that of the segment before it$/,
    ],
    [
      'a request that is none',
      () =>
        directory({
          'exchange.json': { ...exchange, request: { method: 'POST', path: CHAT, stream: true } },
          'answer.http': 'HTTP',
          'request.http': 'x',
        }),
      /request\.http: no HTTP request: /,
    ],
  ])('%s', async (_, make, message) => {
    const thrown: unknown = await serve({ replay: make() }).then(
      () => undefined,
      (error) => error,
    );
    expect(thrown).toBeInstanceOf(WirefaultError);
    expect(thrown).toMatchObject({ code: 'bad_recording', message: expect.stringMatching(/^replay: [^\n]+$/) });
    expect(String(thrown)).toMatch(message);
  });

  it('a proxy has an upstream to answer from', async () => {
    await expect(proxied({ upstream: 'http://127.0.0.1:9', replay: 'x' })).rejects.toThrow(
      'replay: a proxy answers from its upstream; use serve to replay',
    );
  });

  it('one that was written by hand needs no segments and no fingerprint', async () => {
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';
    const { fingerprint: _, ...request } = exchange.request;
    const dir = directory({
      'exchange.json': { ...exchange, request, answer: { status: 200, bytes: answer.length, end: 'whole' } },
      'answer.http': answer,
      'request.http': post(CHAT, { stream: true }),
    });
    const server = await serve({ replay: dir });
    expect((await witnessed(server.port, ASK)).bytes.toString()).toBe(answer);
    expect((await server.ledger(1)).replayed?.by).toBe('fingerprint');
  });
});
