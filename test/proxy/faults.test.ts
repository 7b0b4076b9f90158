import { describe, expect, it } from 'vitest';
import type { FaultSpec } from '../../src/fault/spec.js';
import type { FaultProxyOptions } from '../../src/index.js';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { readAnswer } from '../support/http.js';
import { planner } from '../support/plans.js';
import { post, witness, witnessed } from '../support/witness.js';
import { chunkedAnswer, PATH_OF, proxied, rawUpstream, recordings } from './support/upstream.js';

const CLOSING = { Connection: 'close' };

/** One recorded stream of each dialect; our own where there are none. */
const STREAMS = PROTOCOLS.map((protocol) => {
  const recorded = recordings().find((one) => one.protocol === protocol && one.name.endsWith('/text.sse'));
  const plan = planner()('success', protocol, { body: { stream: true } });
  const own = plan.marks
    .filter(({ kind }) => kind === 'chunk_data')
    .map(({ start, end }) => plan.bytes.subarray(start, end));
  return [protocol, recorded?.body ?? Buffer.concat(own)] as const;
});

describe.each(STREAMS)('a stream of %s', (protocol, body) => {
  const answer = chunkedAnswer(body, 613);
  const texts = body
    .toString('latin1')
    .split('\n\n')
    .filter((text) => text !== '');

  it('is cut behind each of its events', async () => {
    const upstream = await rawUpstream(answer);
    const sequence = texts.map((_, n) => `rst@event:${n + 1}` as const);
    const proxy = await proxied({ upstream: upstream.url, sequence });
    for (const [n] of texts.entries()) {
      const { bytes, end } = await witnessed(proxy.port, post(PATH_OF[protocol], { stream: true }));
      expect(end).toBe('rst');
      expect(bytes.equals(answer.subarray(0, bytes.length))).toBe(true);
      const told = texts
        .slice(0, n + 1)
        .map((text) => `${text}\n\n`)
        .join('');
      expect(readAnswer(bytes)?.body.toString('latin1').slice(0, told.length)).toBe(told);
      expect(await proxy.ledger(n + 1)).toMatchObject({
        outcome: 'reset',
        bytes: { written: bytes.length, read: bytes.length },
        cut: { position: `event:${n + 1}`, offset: bytes.length },
        upstream: { end: 'dropped', rewritten: false },
      });
    }
  });

  it('is cut before its terminal, whatever comes at once', async () => {
    const upstream = await rawUpstream((socket) => {
      // Byte by byte up there is one segment or many here: the place is the same.
      for (const byte of answer) socket.write(Buffer.from([byte]));
    });
    const proxy = await proxied({
      upstream: upstream.url,
      sequence: ['fin@terminator', 'rst@deltas', 'eof@terminator'],
    });
    const request = post(PATH_OF[protocol], { stream: true });
    const before = texts
      .slice(0, -1)
      .map((text) => `${text}\n\n`)
      .join('');
    const fin = await witnessed(proxy.port, request);
    expect([fin.end, readAnswer(fin.bytes)?.complete]).toEqual(['fin', false]);
    expect(fin.bytes.equals(answer.subarray(0, fin.bytes.length))).toBe(true);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'closed', terminal: { delivered: false } });
    const rst = await witnessed(proxy.port, request);
    expect([rst.end, rst.bytes.length < fin.bytes.length]).toEqual(['rst', true]);
    const eof = await witnessed(proxy.port, post(PATH_OF[protocol], { stream: true }, CLOSING));
    expect(readAnswer(eof.bytes)).toMatchObject({ complete: true });
    expect(readAnswer(eof.bytes)?.body.toString('latin1')).toBe(before);
  });
});

const CHAT = Buffer.from(
  [
    '{"choices":[{"delta":{"role":"assistant","content":""}}]}',
    '{"choices":[{"delta":{"content":"hello"}}]}',
    '{"choices":[{"delta":{"content":" world"}}]}',
    '{"choices":[{"delta":{},"finish_reason":"stop"}]}',
    '[DONE]',
  ]
    .map((data) => `data: ${data}\n\n`)
    .join(''),
);
const ANSWER = chunkedAnswer(CHAT, 70);
const ASK = post('/v1/chat/completions', { stream: true });

async function through(
  faults: FaultProxyOptions['sequence'],
  options: Partial<FaultProxyOptions> = {},
  answer = ANSWER,
) {
  const upstream = await rawUpstream(answer);
  return proxied({ upstream: upstream.url, ...(faults ? { sequence: faults } : {}), ...options });
}

describe('teardowns', () => {
  it.each([
    ['rst', 'rst', 'reset'],
    ['fin', 'fin', 'closed'],
    ['half_close', 'fin', 'closed'],
  ] as const)('%s', async (teardown, end, outcome) => {
    const proxy = await through([`${teardown}@event:2`]);
    expect((await witnessed(proxy.port, ASK)).end).toBe(end);
    expect(await proxy.ledger(1)).toMatchObject({ outcome, teardown: { kind: teardown } });
  });

  it('rst_now resets at once: a client may take it for an end, and have less', async () => {
    const proxy = await through(['rst_now@event:2']);
    await witnessed(proxy.port, ASK);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'reset', settled: null, teardown: { kind: 'rst_now' } });
  });

  it('stall stays open and silent', async () => {
    const proxy = await through(['stall@event:2']);
    const client = witness(proxy.port);
    client.send(ASK);
    await client.until((bytes) => bytes.includes('hello'));
    client.close();
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'stalled', upstream: { end: 'dropped' } });
  });

  it('a reset comes behind what a slow client has to read first', async () => {
    const long = chunkedAnswer(Buffer.concat([CHAT, Buffer.from(`data: ${'x'.repeat(3_000_000)}\n\n`)]), 50_000);
    const proxy = await through(['rst@byte:2000000'], { settleTimeoutMs: 15_000 }, long);
    const client = witness(proxy.port);
    client.pause();
    client.send(ASK);
    while (!proxy.events.some(({ type }) => type === 'request')) await new Promise((resolve) => setImmediate(resolve));
    client.resume();
    expect(await client.ended).toBe('rst');
    expect(client.received.equals(long.subarray(0, 2_000_000))).toBe(true);
  });
});

describe('pace', () => {
  it('waits behind events, at places, and at gates', async () => {
    const fault: FaultSpec = {
      pace: {
        firstByteMs: 5,
        after: { role: 'delta', ms: 5 },
        pauses: [{ at: 'event:1', ms: 5 }],
        gates: [{ at: 'event:2', name: 'two' }],
      },
    };
    const proxy = await through([fault]);
    const client = witness(proxy.port);
    client.send(ASK);
    await proxy.waitingAt('two');
    const before = await client.until((bytes) => bytes.includes('hello'));
    expect(before.includes('world')).toBe(false);
    proxy.release('two');
    expect((await client.until((bytes) => bytes.length === ANSWER.length)).equals(ANSWER)).toBe(true);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'completed', times: { plannedWaitMs: 20 } });
  });

  it('a speed limit, segments, and places of segments leave the bytes as they are', async () => {
    const proxy = await through([
      { pace: { bytesPerSecond: 20_000 } },
      { segments: { everyBytes: 40, gapMs: 1 } },
      { segments: { at: ['event:*.mid', 'chunk:*'], gapMs: 1 } },
    ]);
    const client = witness(proxy.port);
    for (let n = 1; n <= 3; n++) {
      client.send(ASK);
      const all = await client.until((bytes) => bytes.length === n * ANSWER.length);
      expect(all.subarray((n - 1) * ANSWER.length).equals(ANSWER)).toBe(true);
    }
    // Reads of a busy client join, but never all of them.
    expect(client.reads.length).toBeGreaterThan(3);
  });

  it('pulses repeat the last event', async () => {
    const body = Buffer.from('event: ping\ndata: {"type": "ping"}\n\ndata: never\n\n');
    const fault: FaultSpec = { pace: { pulse: { everyMs: 1, times: 3 } }, cut: { at: 'event:1', teardown: 'fin' } };
    const proxy = await through([fault], {}, chunkedAnswer(body, 36));
    const { bytes, end } = await witnessed(proxy.port, post('/v1/messages', { stream: true }));
    expect(end).toBe('fin');
    expect(readAnswer(bytes)?.body.toString()).toBe('event: ping\ndata: {"type": "ping"}\n\n'.repeat(4));
  });
});

describe('edits', () => {
  const bodyOf = async (fault: FaultSpec, protocol: Protocol = 'openai-chat'): Promise<string> => {
    const proxy = await through([fault]);
    const { bytes } = await witnessed(proxy.port, post(PATH_OF[protocol], { stream: true }, CLOSING));
    return readAnswer(bytes)?.body.toString() ?? bytes.toString();
  };

  it('of events leave the bytes of the others alone', async () => {
    expect(await bodyOf({ events: [{ op: 'omit', where: { role: 'finish' } }] })).toBe(
      CHAT.toString().replace(/data: \{"choices":\[\{"delta":\{\},"finish_reason":"stop"\}\]\}\n\n/, ''),
    );
    const patched = await bodyOf({
      events: [{ op: 'patch', where: { name: 'content', nth: 1 }, path: 'choices[0].delta.content', value: 'bye' }],
    });
    expect(patched).toBe(CHAT.toString().replace('hello', 'bye'));
    const moved = await bodyOf({ events: [{ op: 'move', where: { role: 'terminal' }, before: { role: 'delta' } }] });
    expect(moved.indexOf('[DONE]')).toBeLessThan(moved.indexOf('hello'));
  });

  it('of the form, of bytes, of the encoding', async () => {
    expect(await bodyOf({ sse: { eol: 'crlf' } })).toBe(CHAT.toString().replaceAll('\n', '\r\n'));
    expect(await bodyOf({ splice: [{ at: 'text:2', text: '!' }] })).toBe(CHAT.toString().replace('hello', 'he!llo'));
  });

  it('of the framing say that the answer was kept', async () => {
    const proxy = await through([{ framing: { kind: 'content_length' } }]);
    const { bytes } = await witnessed(proxy.port, post('/v1/chat/completions', { stream: true }, CLOSING));
    expect(readAnswer(bytes)).toMatchObject({ complete: true, chunks: [] });
    expect(await proxy.ledger(1)).toMatchObject({
      upstream: { buffered: 'framing: a length', rewritten: true, bytes: ANSWER.length },
    });
  });

  it('of the head pass with the stream behind it', async () => {
    const head = { status: 503, set: [['X-New', '1']], contentType: 'swapped' } as const;
    const proxy = await through([{ head, cut: { at: 'event:2', teardown: 'rst' } }]);
    const { bytes, end } = await witnessed(proxy.port, ASK);
    expect(end).toBe('rst');
    const [line, ...headers] = bytes.toString().split('\r\n\r\n')[0]?.split('\r\n') ?? [];
    expect([line, headers]).toEqual([
      'HTTP/1.1 503 Service Unavailable',
      ['Content-Type: application/json', 'Transfer-Encoding: chunked', 'X-New: 1'],
    ]);
    expect(bytes.toString().endsWith('hello"}}]}\n\n')).toBe(true);
    expect(await proxy.ledger(1)).toMatchObject({
      upstream: { buffered: null, rewritten: true },
      bytes: { read: bytes.length },
    });
  });
});

describe('faults that answer by themselves', () => {
  it('ask no upstream', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({
      upstream: upstream.url,
      sequence: ['rate_limit', 'html_200', 'connection_reset', 'rst_on_accept'],
    });
    expect((await witnessed(proxy.port, post('/v1/chat/completions', {}, CLOSING))).bytes.toString()).toContain(
      ' 429 ',
    );
    expect((await witnessed(proxy.port, post('/v1/chat/completions', {}, CLOSING))).bytes.toString()).toContain(
      '<html',
    );
    expect((await witnessed(proxy.port, ASK)).bytes).toHaveLength(0);
    await witnessed(proxy.port, ASK);
    expect(upstream.connections).toHaveLength(0);
    expect((await proxy.ledger(1)).upstream).toBeUndefined();
  });
});

describe('positions that the answer does not have', () => {
  it('end in an outcome that says so, behind the whole answer', async () => {
    const proxy = await through(['rst@event:99']);
    const { bytes } = await witnessed(proxy.port, post('/v1/chat/completions', { stream: true }, CLOSING));
    expect(bytes.equals(ANSWER)).toBe(true);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'cut_unreached', cut: null });
    expect((await proxy.ledger(1)).upstream?.error).toMatch(/event:99: the answer doesn't reach it/);
  });

  it.each([
    [
      'of a compressed answer',
      'Content-Type: text/event-stream\r\nContent-Encoding: gzip',
      /compressed \(gzip\); --decode/,
    ],
    ['of a web page', 'Content-Type: text/html', /no event stream \(text\/html\)/],
  ])('%s are refused before anything is sent', async (_, headers, message) => {
    const answer = Buffer.from(`HTTP/1.1 200 OK\r\n${headers}\r\nContent-Length: 4\r\n\r\nabcd`);
    const proxy = await through(['rst@event:1', 'rst@body:2'], {}, answer);
    const client = await witnessed(proxy.port, post('/v1/chat/completions', {}, CLOSING));
    expect(client.bytes.toString()).toMatch(/^HTTP\/1\.1 502 /);
    expect(client.bytes.toString()).toMatch(message);
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'cut_unreached' });
    // Bytes of the body are there all the same.
    const byBody = await witnessed(proxy.port, ASK);
    expect([byBody.end, byBody.bytes.toString().endsWith('\r\n\r\nab')]).toEqual(['rst', true]);
  });

  it('--decode asks for identity', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url, decode: true });
    await witnessed(proxy.port, post('/v1/chat/completions', {}, { ...CLOSING, 'Accept-Encoding': 'gzip, br' }));
    expect(upstream.requests[0]).toContain('Accept-Encoding: identity\r\n');
  });
});

describe('a JSON body', () => {
  const JSON_BODY = '{"choices":[{"message":{"role":"assistant","content":"hello world"},"finish_reason":"stop"}]}';
  const answer = Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${JSON_BODY.length}\r\n\r\n${JSON_BODY}`,
  );
  it.each([
    ['rst@text:5', 'hello'],
    ['rst@deltas', 'hello world'],
    ['rst@half', 'hello '],
    ['rst@terminator', ',"finish_reason":"stop"}]'],
  ] as const)('%s', async (word, ending) => {
    const proxy = await through([word], {}, answer);
    const { bytes, end } = await witnessed(proxy.port, post('/v1/chat/completions', {}));
    expect(end).toBe('rst');
    expect(bytes.toString().endsWith(ending)).toBe(true);
    expect(bytes.equals(answer.subarray(0, bytes.length))).toBe(true);
  });
});
