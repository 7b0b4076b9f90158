import { APICallError } from 'ai';
import { describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName } from '../../src/index.js';
import { serve } from '../support/server.js';
import { type AiTold, generated, MAX_TOKENS, PROVIDER_NAMES, type Provider, streamed } from './support/ai-told.js';
import { KEY, PARTIAL, QUICK, REASONING, REFUSAL, TEXT, thrownBy } from './support/sdk.js';

/** `ai` with its four providers: healthy answers by `streamText` and `generateText`, and what becomes of faulty ones. */
const NOTHING = { text: '', reasoning: '', calls: [] };
const CALL = { name: 'mock_tool', input: { value: 'mock' }, invalid: false };

/** Output tokens are a fourth of the code points, rounded up, and the whole limit where that was reached. */
const ANSWERS: Partial<Record<ConcreteBehaviorName, AiTold>> = {
  success: { ...NOTHING, text: TEXT, finish: 'stop', outputTokens: 6 },
  keepalive_then_success: { ...NOTHING, text: TEXT, finish: 'stop', outputTokens: 6 },
  reasoning_success: { ...NOTHING, reasoning: REASONING, text: TEXT, finish: 'stop', outputTokens: 10 },
  tool_call_success: { ...NOTHING, calls: [CALL], finish: 'tool-calls', outputTokens: 4 },
  parallel_tool_calls: { ...NOTHING, calls: [CALL, CALL], finish: 'tool-calls', outputTokens: 8 },
  max_tokens: { ...NOTHING, text: TEXT, finish: 'length', outputTokens: MAX_TOKENS },
  content_filter: { ...NOTHING, text: PARTIAL, finish: 'content-filter', outputTokens: 7 },
  refusal: { ...NOTHING, text: REFUSAL, finish: 'content-filter', outputTokens: 10 },
  empty: { ...NOTHING, finish: 'stop', outputTokens: 0 },
};

/** Where a provider of the SDK, or its API, has no way to tell the same. */
const OTHERWISE: Partial<Record<ConcreteBehaviorName, Partial<Record<Provider, Partial<AiTold>>>>> = {
  // OpenAI's own Chat has no field for reasoning, so its provider reads none.
  reasoning_success: { 'openai chat': { reasoning: '' } },
  // DeepSeek refuses in plain text.
  refusal: { 'openai-compatible': { finish: 'stop' } },
};

describe.each(PROVIDER_NAMES)('ai sdk, %s', (provider) => {
  it.each(Object.entries(ANSWERS))('%s', async (key, row) => {
    const name = key as ConcreteBehaviorName;
    const expected = { ...row, ...OTHERWISE[name]?.[provider] };
    const server = await serve({ sequence: [name, name], ...QUICK });
    expect(await streamed(server, provider)).toEqual({ ...expected, errors: [] });
    expect(await generated(server, provider)).toEqual(expected);
    expect(server.requests).toMatchObject([
      { body: { stream: true } },
      { body: expect.not.objectContaining({ stream: true }) },
    ]);
  });

  it('tool_call_truncated: a call that is marked as invalid', async () => {
    const server = await serve({ sequence: ['tool_call_truncated', 'tool_call_truncated'] });
    expect(await streamed(server, provider)).toMatchObject({
      calls: [{ name: 'mock_tool', input: '{"value"', invalid: true }],
      finish: 'length',
    });
    // Half an object has no place in a whole message of Anthropic's.
    const input = provider === 'anthropic' ? {} : '{"value"';
    expect(await generated(server, provider)).toMatchObject({
      calls: [{ name: 'mock_tool', input, invalid: true }],
      finish: 'length',
    });
  });

  it.each([
    ['rate_limit', 429, true],
    ['server_error', 500, true],
    ['auth_error', 401, false],
    ['invalid_request', 400, false],
  ] as const)('%s: an APICallError with status %i', async (name, statusCode, isRetryable) => {
    const server = await serve({ sequence: [name, name] });
    const { errors, finish } = await streamed(server, provider);
    const thrown = await thrownBy(generated(server, provider));
    for (const error of [...errors, thrown]) {
      expect(APICallError.isInstance(error)).toBe(true);
      expect(error).toMatchObject({ statusCode, isRetryable, message: expect.stringMatching(/^mock /) });
    }
    expect(errors.length).toBe(1);
    expect(finish).toBeUndefined();
  });

  it('a wrong key is an APICallError with status 401; the right one is let in', async () => {
    const server = await serve({ apiKey: KEY });
    expect(await thrownBy(generated(server, provider, 'sk-wrong'))).toMatchObject({ statusCode: 401 });
    expect(await generated(server, provider)).toMatchObject({ text: TEXT });
    expect(server.requests.length).toBe(1);
  });

  it('connection_reset: an APICallError without a status, to be retried', async () => {
    const server = await serve({ sequence: ['connection_reset', 'connection_reset'] });
    const { errors } = await streamed(server, provider);
    const thrown = await thrownBy(generated(server, provider));
    expect(errors.length).toBe(1);
    for (const error of [...errors, thrown]) {
      expect(error).toMatchObject({ statusCode: undefined, isRetryable: true, cause: { code: 'ECONNRESET' } });
    }
  });

  it('partial_disconnect: the stream throws, with no finish', async () => {
    const server = await serve({ sequence: ['partial_disconnect', 'partial_disconnect'], ...QUICK });
    const { errors, finish, text } = await streamed(server, provider);
    expect(PARTIAL.startsWith(text)).toBe(true);
    expect(finish).toBeUndefined();
    expect(errors).toMatchObject([{ message: 'Failed to process successful response' }]);
    expect(await thrownBy(generated(server, provider))).toMatchObject({ cause: { message: 'terminated' } });
    expect(await server.results(2)).toMatchObject([{ outcome: 'reset' }, { outcome: 'reset' }]);
  });

  it('partial_eof: the text, and a finish that is not stop; only openai-compatible says that something is wrong', async () => {
    const server = await serve({ sequence: ['partial_eof', 'partial_eof'], ...QUICK });
    const { errors, finish, text } = await streamed(server, provider);
    const told = provider === 'openai-compatible';
    expect({ text, finish }).toEqual({ text: PARTIAL, finish: told ? 'error' : 'other' });
    expect(errors).toMatchObject(told ? [{ message: 'Response stream ended without a finish reason.' }] : []);
    expect(await thrownBy(generated(server, provider))).toMatchObject({ message: 'Invalid JSON response' });
  });

  it('stream_error: the text, an error part and the finish error', async () => {
    const server = await serve({ sequence: ['stream_error', 'stream_error'] });
    expect(await streamed(server, provider)).toMatchObject({
      text: PARTIAL,
      finish: 'error',
      errors: [{ message: 'mock stream error' }],
    });
    expect(APICallError.isInstance(await thrownBy(generated(server, provider)))).toBe(true);
  });

  it('malformed_json: an error that says so', async () => {
    const server = await serve({ sequence: ['malformed_json', 'malformed_json'] });
    const { errors } = await streamed(server, provider);
    expect(errors).toMatchObject([{ message: expect.stringMatching(/^JSON parsing failed/) }]);
    expect(await thrownBy(generated(server, provider))).toMatchObject({ message: 'Invalid JSON response' });
  });
});
