import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName } from '../../src/index.js';
import { type Served, serve } from '../support/server.js';
import {
  anthropicClient,
  causesOf,
  endOf,
  expectOutcome,
  KEY,
  PARTIAL,
  PROMPT,
  QUICK,
  TEXT,
  thrownBy,
  timers,
} from './support/sdk.js';

/** `@anthropic-ai/sdk` from npm at errors and at answers that are cut or wrong: what the SDK does today. */
const ASKED = {
  model: 'claude-haiku-4-5',
  max_tokens: 77,
  messages: [{ role: 'user' as const, content: PROMPT }],
};

const CALLS: Readonly<Record<string, (client: Anthropic) => PromiseLike<unknown>>> = {
  streamed: (client) => client.messages.create({ ...ASKED, stream: true }),
  whole: (client) => client.messages.create(ASKED),
  helper: (client) => client.messages.stream(ASKED).done(),
};

interface ErrorRow {
  readonly is: new (...args: never[]) => Error;
  readonly status: number;
  readonly type: string;
}

const ERRORS: Partial<Record<ConcreteBehaviorName, ErrorRow>> = {
  rate_limit: { is: Anthropic.RateLimitError, status: 429, type: 'rate_limit_error' },
  server_error: { is: Anthropic.InternalServerError, status: 500, type: 'api_error' },
  service_unavailable: { is: Anthropic.InternalServerError, status: 503, type: 'api_error' },
  overloaded: { is: Anthropic.InternalServerError, status: 529, type: 'overloaded_error' },
  auth_error: { is: Anthropic.AuthenticationError, status: 401, type: 'authentication_error' },
  invalid_request: { is: Anthropic.BadRequestError, status: 400, type: 'invalid_request_error' },
  context_overflow: { is: Anthropic.BadRequestError, status: 400, type: 'invalid_request_error' },
  quota_exceeded: { is: Anthropic.BadRequestError, status: 400, type: 'invalid_request_error' },
};

describe.each(Object.entries(CALLS))('anthropic %s', (_, call) => {
  it.each(Object.entries(ERRORS))('%s', async (name, { is, status, type }) => {
    const server = await serve({ sequence: [name as ConcreteBehaviorName], requestId: 'req_chosen', ...QUICK });
    const thrown = await thrownBy(call(anthropicClient(server)));
    expect(thrown).toBeInstanceOf(is);
    const error = {
      type: 'error',
      error: { type, message: expect.stringMatching(/^mock /) },
      request_id: 'req_chosen',
    };
    expect(thrown).toMatchObject({ status, requestID: 'req_chosen', error });
    expect(server.requests.length).toBe(1);
  });

  it('connection_reset', async () => {
    const server = await serve({ sequence: ['connection_reset'] });
    const thrown = await thrownBy(call(anthropicClient(server)));
    expect(thrown).toBeInstanceOf(Anthropic.APIConnectionError);
    expect(causesOf(thrown)).toEqual(['ECONNRESET']);
  });

  it('a wrong key is an AuthenticationError that consumes nothing; the right one is let in', async () => {
    const server = await serve({ apiKey: KEY });
    const thrown = await thrownBy(call(anthropicClient(server, { apiKey: 'sk-wrong' })));
    expect(thrown).toBeInstanceOf(Anthropic.AuthenticationError);
    expect(thrown).toMatchObject({ status: 401, error: { error: { type: 'authentication_error' } } });
    expect(server.requests).toEqual([]);
    await call(anthropicClient(server));
    expect(server.requests.length).toBe(1);
  });
});

it("anthropic: the list of models answers a wrong key in the provider's words", async () => {
  const client = anthropicClient(await serve({ apiKey: KEY }), { apiKey: 'sk-wrong' });
  const thrown = await thrownBy(client.models.list());
  expect(thrown).toBeInstanceOf(Anthropic.AuthenticationError);
  expect(thrown).toMatchObject({ error: { type: 'error', error: { type: 'authentication_error' } } });
});

describe('anthropic retries', () => {
  const ask = async (server: Served): Promise<unknown> =>
    (await anthropicClient(server, { maxRetries: 1 }).messages.create(ASKED)).content;
  const recovered = [{ type: 'text', text: TEXT }];

  it('rate_limit: after retry-after-ms', async () => {
    const server = await serve({ sequence: ['rate_limit', 'success'], ...QUICK });
    const delays = timers();
    expect(await ask(server)).toEqual(recovered);
    expect(delays()).toContain(QUICK.retryAfterMs);
    expect(server.requests.map(({ headers }) => headers['x-stainless-retry-count'])).toEqual(['0', '1']);
  });

  it.each(['overloaded', 'connection_reset'] as const)('%s', async (name) => {
    const server = await serve({ sequence: [name, 'success'], ...QUICK });
    expect(await ask(server)).toEqual(recovered);
    expect(server.requests.map(({ behavior }) => behavior)).toEqual([name, 'success']);
  });

  it.each(['auth_error', 'invalid_request', 'quota_exceeded'] as const)('%s: none', async (name) => {
    const server = await serve({ sequence: [name, 'success'], ...QUICK });
    await thrownBy(ask(server));
    expect(server.requests.map(({ behavior }) => behavior)).toEqual([name]);
  });
});

interface Seen {
  /** How reading ended; `undefined` for a normal end. */
  readonly end: unknown;
  readonly text: string;
  readonly last: string | undefined;
  readonly stop: string | null;
}

async function raw(server: Served): Promise<Seen> {
  let text = '';
  let last: string | undefined;
  let stop: string | null = null;
  const end = await endOf(anthropicClient(server).messages.create({ ...ASKED, stream: true }), (event) => {
    last = event.type;
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text;
    if (event.type === 'message_delta') stop = event.delta.stop_reason;
  });
  return { end, text, last, stop };
}

const NO_MESSAGE = 'stream ended without producing a Message with role=assistant';
const NO_CHUNKS = 'request ended without sending any chunks';

/** The raw stream ends silently; the helper rejects. */
const SILENT: Partial<Record<ConcreteBehaviorName, Omit<Seen, 'end'> & { readonly helper: string }>> = {
  partial_eof: { text: PARTIAL, last: 'content_block_delta', stop: null, helper: NO_MESSAGE },
  no_finish: { text: TEXT, last: 'content_block_delta', stop: null, helper: NO_MESSAGE },
  no_terminal: { text: TEXT, last: 'message_delta', stop: 'end_turn', helper: NO_MESSAGE },
  foreign_terminal: { text: TEXT, last: 'message_delta', stop: 'end_turn', helper: NO_MESSAGE },
  stream_eof: { text: '', last: 'message_start', stop: null, helper: NO_MESSAGE },
  empty_body: { text: '', last: undefined, stop: null, helper: NO_CHUNKS },
  html_200: { text: '', last: undefined, stop: null, helper: NO_CHUNKS },
  json_error_200: { text: '', last: undefined, stop: null, helper: NO_CHUNKS },
};

describe.each(Object.entries(SILENT))('anthropic, streamed: %s', (name, { helper, ...seen }) => {
  const sequence = [name as ConcreteBehaviorName];

  it('the raw stream ends silently', async () => {
    const server = await serve({ sequence, ...QUICK });
    expect(await raw(server)).toEqual({ ...seen, end: undefined });
    await expectOutcome(server, 'completed');
  });

  it('the helper rejects', async () => {
    const { messages } = anthropicClient(await serve({ sequence, ...QUICK }));
    expect(await thrownBy(messages.stream(ASKED).finalMessage())).toMatchObject({ message: helper });
  });
});

describe('anthropic, streamed: what the SDK throws at', () => {
  it('stream_error: the text so far, then an APIError of the type', async () => {
    const { end, text, stop } = await raw(await serve({ sequence: ['stream_error'] }));
    expect(end).toBeInstanceOf(Anthropic.APIError);
    expect(end).toMatchObject({ error: { error: { type: 'overloaded_error', message: 'mock stream error' } } });
    expect({ text, stop }).toEqual({ text: PARTIAL, stop: null });
  });

  it.each(['partial_disconnect', 'stream_disconnect'] as const)('%s', async (name) => {
    const server = await serve({ sequence: [name], ...QUICK });
    const { end, text, stop } = await raw(server);
    expect(end).toBeInstanceOf(TypeError);
    expect(end).toMatchObject({ message: 'terminated' });
    // A reset may overtake what the client hasn't read.
    expect((name === 'partial_disconnect' ? PARTIAL : '').startsWith(text)).toBe(true);
    expect(stop).toBeNull();
    await expectOutcome(server, 'reset');
  });

  it('malformed_json', async () => {
    expect((await raw(await serve({ sequence: ['malformed_json'] }))).end).toBeInstanceOf(SyntaxError);
  });

  it('duplicate_open: the helper alone', async () => {
    const server = await serve({ sequence: ['duplicate_open', 'duplicate_open'] });
    expect(await raw(server)).toMatchObject({ end: undefined, text: TEXT, stop: 'end_turn' });
    expect(await thrownBy(anthropicClient(server).messages.stream(ASKED).done())).toMatchObject({
      message: expect.stringContaining('Unexpected event order'),
    });
  });
});

describe('anthropic, whole', () => {
  const ask = async (name: ConcreteBehaviorName): Promise<unknown> =>
    anthropicClient(await serve({ sequence: [name], ...QUICK })).messages.create(ASKED);

  it.each(['partial_eof', 'stream_eof', 'no_terminal', 'malformed_json'] as const)('%s is no JSON', async (name) => {
    expect(await thrownBy(ask(name))).toBeInstanceOf(SyntaxError);
  });

  it.each(['partial_disconnect', 'stream_disconnect'] as const)('%s terminates the body', async (name) => {
    expect(await thrownBy(ask(name))).toMatchObject({ message: 'terminated' });
  });

  it.each(['json_error_200', 'stream_error'] as const)('%s is handed on as if it were a message', async (name) => {
    expect(await ask(name)).toMatchObject({ type: 'error', error: { message: 'mock stream error' } });
  });

  it.each(['html_200', 'wrong_content_type'] as const)('%s is handed on as a string', async (name) => {
    expect(await ask(name)).toEqual(expect.any(String));
  });
});
