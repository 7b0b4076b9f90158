import type { AIMessage } from '@langchain/core/messages';
import { concat } from '@langchain/core/utils/stream';
import { ChatOpenAI } from '@langchain/openai';
import { describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName, FaultServer } from '../../src/index.js';
import { serve } from '../support/server.js';
import { KEY, PARTIAL, PROMPT, QUICK, REASONING, TEXT, thrownBy } from './support/sdk.js';

/** `@langchain/openai` at both OpenAI APIs: `invoke` and `stream`. */
const APIS = { chat: false, responses: true };
type Api = keyof typeof APIS;
const API_NAMES = Object.keys(APIS) as readonly Api[];

interface Told {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly args: unknown }[];
  /** Chat's finish reason, or the status of a response or why it is incomplete. */
  readonly finish: unknown;
}

function model(server: FaultServer, api: Api): ChatOpenAI {
  const configuration = { baseURL: `${server.baseURL}/v1`, logLevel: 'off' as const };
  return new ChatOpenAI({ model: 'gpt-5.4', apiKey: KEY, maxRetries: 0, useResponsesApi: APIS[api], configuration });
}

function toldBy(message: AIMessage): Told {
  const metadata: Record<string, unknown> = message.response_metadata;
  const { finish_reason, status, incomplete_details } = metadata;
  const reason =
    typeof incomplete_details === 'object' && incomplete_details && 'reason' in incomplete_details
      ? incomplete_details.reason
      : undefined;
  return {
    text: message.text,
    calls: (message.tool_calls ?? []).map(({ name, args }) => ({ name, args })),
    finish: finish_reason ?? reason ?? status,
  };
}

async function invoked(server: FaultServer, api: Api): Promise<AIMessage> {
  return model(server, api).invoke(PROMPT);
}

/** The chunks put together, and what reading threw. */
async function streamed(server: FaultServer, api: Api): Promise<{ message: AIMessage | undefined; end: unknown }> {
  let message: Awaited<ReturnType<ChatOpenAI['invoke']>> | undefined;
  try {
    for await (const chunk of await model(server, api).stream(PROMPT)) {
      message = message ? concat(message, chunk) : chunk;
    }
    return { message, end: undefined };
  } catch (end) {
    return { message, end };
  }
}

const call = { name: 'mock_tool', args: { value: 'mock' } };

const ANSWERS: Partial<Record<ConcreteBehaviorName, { told: Omit<Told, 'finish'>; finish: Record<Api, string> }>> = {
  success: { told: { text: TEXT, calls: [] }, finish: { chat: 'stop', responses: 'completed' } },
  keepalive_then_success: { told: { text: TEXT, calls: [] }, finish: { chat: 'stop', responses: 'completed' } },
  reasoning_success: { told: { text: TEXT, calls: [] }, finish: { chat: 'stop', responses: 'completed' } },
  tool_call_success: { told: { text: '', calls: [call] }, finish: { chat: 'tool_calls', responses: 'completed' } },
  parallel_tool_calls: {
    told: { text: '', calls: [call, call] },
    finish: { chat: 'tool_calls', responses: 'completed' },
  },
  max_tokens: { told: { text: TEXT, calls: [] }, finish: { chat: 'length', responses: 'max_output_tokens' } },
  content_filter: {
    told: { text: PARTIAL, calls: [] },
    finish: { chat: 'content_filter', responses: 'content_filter' },
  },
  refusal: { told: { text: '', calls: [] }, finish: { chat: 'stop', responses: 'completed' } },
};

describe.each(API_NAMES)('langchain, %s', (api) => {
  it.each(Object.entries(ANSWERS))('%s', async (key, { told, finish }) => {
    const name = key as ConcreteBehaviorName;
    const server = await serve({ sequence: [name, name], ...QUICK });
    const expected = { ...told, finish: finish[api] };
    expect(toldBy(await invoked(server, api))).toEqual(expected);
    const { message, end } = await streamed(server, api);
    expect(end).toBeUndefined();
    expect(message && toldBy(message)).toEqual(expected);
    expect(server.requests).toMatchObject([
      { body: expect.not.objectContaining({ stream: true }) },
      { body: { stream: true } },
    ]);
  });

  it('reasoning is told', async () => {
    const server = await serve({ sequence: ['reasoning_success', 'reasoning_success'] });
    const messages = [await invoked(server, api), (await streamed(server, api)).message];
    for (const message of messages) {
      if (api === 'chat') expect(message?.additional_kwargs.reasoning_content).toBe(REASONING);
      else
        expect(message?.content).toContainEqual(expect.objectContaining({ type: 'reasoning', reasoning: REASONING }));
    }
  });

  it('usage is told', async () => {
    const server = await serve();
    const usage = { input_tokens: 12, output_tokens: 6, total_tokens: 18 };
    expect((await invoked(server, api)).usage_metadata).toMatchObject(usage);
    expect((await streamed(server, api)).message?.usage_metadata).toMatchObject(usage);
  });

  it.each([
    ['rate_limit', 429],
    ['server_error', 500],
    ['auth_error', 401],
    ['invalid_request', 400],
  ] as const)('%s: status %i', async (name, status) => {
    const server = await serve({ sequence: [name, name] });
    const message = expect.stringMatching(new RegExp(`^${status} mock `));
    expect(await thrownBy(invoked(server, api))).toMatchObject({ status, message });
    expect(await streamed(server, api)).toMatchObject({ message: undefined, end: { status, message } });
  });

  it('connection_reset throws', async () => {
    const server = await serve({ sequence: ['connection_reset', 'connection_reset'] });
    const lost = { message: 'Connection error.' };
    expect(await thrownBy(invoked(server, api))).toMatchObject(lost);
    expect(await streamed(server, api)).toMatchObject({ message: undefined, end: lost });
  });

  it('partial_disconnect throws', async () => {
    const server = await serve({ sequence: ['partial_disconnect', 'partial_disconnect'], ...QUICK });
    expect(await thrownBy(invoked(server, api))).toMatchObject({ message: 'terminated' });
    const { message, end } = await streamed(server, api);
    expect(end).toMatchObject({ message: 'terminated' });
    expect(PARTIAL.startsWith(message?.text ?? '')).toBe(true);
  });

  it('partial_eof: no JSON for invoke; the stream ends silently, without a finish', async () => {
    const server = await serve({ sequence: ['partial_eof', 'partial_eof'], ...QUICK });
    expect(await thrownBy(invoked(server, api))).toBeInstanceOf(SyntaxError);
    const { message, end } = await streamed(server, api);
    expect(end).toBeUndefined();
    expect(message && toldBy(message)).toEqual({ text: PARTIAL, calls: [], finish: undefined });
  });

  it('stream_error throws', async () => {
    const server = await serve({ sequence: ['stream_error'], ...QUICK });
    const { message, end } = await streamed(server, api);
    expect(end).toMatchObject({ message: 'mock stream error' });
    expect(message?.text).toBe(PARTIAL);
  });
});
