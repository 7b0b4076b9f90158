import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { generateText, type LanguageModel, streamText } from 'ai';
import OpenAI from 'openai';
import { KEY } from '../../clients/support/sdk.js';
import { builtInFetch, type Fetch, undiciFetch } from './fetches.js';
import { textIn } from './wire-notation.js';

/**
 * Clients from npm, with their defaults but for what is asked of them here, at faults of connections, framing and time.
 * Each notes what it has as it goes.
 */
export interface Seen {
  text: string;
  /** Why the model stopped, in the client's words. */
  finish: string | undefined;
  /** Errors that were handed on as parts of the stream. */
  readonly errors: unknown[];
  /** Of an answer that is no success, where that is no error to the client. */
  status: number | undefined;
  /** Calls of fetch: tries of the client. */
  tries: number;
}

export interface Ask {
  readonly baseURL: string;
  readonly prompt: string;
  readonly signal: AbortSignal;
  /** The client's own time-out, where it has one that can be set. */
  readonly timeoutMs?: number | undefined;
  /** Of the HTTP client below. */
  readonly bodyTimeoutMs?: number | undefined;
  /** Called when the head of an answer has come. */
  onHead?(): void;
  /** What the reader does between two pieces of the stream. */
  between?(): Promise<void>;
}

export interface Client {
  /** Whether it has a time-out that can be set. */
  readonly timesOut: boolean;
  call(ask: Ask, seen: Seen): Promise<void>;
}

function watched(fetch: Fetch, { onHead }: Ask, seen: Seen): Fetch {
  return async (input, init) => {
    seen.tries++;
    const response = await fetch(input, init);
    onHead?.();
    return response;
  };
}

const CHAT_MODEL = 'gpt-5.4';

function plain(get: (ask: Ask) => Fetch | Promise<Fetch>, stream: boolean): Client {
  const call = async (ask: Ask, seen: Seen): Promise<void> => {
    const fetch = watched(await get(ask), ask, seen);
    const messages = [{ role: 'user', content: ask.prompt }];
    const response = await fetch(`${ask.baseURL}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: CHAT_MODEL, stream, messages }),
      signal: ask.signal,
    });
    if (!response.ok) seen.status = response.status;
    const decoder = new TextDecoder();
    let body = '';
    try {
      for await (const bytes of response.body ?? []) {
        body += decoder.decode(bytes, { stream: true });
        await ask.between?.();
      }
    } finally {
      seen.text = textIn(body);
      seen.finish = /"finish_reason": ?"(\w+)"/.exec(body)?.[1];
    }
  };
  return { timesOut: false, call };
}

function openaiClient(ask: Ask, seen: Seen): OpenAI {
  const { baseURL, timeoutMs, bodyTimeoutMs } = ask;
  const settings = {
    apiKey: KEY,
    logLevel: 'off' as const,
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  };
  return new OpenAI({
    ...settings,
    baseURL: `${baseURL}/v1`,
    fetch: watched(builtInFetch({ bodyTimeoutMs }), ask, seen),
  });
}

function anthropicClient(ask: Ask, seen: Seen): Anthropic {
  const { baseURL, timeoutMs, bodyTimeoutMs } = ask;
  const settings = {
    apiKey: KEY,
    logLevel: 'off' as const,
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  };
  return new Anthropic({ ...settings, baseURL, fetch: watched(builtInFetch({ bodyTimeoutMs }), ask, seen) });
}

const chat = ({ prompt }: Ask) => ({ model: CHAT_MODEL, messages: [{ role: 'user' as const, content: prompt }] });

const openaiChat: Client = {
  timesOut: true,
  call: async (ask, seen) => {
    const client = openaiClient(ask, seen);
    const { signal } = ask;
    for await (const { choices } of await client.chat.completions.create({ ...chat(ask), stream: true }, { signal })) {
      // What isn't a chunk of the Chat API has no choices, whatever the type says.
      seen.text += choices?.[0]?.delta.content ?? '';
      seen.finish = choices?.[0]?.finish_reason ?? seen.finish;
      await ask.between?.();
    }
  },
};

const openaiResponses: Client = {
  timesOut: true,
  call: async (ask, seen) => {
    const client = openaiClient(ask, seen);
    const { signal, prompt: input } = ask;
    for await (const event of await client.responses.create({ model: CHAT_MODEL, input, stream: true }, { signal })) {
      if (event.type === 'response.output_text.delta') seen.text += event.delta;
      if (event.type === 'response.completed') seen.finish = event.response.status;
      await ask.between?.();
    }
  },
};

const message = ({ prompt }: Ask) => ({
  model: 'claude-haiku-4-5',
  max_tokens: 77,
  messages: [{ role: 'user' as const, content: prompt }],
});

const anthropicRaw: Client = {
  timesOut: true,
  call: async (ask, seen) => {
    const client = anthropicClient(ask, seen);
    const { signal } = ask;
    for await (const event of await client.messages.create({ ...message(ask), stream: true }, { signal })) {
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') seen.text += event.delta.text;
      if (event.type === 'message_delta') seen.finish = event.delta.stop_reason ?? undefined;
      await ask.between?.();
    }
  },
};

/** `messages.stream()`, which puts the events together. */
const anthropicHelper: Client = {
  timesOut: true,
  call: async (ask, seen) => {
    const { signal } = ask;
    const stream = anthropicClient(ask, seen).messages.stream(message(ask), { signal });
    stream.on('text', (piece) => {
      seen.text += piece;
    });
    seen.finish = (await stream.finalMessage()).stop_reason ?? undefined;
  },
};

function compatible(ask: Ask, seen: Seen): LanguageModel {
  const { baseURL, bodyTimeoutMs } = ask;
  const fetch = watched(builtInFetch({ bodyTimeoutMs }), ask, seen);
  return createOpenAICompatible({ name: 'mock', baseURL: `${baseURL}/v1`, apiKey: KEY, fetch })(CHAT_MODEL);
}

function anthropicModel(ask: Ask, seen: Seen): LanguageModel {
  const { baseURL, bodyTimeoutMs } = ask;
  const fetch = watched(builtInFetch({ bodyTimeoutMs }), ask, seen);
  return createAnthropic({ baseURL: `${baseURL}/v1`, apiKey: KEY, fetch })('claude-haiku-4-5');
}

function aiStream(model: typeof compatible): Client {
  const call = async (ask: Ask, seen: Seen): Promise<void> => {
    const { prompt, signal: abortSignal } = ask;
    const result = streamText({ model: model(ask, seen), prompt, abortSignal, onError: () => {} });
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') seen.text += part.text;
      if (part.type === 'error') seen.errors.push(part.error);
      if (part.type === 'finish') seen.finish = part.finishReason;
      if (part.type === 'text-delta') await ask.between?.();
    }
  };
  return { timesOut: false, call };
}

export const STREAMING = {
  fetch: plain(builtInFetch, true),
  undici: plain(undiciFetch, true),
  'openai (chat)': openaiChat,
  'openai (responses)': openaiResponses,
  '@anthropic-ai/sdk': anthropicRaw,
  '@anthropic-ai/sdk (helper)': anthropicHelper,
  'ai + @ai-sdk/openai-compatible': aiStream(compatible),
  'ai + @ai-sdk/anthropic': aiStream(anthropicModel),
} as const satisfies Record<string, Client>;

function aiWhole(model: typeof compatible): Client {
  const call = async (ask: Ask, seen: Seen): Promise<void> => {
    const { prompt, signal: abortSignal } = ask;
    const result = await generateText({ model: model(ask, seen), prompt, abortSignal });
    seen.text = result.text;
    seen.finish = result.finishReason;
  };
  return { timesOut: false, call };
}

/** The same, asked for an answer in one piece. */
export const WHOLE = {
  fetch: plain(builtInFetch, false),
  undici: plain(undiciFetch, false),
  'openai (chat)': {
    timesOut: true,
    call: async (ask, seen) => {
      const { signal } = ask;
      const { choices } = await openaiClient(ask, seen).chat.completions.create(chat(ask), { signal });
      seen.text = choices[0]?.message.content ?? '';
      seen.finish = choices[0]?.finish_reason;
    },
  },
  '@anthropic-ai/sdk': {
    timesOut: true,
    call: async (ask, seen) => {
      const { signal } = ask;
      const { content, stop_reason } = await anthropicClient(ask, seen).messages.create(message(ask), { signal });
      seen.text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
      seen.finish = stop_reason ?? undefined;
    },
  },
  'ai + @ai-sdk/openai-compatible': aiWhole(compatible),
  'ai + @ai-sdk/anthropic': aiWhole(anthropicModel),
} as const satisfies Record<string, Client>;

export type ClientName = keyof typeof STREAMING;
