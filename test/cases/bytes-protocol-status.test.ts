import { describe, expect, it } from 'vitest';
import { type Answer, headerOf, readAnswer } from '../support/http.js';
import { post } from '../support/witness.js';
import { PROTOCOLS, type Protocol, wireOf } from './support/bytes-protocol.js';
import { caseOptions, caseServer } from './support/case-server.js';
import { connect } from './support/played.js';

/** Section F of the cases, status and retry headers: what a raw client gets of each variant of B56. */
const RETRY_AFTER = {
  half: '0.5',
  '61': '61',
  '90': '90',
  days: '277403',
  date_far: 'Tue, 31 Dec 2999 23:59:59 GMT',
  date_past: 'Wed, 21 Oct 2015 07:28:00 GMT',
  negative: '-5',
  junk: 'soon',
} as const;
const STATUSES = [429, 529, 503] as const;

const ROWS = PROTOCOLS.flatMap((protocol) =>
  STATUSES.flatMap((status) =>
    Object.entries(RETRY_AFTER).map(([name, value]): [Protocol, string, number, string] => [
      protocol,
      `${status}_${name}`,
      status,
      value,
    ]),
  ),
);

/** The provider's error: its words say which. */
function expectError({ status, body, chunks }: Answer, wanted: number, message = `mock ${wanted}`): void {
  expect(status).toBe(wanted);
  expect(JSON.parse(String(body))).toMatchObject({ error: { message } });
  expect(chunks).toEqual([]);
}

const valuesOf = ({ headers }: Answer, name: string): string[] =>
  headers.filter(([other]) => other === name).map(([, value]) => value);

describe('B56: Retry-After', () => {
  it.each(ROWS)('%s: %s', async (protocol, variant, status, value) => {
    const { answer, end } = await wireOf('B56', variant, protocol);
    expectError(answer, status);
    expect(valuesOf(answer, 'retry-after')).toEqual([value]);
    expect(valuesOf(answer, 'retry-after-ms')).toEqual([]);
    expect(end).toBe('kept');
  });

  it.each(STATUSES)('openai-chat: %s_date_near, in 30 s from when it was sent', async (status) => {
    const before = Date.now();
    const { answer } = await wireOf('B56', `${status}_date_near`, 'openai-chat');
    const after = Date.now();
    expectError(answer, status);
    const value = headerOf(answer, 'retry-after') ?? '';
    const date = Date.parse(value);
    // In the form of HTTP, which has no parts of a second.
    expect(value).toBe(new Date(date).toUTCString());
    expect(date).toBeGreaterThan(before + 30_000 - 1000);
    expect(date).toBeLessThanOrEqual(after + 30_000);
  });
});

describe('B56: other words for the same', () => {
  it.each(PROTOCOLS)('%s: retry_after_ms', async (protocol) => {
    const { answer, end } = await wireOf('B56', 'retry_after_ms', protocol);
    expectError(answer, 429);
    expect([valuesOf(answer, 'retry-after'), valuesOf(answer, 'retry-after-ms')]).toEqual([[], ['1500']]);
    expect(end).toBe('kept');
  });

  it.each(PROTOCOLS)('%s: should_retry', async (protocol) => {
    const { answer, end } = await wireOf('B56', 'should_retry', protocol);
    expectError(answer, 400);
    expect(valuesOf(answer, 'x-should-retry')).toEqual(['true']);
    expect(end).toBe('kept');
  });

  it.each(PROTOCOLS)('%s: should_not_retry', async (protocol) => {
    const { answer, end } = await wireOf('B56', 'should_not_retry', protocol);
    expectError(answer, 429);
    expect(valuesOf(answer, 'x-should-retry')).toEqual(['false']);
    expect([valuesOf(answer, 'retry-after'), valuesOf(answer, 'retry-after-ms')]).toEqual([[], []]);
    expect(end).toBe('kept');
  });

  it.each(PROTOCOLS)('%s: in_stream', async (protocol) => {
    const { answer, text, end } = await wireOf('B56', 'in_stream', protocol);
    expect(text).toBe(
      'event: error\ndata: {"type":"error","status_code":429,"error":{"type":"usage_limit_reached",' +
        '"message":"mock usage limit","resets_in_seconds":277403}}\n\n',
    );
    expect({ status: answer.status, end }).toEqual({ status: 200, end: 'kept' });
    expect(valuesOf(answer, 'retry-after')).toEqual([]);
  });
});

const AT_ONCE = 8;

describe('B56: unread', () => {
  const REQUEST = post('/v1/chat/completions', { model: 'mock-model', stream: true }, { 'x-lane': 'unread' });

  it('eight at once are refused, whole and on connections that stay, and let in when they come again', async () => {
    const server = await caseServer('B56');
    const clients = Array.from({ length: AT_ONCE }, () => connect(server));
    const ask = async (): Promise<Answer[]> => {
      const from = clients.map(({ received }) => received.length);
      for (const client of clients) client.send(REQUEST);
      return Promise.all(
        clients.map(async (client, n) => {
          const rest = (bytes: Buffer) => readAnswer(bytes.subarray(from[n]));
          const answer = rest(await client.until((bytes) => rest(bytes)?.complete === true));
          if (!answer) throw new Error('no answer');
          return answer;
        }),
      );
    };
    for (const answer of await ask()) {
      expectError(answer, 429);
      expect(valuesOf(answer, 'retry-after-ms')).toEqual(['1000']);
    }
    for (const answer of await ask()) {
      expect(answer.status).toBe(200);
      expect(String(answer.body)).toMatch(/data: \[DONE\]\n\n$/);
    }
  });

  it('other lanes go their own way', async () => {
    const server = await caseServer('B56');
    const client = connect(server);
    client.send(REQUEST);
    await client.until((bytes) => readAnswer(bytes)?.complete === true);
    const { length } = client.received;
    client.send(post('/v1/chat/completions', { model: 'mock-model', stream: true }));
    const bytes = await client.until((all) => readAnswer(all.subarray(length))?.complete === true);
    expect(headerOf(readAnswer(bytes.subarray(length)) as Answer, 'retry-after')).toBe('0.5');
  });
});

it('B56: its sequence and its lane have its variants in their order', async () => {
  const { behaviors = {}, sequence = [], lanes } = await caseOptions('B56');
  expect([...sequence, 'unread']).toEqual(Object.keys(behaviors));
  expect(lanes?.unread?.sequence).toEqual([...Array.from({ length: AT_ONCE }, () => 'unread'), 'success']);
});
