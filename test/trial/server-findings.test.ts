import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { serve } from '../support/server.js';

/** What a live server tells about those who call it. */
async function post(baseURL: string, body: object): Promise<void> {
  const response = await fetch(`${baseURL}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) });
  await response.text().catch(() => {});
}

const ASKED = { model: 'gpt-5.4', stream: true, messages: [{ role: 'user', content: 'hello' }] };

describe('server.findings()', () => {
  it('has nothing to say of a client that waits as it is told', async () => {
    const server = await serve({ sequence: ['rate_limit', 'success'], retryAfterMs: 60 });
    const client = new OpenAI({ baseURL: `${server.baseURL}/v1`, apiKey: 'x', maxRetries: 1, logLevel: 'off' });
    for await (const _ of await client.chat.completions.create({
      ...ASKED,
      stream: true,
      messages: [{ role: 'user', content: 'hello' }],
    }));
    await server.idle();
    expect(server.ledgers).toHaveLength(2);
    expect(server.findings()).toEqual([]);
  });

  it('tells of one that does not', async () => {
    const server = await serve({ sequence: ['rate_limit', 'success'], retryAfterMs: 60_000 });
    await post(server.baseURL, ASKED);
    await server.idle();
    await post(server.baseURL, ASKED);
    await server.idle();
    expect(server.findings()).toMatchObject([
      {
        kind: 'retry_after_ignored',
        exchanges: [1, 2],
        evidence: ['exchange 1: status 429, wait 60000 ms', expect.stringMatching(/^exchange 2: after \d+ ms$/)],
      },
    ]);
  });

  it('tells where half an answer comes back as history', async () => {
    const server = await serve({ sequence: ['F2', 'success'], contentBlocks: 4, chunkSize: 24, chunkDelayMs: 0 });
    const response = await fetch(`${server.baseURL}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(ASKED),
    });
    const half = (await response.text())
      .split('\n\n')
      .flatMap((event) =>
        event.startsWith('data: {') ? [JSON.parse(event.slice(6)).choices[0]?.delta.content ?? ''] : [],
      )
      .join('');
    await post(server.baseURL, {
      ...ASKED,
      messages: [...ASKED.messages, { role: 'assistant', content: half }, { role: 'user', content: 'more' }],
    });
    await server.idle();
    const kinds = server.findings().map(({ kind }) => kind);
    expect(kinds).toContain('truncated_accepted');
    expect(kinds).not.toContain('replay_after_output');
  });
});
