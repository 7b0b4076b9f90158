import type Anthropic from '@anthropic-ai/sdk';
import type { AIMessageChunk } from '@langchain/core/messages';
import { concat } from '@langchain/core/utils/stream';
import { ChatOpenAI } from '@langchain/openai';
import { createParser } from 'eventsource-parser';
import type OpenAI from 'openai';
import type { FaultServer } from '../../../src/index.js';
import { type Provider, streamed } from '../../clients/support/ai-told.js';
import { anthropicClient, KEY, openaiClient, PROMPT } from '../../clients/support/sdk.js';

/** Clients from npm, each asked for one streamed answer in the way of its documentation, and what they told of it. */
export interface Seen {
  readonly text: string;
  /** Tool calls as they were told; `invalid` where the client says so itself. */
  readonly calls: readonly { readonly name: string; readonly arguments: string; readonly invalid?: boolean }[];
  /** Why the model stopped, in the client's words; `undefined` where it told nothing of that. */
  readonly finish: string | undefined;
  /** Errors that were handed on without ending the reading. */
  readonly errors: readonly unknown[];
  /** What ended the reading; `undefined` for a normal end. */
  readonly thrown: unknown;
  /** Output tokens, where the client told some. */
  readonly outputTokens: number | undefined;
}

export type Client = (server: FaultServer) => Promise<Seen>;

type Draft = { -readonly [K in Exclude<keyof Seen, 'calls'>]: Seen[K] } & {
  calls: { name: string; arguments: string; invalid?: boolean }[];
};

/** Reads with `read`, which notes what it sees as it goes, so that an error leaves what came before it. */
async function reading(read: (seen: Draft) => Promise<void>): Promise<Seen> {
  const seen: Draft = {
    text: '',
    calls: [],
    finish: undefined,
    errors: [],
    thrown: undefined,
    outputTokens: undefined,
  };
  try {
    await read(seen);
  } catch (thrown) {
    seen.thrown = thrown;
  }
  return seen;
}

const TOOLS: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'mock_tool', parameters: { type: 'object' } } },
];
/** Asks for no usage, so that the finish_reason is the last that is told. The other clients ask for it by themselves. */
const CHAT = { model: 'gpt-5.4', messages: [{ role: 'user' as const, content: PROMPT }] };

/** `create({ stream: true })`: the chunks as they are. What may be null on the wire is read as absent. */
const openaiChat: Client = (server) =>
  reading(async (seen) => {
    for await (const chunk of await openaiClient(server).chat.completions.create({ ...CHAT, stream: true })) {
      const choice = chunk.choices?.[0];
      seen.text += choice?.delta?.content ?? '';
      for (const piece of choice?.delta?.tool_calls ?? []) {
        const last = seen.calls.at(-1);
        // By order, as a piece without an id goes on with the call before it.
        if (!last || piece.id) seen.calls.push({ name: piece.function?.name ?? '', arguments: '' });
        const call = seen.calls.at(-1);
        if (call) call.arguments += piece.function?.arguments ?? '';
      }
      seen.finish = choice?.finish_reason ?? seen.finish;
      seen.outputTokens = chunk.usage?.completion_tokens ?? seen.outputTokens;
    }
  });

/** `chat.completions.stream()`, which puts the chunks together. */
const openaiChatHelper: Client = (server) =>
  reading(async (seen) => {
    const stream = openaiClient(server).chat.completions.stream({ ...CHAT, tools: TOOLS });
    // What was told as it came is all that a reader has when the end is an error.
    stream.on('content', (piece) => {
      seen.text += piece;
    });
    const { choices, usage } = await stream.finalChatCompletion();
    const [choice] = choices;
    seen.text = choice?.message.content ?? '';
    seen.calls = (choice?.message.tool_calls ?? []).flatMap((call) => ('function' in call ? [call.function] : []));
    seen.finish = choice?.finish_reason;
    seen.outputTokens = usage?.completion_tokens;
  });

const openaiResponses: Client = (server) =>
  reading(async (seen) => {
    const asked = { model: 'gpt-5.4', input: PROMPT, stream: true } as const;
    for await (const event of await openaiClient(server).responses.create(asked)) {
      if (event.type === 'response.output_text.delta') seen.text += event.delta;
      if (event.type === 'response.output_item.added' && event.item.type === 'function_call')
        seen.calls.push({ name: event.item.name, arguments: '' });
      const call = seen.calls.at(-1);
      if (event.type === 'response.function_call_arguments.delta' && call) call.arguments += event.delta;
      if (event.type === 'response.completed' || event.type === 'response.incomplete') {
        seen.finish = event.response.incomplete_details?.reason ?? event.response.status;
        seen.outputTokens = event.response.usage?.output_tokens;
      }
      if (event.type === 'error') seen.errors = [...seen.errors, event];
    }
  });

const MESSAGE = {
  model: 'claude-haiku-4-5',
  max_tokens: 77,
  messages: [{ role: 'user' as const, content: PROMPT }],
  tools: [{ name: 'mock_tool', input_schema: { type: 'object' as const } }],
};

const anthropicRaw: Client = (server) =>
  reading(async (seen) => {
    for await (const event of await anthropicClient(server).messages.create({ ...MESSAGE, stream: true }))
      takeMessageEvent(seen, event);
  });

function takeMessageEvent(seen: Draft, event: Anthropic.RawMessageStreamEvent): void {
  if (event.type === 'content_block_start' && event.content_block.type === 'tool_use')
    seen.calls.push({ name: event.content_block.name, arguments: '' });
  if (event.type === 'content_block_delta') {
    const call = seen.calls.at(-1);
    if (event.delta.type === 'text_delta') seen.text += event.delta.text;
    if (event.delta.type === 'input_json_delta' && call) call.arguments += event.delta.partial_json;
  }
  if (event.type === 'message_delta') seen.finish = event.delta.stop_reason ?? undefined;
}

/** `messages.stream()`, which puts the events together. */
const anthropicHelper: Client = (server) =>
  reading(async (seen) => {
    const stream = anthropicClient(server).messages.stream(MESSAGE);
    stream.on('text', (piece) => {
      seen.text += piece;
    });
    const message = await stream.finalMessage();
    seen.text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    seen.calls = message.content.flatMap((block) =>
      block.type === 'tool_use' ? [{ name: block.name, arguments: JSON.stringify(block.input) }] : [],
    );
    seen.finish = message.stop_reason ?? undefined;
  });

function aiSdk(provider: Provider): Client {
  return async (server) => {
    const { text, calls, finish, errors, outputTokens } = await streamed(server, provider);
    const told = calls.map(({ name, input, invalid }) => ({
      name,
      arguments: typeof input === 'string' ? input : JSON.stringify(input),
      invalid,
    }));
    return { text, calls: told, finish, errors, thrown: undefined, outputTokens };
  };
}

function langchain(useResponsesApi: boolean): Client {
  return (server) =>
    reading(async (seen) => {
      const configuration = { baseURL: `${server.baseURL}/v1`, logLevel: 'off' as const };
      const model = new ChatOpenAI({ model: 'gpt-5.4', apiKey: KEY, useResponsesApi, configuration });
      let message: AIMessageChunk | undefined;
      for await (const chunk of await model.stream(PROMPT)) {
        message = message ? concat(message, chunk) : chunk;
        seen.text = message.text;
      }
      const { finish_reason, incomplete_details, status } = (message?.response_metadata ?? {}) as {
        finish_reason?: string;
        incomplete_details?: { reason?: string } | null;
        status?: string;
      };
      seen.finish = finish_reason ?? incomplete_details?.reason ?? status;
      // Its type is lost on the way through `concat`.
      const { usage_metadata: usage } = (message ?? {}) as { usage_metadata?: { output_tokens: number } };
      const good = (message?.tool_calls ?? []).map(({ name, args }) => ({ name, arguments: JSON.stringify(args) }));
      const bad = (message?.invalid_tool_calls ?? []).map(({ name, args }) => ({
        name: name ?? '',
        arguments: args ?? '',
        invalid: true,
      }));
      seen.calls = [...good, ...bad];
      seen.outputTokens = usage?.output_tokens;
    });
}

/** The parser alone, fed with the reads of a fetch: what it calls an event, read as a chat's chunk. */
const eventsourceParser: Client = (server) =>
  reading(async (seen) => {
    const response = await fetch(`${server.baseURL}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ ...CHAT, stream: true }),
    });
    const parser = createParser({
      onEvent: ({ data }) => {
        if (data === '[DONE]') return;
        const { choices } = JSON.parse(data) as OpenAI.ChatCompletionChunk;
        seen.text += choices[0]?.delta.content ?? '';
        seen.finish = choices[0]?.finish_reason ?? seen.finish;
      },
    });
    // The mark at the beginning is left to the parser.
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    for await (const bytes of response.body ?? []) parser.feed(decoder.decode(bytes, { stream: true }));
  });

export const CLIENTS = {
  'openai (chat)': openaiChat,
  'openai (chat helper)': openaiChatHelper,
  'openai (responses)': openaiResponses,
  '@anthropic-ai/sdk': anthropicRaw,
  '@anthropic-ai/sdk (helper)': anthropicHelper,
  'ai + @ai-sdk/openai (chat)': aiSdk('openai chat'),
  'ai + @ai-sdk/openai (responses)': aiSdk('openai responses'),
  'ai + @ai-sdk/openai-compatible': aiSdk('openai-compatible'),
  'ai + @ai-sdk/anthropic': aiSdk('anthropic'),
  '@langchain/openai (chat)': langchain(false),
  '@langchain/openai (responses)': langchain(true),
  'eventsource-parser': eventsourceParser,
} as const satisfies Record<string, Client>;

export type ClientName = keyof typeof CLIENTS;
