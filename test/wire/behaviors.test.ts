import { describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName } from '../../src/index.js';
import { type Answer, headerOf, readAnswer } from '../support/http.js';
import { judge, judgeByCommand, type RefereeProtocol } from '../support/referee.js';
import { serve } from '../support/server.js';
import { post, type WireEnd, witness, witnessed } from '../support/witness.js';

/**
 * Every behavior at real sockets, judged by a raw witness and by the referee. `Connection: close` makes each healthy
 * end a FIN, so that the end of the connection is part of what is checked.
 */
const DELAYS = { chunkDelayMs: 1, disconnectDelayMs: 20 };

interface Seen {
  readonly bytes: Buffer;
  readonly answer: Answer;
  readonly body: string;
  readonly end: WireEnd;
  readonly outcome: string;
  readonly chunksSent: number;
}

async function see(behavior: ConcreteBehaviorName, body: object): Promise<Seen> {
  const server = await serve({ sequence: [behavior], ...DELAYS });
  const request = post('/v1/chat/completions', body, { Connection: 'close' });
  const { bytes, end } = await witnessed(server.port, request);
  const [result] = await server.results(1);
  const answer = readAnswer(bytes);
  if (!answer || !result) throw new Error(`no head in ${bytes.length} bytes`);
  return { bytes, answer, body: answer.body.toString(), end, ...result };
}

interface Row {
  readonly end: WireEnd;
  readonly outcome: string;
  /** Whether the HTTP framing was ended. */
  readonly complete: boolean;
  readonly events: number;
  /** The terminal with which the referee accepts the stream. */
  readonly accepted?: readonly [RefereeProtocol, string];
  /** The rules that a faulty one breaks, and whether the referee accepts it as a truncated stream. */
  readonly broken?: { readonly rules: readonly string[]; readonly truncated: boolean };
}

const whole = { end: 'fin', outcome: 'completed', complete: true } as const;
const reset = { end: 'rst', outcome: 'reset', complete: false } as const;
const cut = { rules: ['chat.truncated'], truncated: true };
const nothing = { rules: ['chat.empty'], truncated: true };

/** "mock response recovered" is 23 code points: 3 deltas of 8; "discarded partial response" is 26: 4 deltas. */
const STREAMED: Partial<Record<ConcreteBehaviorName, Row>> = {
  success: { ...whole, events: 6, accepted: ['openai-chat', 'stop'] },
  slow_success: { ...whole, events: 6, accepted: ['openai-chat', 'stop'] },
  reasoning_success: { ...whole, events: 8, accepted: ['deepseek-chat', 'stop'] },
  tool_call_success: { ...whole, events: 5, accepted: ['openai-chat', 'tool_calls'] },
  max_tokens: { ...whole, events: 6, accepted: ['openai-chat', 'length'] },
  empty: { ...whole, events: 3, accepted: ['openai-chat', 'stop'] },
  wrong_content_type: { ...whole, events: 6, accepted: ['openai-chat', 'stop'] },
  stream_disconnect: { ...reset, events: 0, broken: nothing },
  partial_disconnect: { ...reset, events: 5, broken: cut },
  empty_body: { ...whole, events: 0, broken: nothing },
  stream_eof: { ...whole, events: 1, broken: cut },
  partial_eof: { ...whole, events: 5, broken: cut },
  malformed_json: { ...whole, events: 2, broken: { rules: ['json', 'chat.empty'], truncated: false } },
};

describe('streamed answers', () => {
  for (const [name, row] of Object.entries(STREAMED)) {
    const says = row.accepted ? `accepted as ${row.accepted.join(' ')}` : `breaks ${row.broken?.rules}`;
    it(`${name}: ${row.end}, ${row.events} events, ${says}`, async () => {
      const seen = await see(name as ConcreteBehaviorName, { stream: true, model: 'gpt-5.4' });
      expect(seen).toMatchObject({ end: row.end, outcome: row.outcome, chunksSent: row.events });
      expect(seen.answer).toMatchObject({ status: 200, complete: row.complete });
      expect(seen.answer.chunks.length).toBe(row.events);
      expect(seen.body.split('\n\n').length - 1).toBe(row.events);
      const { body } = seen.answer;
      if (row.accepted) {
        const [protocol, terminal] = row.accepted;
        expect(judge(protocol, body, { expect: [terminal] }).errors).toEqual([]);
      }
      if (row.broken) {
        expect(judge('openai-chat', body).rules).toEqual(row.broken.rules);
        expect(judge('openai-chat', body, { allowTruncated: true }).ok).toBe(row.broken.truncated);
      }
    });
  }

  it('malformed_event: an event whose choices is [null], then [DONE]; the referee fails', async () => {
    const seen = await see('malformed_event', { stream: true });
    expect(seen).toMatchObject({ end: 'fin', outcome: 'completed', chunksSent: 2 });
    const [event = '', done] = seen.body.split('\n\n');
    expect(JSON.parse(event.slice('data: '.length))).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [null],
    });
    expect(done).toBe('data: [DONE]');
    expect(judgeByCommand('openai-chat', seen.answer.body, '--allow-truncated').code).toBe(1);
  });

  it('malformed_json is {not-json, then [DONE]', async () => {
    const seen = await see('malformed_json', { stream: true });
    expect(seen.body).toBe('data: {not-json\n\ndata: [DONE]\n\n');
  });

  it('the referee as a command accepts success and reasoning_success, and rejects a cut one', async () => {
    const success = await see('success', { stream: true });
    expect(judgeByCommand('openai-chat', success.answer.body, '--expect', 'stop')).toMatchObject({ code: 0 });
    const reasoning = await see('reasoning_success', { stream: true });
    expect(judgeByCommand('deepseek-chat', reasoning.answer.body, '--expect', 'stop')).toMatchObject({ code: 0 });
    const partial = await see('partial_eof', { stream: true });
    expect(judgeByCommand('openai-chat', partial.answer.body)).toMatchObject({ code: 1 });
    expect(judgeByCommand('openai-chat', partial.answer.body, '--allow-truncated')).toMatchObject({ code: 0 });
  });

  it('usage is streamed when it is asked for, and accepted by the referee', async () => {
    const seen = await see('success', { stream: true, stream_options: { include_usage: true } });
    expect(judge('openai-chat', seen.answer.body, { expect: ['stop'] }).errors).toEqual([]);
    expect(seen.body).toContain('"usage":{"prompt_tokens":12,"completion_tokens":6,"total_tokens":18');
  });

  it('partial_disconnect delivers exactly partialText', async () => {
    const seen = await see('partial_disconnect', { stream: true });
    const pieces = seen.body.split('\n\n').flatMap((event) => {
      const data: { choices: { delta: { content?: string } }[] } | undefined = event.startsWith('data: ')
        ? JSON.parse(event.slice('data: '.length))
        : undefined;
      return data?.choices[0]?.delta.content ?? [];
    });
    expect(pieces).toEqual(['', 'discarde', 'd partia', 'l respon', 'se']);
  });

  it('wrong_content_type says application/json above a stream', async () => {
    const seen = await see('wrong_content_type', { stream: true });
    expect(headerOf(seen.answer, 'content-type')).toBe('application/json');
    expect(seen.body).toMatch(/^data: /);
  });
});

const FULL = '{"value":"mock"}';

/** What a body in one piece has of the whole: `undefined` for all of it. */
const JSON_BODIES: Partial<
  Record<ConcreteBehaviorName, { end: WireEnd; outcome: string; tail?: string; has?: object }>
> = {
  success: { ...whole, has: { choices: [{ message: { content: 'mock response recovered' }, finish_reason: 'stop' }] } },
  slow_success: { ...whole, has: { choices: [{ message: { content: 'mock response recovered' } }] } },
  reasoning_success: { ...whole, has: { choices: [{ message: { reasoning_content: 'mock reasoning' } }] } },
  tool_call_success: {
    ...whole,
    has: {
      choices: [
        {
          message: { content: null, tool_calls: [{ function: { name: 'mock_tool', arguments: FULL } }] },
          finish_reason: 'tool_calls',
        },
      ],
    },
  },
  max_tokens: { ...whole, has: { choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 77 } } },
  empty: { ...whole, has: { choices: [{ message: { content: '' }, finish_reason: 'stop' }] } },
  wrong_content_type: { ...whole, has: { choices: [{ finish_reason: 'stop' }] } },
  stream_disconnect: { ...reset, tail: '' },
  partial_disconnect: { ...reset, tail: 'discarded partial response' },
  empty_body: { ...whole, tail: '' },
  stream_eof: { ...whole, tail: '"content": "' },
  partial_eof: { ...whole, tail: 'discarded partial response' },
  malformed_json: { ...whole, tail: '{not-json' },
  malformed_event: { ...whole, has: { choices: [null] } },
};

describe('JSON bodies: the same behaviors for requests that do not stream', () => {
  for (const [name, row] of Object.entries(JSON_BODIES)) {
    it(`${name}: ${row.end}, ${row.tail === undefined ? 'a whole body' : `the body ends with ${JSON.stringify(row.tail)}`}`, async () => {
      const seen = await see(name as ConcreteBehaviorName, { max_tokens: 77 });
      expect(seen).toMatchObject({ end: row.end, outcome: row.outcome, chunksSent: 0 });
      expect(headerOf(seen.answer, 'content-length')).toBeDefined();
      expect(seen.answer.complete).toBe(row.end === 'fin');
      if (row.has) expect(JSON.parse(seen.body)).toMatchObject(row.has);
      if (row.tail === '') expect(seen.body).toBe('');
      else if (row.tail) expect(seen.body.endsWith(row.tail)).toBe(true);
      if (row.tail !== undefined && row.tail !== '') expect(() => JSON.parse(seen.body)).toThrow();
    });
  }

  it('wrong_content_type says text/event-stream above JSON', async () => {
    const seen = await see('wrong_content_type', {});
    expect(headerOf(seen.answer, 'content-type')).toBe('text/event-stream; charset=utf-8');
  });
});

const ERRORS: Partial<Record<ConcreteBehaviorName, { status: number; code: string | null; message: string }>> = {
  rate_limit: { status: 429, code: 'rate_limit_exceeded', message: 'mock rate limit' },
  server_error: { status: 500, code: null, message: 'mock server error' },
  service_unavailable: { status: 503, code: null, message: 'mock service unavailable' },
  auth_error: { status: 401, code: 'invalid_api_key', message: 'mock authentication failed' },
  invalid_request: { status: 400, code: null, message: 'mock invalid request' },
  context_overflow: {
    status: 400,
    code: 'context_length_exceeded',
    message: 'mock input exceeds the model context window',
  },
  quota_exceeded: { status: 429, code: 'insufficient_quota', message: 'mock insufficient quota' },
};

describe('HTTP errors', () => {
  for (const [name, row] of Object.entries(ERRORS)) {
    for (const stream of [true, false]) {
      it(`${name}, stream ${stream}: ${row.status}`, async () => {
        const seen = await see(name as ConcreteBehaviorName, { stream });
        expect(seen).toMatchObject({ end: 'fin', outcome: 'completed', chunksSent: 0 });
        expect(seen.answer).toMatchObject({ status: row.status, complete: true });
        expect(JSON.parse(seen.body)).toMatchObject({ error: { code: row.code, message: row.message } });
        expect(headerOf(seen.answer, 'x-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
        expect(headerOf(seen.answer, 'retry-after')).toBe(name === 'rate_limit' ? '1' : undefined);
      });
    }
  }

  it('retry-after is rounded up to seconds', async () => {
    const server = await serve({ sequence: ['rate_limit'], retryAfterMs: 2001 });
    const { bytes } = await witnessed(server.port, post('/chat/completions', {}, { Connection: 'close' }));
    const answer = readAnswer(bytes);
    expect(answer && headerOf(answer, 'retry-after')).toBe('3');
    expect(answer && headerOf(answer, 'retry-after-ms')).toBe('2001');
  });
});

describe('ends of connections', () => {
  it('connection_reset: not one byte, then ECONNRESET', async () => {
    const server = await serve({ sequence: ['connection_reset'] });
    const { bytes, end } = await witnessed(server.port, post('/v1/chat/completions', { stream: true }));
    expect({ bytes: bytes.length, end }).toEqual({ bytes: 0, end: 'rst' });
    expect(await server.results(1)).toMatchObject([{ outcome: 'reset', chunksSent: 0 }]);
  });

  for (const stream of [true, false]) {
    it(`stall, stream ${stream}: headers, then silence until the client closes`, async () => {
      const server = await serve({ sequence: ['stall', 'success'] });
      const client = witness(server.port);
      client.send(post('/v1/chat/completions', { stream }));
      await client.until((bytes) => bytes.includes('\r\n\r\n'));
      // Another exchange comes and goes meanwhile: the stalled one is still silent after it.
      await witnessed(server.port, post('/v1/chat/completions', { stream }, { Connection: 'close' }));
      expect(readAnswer(client.received)).toMatchObject({ status: 200, complete: false });
      expect(client.received.toString().endsWith('\r\n\r\n')).toBe(true);
      expect(server.requests[0]?.outcome).toBeUndefined();
      client.close();
      await server.results(2);
      expect(server.requests[0]).toMatchObject({ outcome: 'stalled', chunksSent: 0 });
    });
  }

  it('stall ends when the server closes', async () => {
    const server = await serve({ sequence: ['stall'] });
    const client = witness(server.port);
    client.send(post('/v1/chat/completions', { stream: true }));
    await client.until((bytes) => bytes.includes('\r\n\r\n'));
    await server.close();
    expect(await client.ended).toBe('fin');
    expect(server.requests[0]?.outcome).toBe('stalled');
  });

  for (const stream of [true, false]) {
    it(`ping_flood, stream ${stream}: signs of life until the client closes`, async () => {
      const server = await serve({ sequence: ['ping_flood'], keepaliveMs: 1 });
      const client = witness(server.port);
      client.send(post('/v1/responses', { stream }));
      const pings = stream ? /keepalive/g : /\n\r\n/g;
      await client.until((bytes) => (bytes.toString().match(pings)?.length ?? 0) > 20);
      client.close();
      expect(await server.results(1)).toMatchObject([{ outcome: 'stalled' }]);
      // Each keep-alive of the Responses API has the next number, also where the number grows by a digit.
      const numbers = [...client.received.toString().matchAll(/"keepalive","sequence_number":(\d+)/g)].map(([, n]) =>
        Number(n),
      );
      expect(numbers).toEqual(stream ? numbers.map((_, n) => n + 2) : []);
      expect(readAnswer(client.received)?.chunks.length).toBeGreaterThan(10);
    });
  }

  it('a client that goes in the middle of a paced answer is told apart', async () => {
    // A FIN may be a half-close; that the client is gone shows at the next write, so the pauses are short and many.
    const server = await serve({ sequence: ['slow_success'], chunkDelayMs: 5, successText: 'a'.repeat(80_000) });
    const client = witness(server.port);
    client.send(post('/v1/chat/completions', { stream: true }));
    await client.until((bytes) => bytes.includes('aaaa'));
    client.close();
    const [result] = await server.results(1);
    expect(result?.outcome).toBe('client_closed');
    expect(result?.chunksSent).toBeLessThan(1000);
  });

  it('a server that closes in the middle of a paced answer is told apart', async () => {
    const server = await serve({ sequence: ['slow_success'], chunkDelayMs: 2_000_000 });
    const client = witness(server.port);
    client.send(post('/v1/chat/completions', { stream: true }));
    await client.until((bytes) => bytes.includes('mock'));
    await server.close();
    expect(server.requests[0]?.outcome).toBe('server_closed');
    expect(await client.ended).toBe('fin');
  });

  it('HTTP/1.0 gets no chunks: the end of the connection ends the body', async () => {
    const server = await serve({ sequence: ['success'] });
    const { bytes, end } = await witnessed(
      server.port,
      post('/v1/chat/completions', { stream: true }).replace('HTTP/1.1', 'HTTP/1.0'),
    );
    const answer = readAnswer(bytes);
    expect(end).toBe('fin');
    expect(answer && headerOf(answer, 'transfer-encoding')).toBeUndefined();
    expect(answer && judge('openai-chat', answer.body, { expect: ['stop'] }).errors).toEqual([]);
  });
});
