import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { ChatOpenAI } from '@langchain/openai';
import { type LanguageModel, streamText } from 'ai';
import { vi } from 'vitest';
import type { FaultServer } from '../../../src/index.js';
import { anthropicClient, KEY, openaiClient, PROMPT } from '../../clients/support/sdk.js';
import { nameOf } from './classify-protocol.js';

/** Clients that may ask once more, and how long they would sleep before they do. */
type Ask = (server: FaultServer, signal: AbortSignal) => Promise<string>;

const ASKED = { model: 'gpt-5.4', messages: [{ role: 'user' as const, content: PROMPT }], stream: true as const };

const openaiChat: Ask = async (server, signal) => {
  let text = '';
  const client = openaiClient(server, { maxRetries: 1 });
  for await (const { choices } of await client.chat.completions.create(ASKED, { signal }))
    text += choices[0]?.delta.content ?? '';
  return text;
};

const openaiResponses: Ask = async (server, signal) => {
  let text = '';
  const client = openaiClient(server, { maxRetries: 1 });
  const asked = { model: 'gpt-5.4', input: PROMPT, stream: true } as const;
  for await (const event of await client.responses.create(asked, { signal })) {
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  return text;
};

const anthropic: Ask = async (server, signal) => {
  let text = '';
  const client = anthropicClient(server, { maxRetries: 1 });
  for await (const event of await client.messages.create({ ...ASKED, max_tokens: 77 }, { signal }))
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text;
  return text;
};

function aiSdk(modelOf: (baseURL: string) => LanguageModel): Ask {
  return async (server, abortSignal) => {
    let text = '';
    const model = modelOf(`${server.baseURL}/v1`);
    const { fullStream } = streamText({ model, prompt: PROMPT, maxRetries: 1, abortSignal, onError: () => {} });
    for await (const part of fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'abort') throw new DOMException('aborted', 'AbortError');
      if (part.type === 'text-delta') text += part.text;
    }
    return text;
  };
}

const langchain: Ask = async (server, signal) => {
  let text = '';
  const configuration = { baseURL: `${server.baseURL}/v1`, logLevel: 'off' as const };
  const model = new ChatOpenAI({ model: 'gpt-5.4', apiKey: KEY, maxRetries: 1, configuration });
  for await (const chunk of await model.stream(PROMPT, { signal })) text += chunk.text;
  return text;
};

export const RETRYING = {
  'openai (chat)': openaiChat,
  'openai (responses)': openaiResponses,
  '@anthropic-ai/sdk': anthropic,
  'ai + @ai-sdk/openai (chat)': aiSdk((baseURL) => createOpenAI({ baseURL, apiKey: KEY }).chat('gpt-5.4')),
  'ai + @ai-sdk/openai (responses)': aiSdk((baseURL) => createOpenAI({ baseURL, apiKey: KEY }).responses('gpt-5.4')),
  'ai + @ai-sdk/anthropic': aiSdk((baseURL) => createAnthropic({ baseURL, apiKey: KEY })('claude-haiku-4-5')),
  '@langchain/openai (chat)': langchain,
} as const satisfies Record<string, Ask>;

export type RetryingClient = keyof typeof RETRYING;

const CLIENT_FRAME = /node_modules\/(openai|@anthropic-ai|@ai-sdk|ai|@langchain)\//;
/** The files in which these clients sleep before they ask again; the AI SDK's has one timer, for that. */
const SLEEPS = /utils\/sleep\.mjs|provider-utils|p-retry/;

/** Whether a client sets this timer, with its own hand, to sleep. */
function isSleep(stack: string): boolean {
  return SLEEPS.test(stack.split('\n').find((frame) => CLIENT_FRAME.test(frame)) ?? '');
}

const MAX_TIMER_MS = 2 ** 31 - 1;

interface Sleeping {
  /** What was slept, or would have been. */
  readonly sleeps: readonly number[];
  /** Resolves with the first sleep. */
  readonly slept: Promise<void>;
  restore(): void;
}

/**
 * Notes the sleeps of clients, which are over as soon as there are `together` of them, so that no test sleeps for days;
 * with Infinity they never are. All other timers, those of the server and those that guard a request, run as ever.
 */
function sleeping(together: number): Sleeping {
  const sleeps: number[] = [];
  const wakers: (() => void)[] = [];
  const held: NodeJS.Timeout[] = [];
  const real = globalThis.setTimeout;
  let tell = (): void => {};
  const slept = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation((callback, ms, ...args) => {
    if (!isSleep(new Error('where').stack ?? '')) return real(callback, ms, ...args);
    sleeps.push(Number(ms));
    wakers.push(() => callback(...args));
    if (sleeps.length === together) for (const wake of wakers) setImmediate(wake);
    tell();
    // What the client gets to clear: it never fires.
    const timer = real(() => {}, MAX_TIMER_MS);
    held.push(timer);
    return timer;
  });
  return {
    sleeps,
    slept,
    restore: () => {
      spy.mockRestore();
      for (const timer of held) clearTimeout(timer);
    },
  };
}

/** What a client was told to wait: milliseconds from now, `undefined` where nothing was said that has a meaning. */
export interface Told {
  readonly ms: number | undefined;
  /** As a date, which is told in whole seconds. */
  readonly dated: boolean;
}

/** A date is cut to seconds, and some time has passed since. */
const DATE_ERROR_MS = 2000;

function sleepOf(ms: number, told: Told): string {
  if (!(ms >= 1 && ms <= MAX_TIMER_MS)) return 'sets a timer that Node cannot hold and fires at once';
  const obeys = told.ms !== undefined && ms <= told.ms && ms >= told.ms - (told.dated ? DATE_ERROR_MS : 0);
  if (!obeys) return 'waits a back-off of its own';
  return told.dated ? 'waits until the date' : `waits the ${(told.ms ?? 0) / 1000} s`;
}

/** How a client takes an answer that asks it to come back later: what it would wait, and what becomes of the call. */
export async function retried(name: RetryingClient, server: FaultServer, told: Told): Promise<string> {
  const watch = sleeping(1);
  const end = await RETRYING[name](server, new AbortController().signal).then(
    (text) => (text === '' ? 'ends with nothing' : 'gets the answer'),
    (error: unknown) => `throws ${nameOf(error)}`,
  );
  watch.restore();
  const [ms] = watch.sleeps;
  return ms === undefined ? `does not ask again: ${end}` : `${sleepOf(ms, told)}, asks again and ${end}`;
}

/** Whether a client that sleeps before it asks again is woken by an abort: `undefined` for one that doesn't sleep. */
export async function wakes(name: RetryingClient, server: FaultServer): Promise<boolean | undefined> {
  const watch = sleeping(Number.POSITIVE_INFINITY);
  const controller = new AbortController();
  let settled = false;
  const done = RETRYING[name](server, controller.signal)
    .catch(() => {})
    .then(() => {
      settled = true;
    });
  await Promise.race([watch.slept, done]);
  const never = settled;
  controller.abort();
  // An abort needs no more than turns of the event loop; here are far more of them than any client takes.
  for (let turn = 0; turn < 100 && !settled; turn++) await new Promise((resolve) => setImmediate(resolve));
  watch.restore();
  return never ? undefined : settled;
}

/** How many of some calls at once get an answer. All have been refused before the first of them asks again. */
export async function together(name: RetryingClient, server: FaultServer, count: number): Promise<string> {
  const watch = sleeping(count);
  const calls = Array.from({ length: count }, () => RETRYING[name](server, new AbortController().signal));
  const ends = await Promise.allSettled(calls);
  watch.restore();
  const good = ends.filter((end) => end.status === 'fulfilled' && end.value !== '').length;
  return `${good} of ${count} calls at once get the answer when they ask again`;
}
