import {
  APIConnectionError,
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  RateLimitError,
} from 'openai';
import { describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName } from '../../src/index.js';
import { serve } from '../support/server.js';
import { causesOf, KEY, openaiClient, PROMPT, QUICK, TEXT, thrownBy, timers } from './support/sdk.js';

/** `openai` from npm: HTTP errors and lost connections, and the SDK's own retries. */
const MODEL = 'gpt-5.4';
const MESSAGES = [{ role: 'user' as const, content: PROMPT }];

type Client = ReturnType<typeof openaiClient>;

const CALLS: Readonly<Record<string, (client: Client) => PromiseLike<unknown>>> = {
  'chat streamed': (client) => client.chat.completions.create({ model: MODEL, messages: MESSAGES, stream: true }),
  'chat whole': (client) => client.chat.completions.create({ model: MODEL, messages: MESSAGES }),
  'chat helper': (client) => client.chat.completions.stream({ model: MODEL, messages: MESSAGES }).done(),
  'responses streamed': (client) => client.responses.create({ model: MODEL, input: PROMPT, stream: true }),
  'responses whole': (client) => client.responses.create({ model: MODEL, input: PROMPT }),
  'responses helper': (client) => client.responses.stream({ model: MODEL, input: PROMPT }).done(),
};

interface ErrorRow {
  readonly is: new (...args: never[]) => Error;
  readonly has: { readonly status: number; readonly code: string | null; readonly type: string };
}

const ERRORS: Partial<Record<ConcreteBehaviorName, ErrorRow>> = {
  rate_limit: { is: RateLimitError, has: { status: 429, code: 'rate_limit_exceeded', type: 'requests' } },
  quota_exceeded: { is: RateLimitError, has: { status: 429, code: 'insufficient_quota', type: 'insufficient_quota' } },
  server_error: { is: InternalServerError, has: { status: 500, code: null, type: 'server_error' } },
  service_unavailable: { is: InternalServerError, has: { status: 503, code: null, type: 'server_error' } },
  overloaded: { is: InternalServerError, has: { status: 503, code: null, type: 'server_error' } },
  auth_error: { is: AuthenticationError, has: { status: 401, code: 'invalid_api_key', type: 'invalid_request_error' } },
  invalid_request: { is: BadRequestError, has: { status: 400, code: null, type: 'invalid_request_error' } },
  context_overflow: {
    is: BadRequestError,
    has: { status: 400, code: 'context_length_exceeded', type: 'invalid_request_error' },
  },
};

describe.each(Object.entries(CALLS))('openai %s', (_, call) => {
  it.each(Object.entries(ERRORS))('%s', async (name, { is, has }) => {
    const server = await serve({ sequence: [name as ConcreteBehaviorName], requestId: 'req_chosen', ...QUICK });
    const thrown = await thrownBy(call(openaiClient(server)));
    expect(thrown).toBeInstanceOf(is);
    expect(thrown).toMatchObject({ ...has, requestID: 'req_chosen' });
    expect(thrown).toHaveProperty('message', expect.stringMatching(new RegExp(`^${has.status} mock `)));
    expect(server.requests.length).toBe(1);
  });

  it('connection_reset', async () => {
    const server = await serve({ sequence: ['connection_reset'] });
    const thrown = await thrownBy(call(openaiClient(server)));
    expect(thrown).toBeInstanceOf(APIConnectionError);
    expect(causesOf(thrown)).toEqual(['ECONNRESET']);
  });

  it('connection_refused', async () => {
    const server = await serve({ sequence: ['connection_refused'], listenDelayMs: 1_000_000 });
    const thrown = await thrownBy(call(openaiClient(server)));
    expect(thrown).toBeInstanceOf(APIConnectionError);
    expect(causesOf(thrown)).toEqual(['ECONNREFUSED']);
    expect(server.requests).toEqual([]);
  });

  it('a wrong key is an AuthenticationError that consumes nothing; the right one is let in', async () => {
    const server = await serve({ apiKey: KEY });
    const thrown = await thrownBy(call(openaiClient(server, { apiKey: 'sk-wrong' })));
    expect(thrown).toBeInstanceOf(AuthenticationError);
    expect(thrown).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect(server.requests).toEqual([]);
    await call(openaiClient(server));
    expect(server.requests.length).toBe(1);
  });
});

it('openai: an unknown path is a 404 that says what exists', async () => {
  const thrown = await thrownBy(openaiClient(await serve()).embeddings.create({ model: MODEL, input: PROMPT }));
  expect(thrown).toBeInstanceOf(APIError);
  expect(thrown).toMatchObject({ status: 404, type: 'wirefault_error', code: 'unknown_path' });
});

describe('openai retries', () => {
  const retrying = { maxRetries: 1 };
  const ask = async (client: Client): Promise<string | null | undefined> =>
    (await client.chat.completions.create({ model: MODEL, messages: MESSAGES })).choices[0]?.message.content;

  it('rate_limit: after retry-after-ms', async () => {
    const server = await serve({ sequence: ['rate_limit', 'success'], ...QUICK });
    const delays = timers();
    expect(await ask(openaiClient(server, retrying))).toBe(TEXT);
    expect(delays()).toContain(QUICK.retryAfterMs);
    expect(server.requests.map(({ headers }) => headers['x-stainless-retry-count'])).toEqual(['0', '1']);
  });

  it.each(['server_error', 'service_unavailable', 'connection_reset'] as const)('%s', async (name) => {
    const server = await serve({ sequence: [name, 'success'], ...QUICK });
    expect(await ask(openaiClient(server, retrying))).toBe(TEXT);
    expect(server.requests.map(({ behavior }) => behavior)).toEqual([name, 'success']);
  });

  it.each(['auth_error', 'invalid_request', 'context_overflow'] as const)('%s: none', async (name) => {
    const server = await serve({ sequence: [name, 'success'], ...QUICK });
    await thrownBy(ask(openaiClient(server, retrying)));
    expect(server.requests.map(({ behavior }) => behavior)).toEqual([name]);
  });

  it('none after the headers', async () => {
    const server = await serve({ sequence: ['partial_disconnect', 'success'], ...QUICK });
    expect(await thrownBy(ask(openaiClient(server, retrying)))).toMatchObject({ message: 'terminated' });
    expect(server.requests.length).toBe(1);
  });

  it('a script that is used up is a 500 that says so', async () => {
    const server = await serve({ sequence: ['success'] });
    await ask(openaiClient(server));
    const thrown = await thrownBy(ask(openaiClient(server)));
    expect(thrown).toBeInstanceOf(InternalServerError);
    expect(thrown).toMatchObject({ code: 'MOCK_SCRIPT_EXHAUSTED' });
  });
});
