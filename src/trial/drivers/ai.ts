import type * as anthropic from '@ai-sdk/anthropic';
import type * as openai from '@ai-sdk/openai';
import type * as compatible from '@ai-sdk/openai-compatible';
import type * as ai from 'ai';
import type { LanguageModel } from 'ai';
import { load } from '../npm-package.js';
import { saidBy, tell } from './tell.js';

/** `ai`: `streamText` over the provider that the last argument names. */
const PROVIDERS: Readonly<Record<string, (baseURL: string, apiKey: string) => Promise<LanguageModel>>> = {
  'openai-chat': async (baseURL, apiKey) =>
    (await load<typeof openai>('@ai-sdk/openai')).createOpenAI({ baseURL, apiKey }).chat('gpt-5.4'),
  'openai-responses': async (baseURL, apiKey) =>
    (await load<typeof openai>('@ai-sdk/openai')).createOpenAI({ baseURL, apiKey }).responses('gpt-5.4'),
  anthropic: async (baseURL, apiKey) =>
    (await load<typeof anthropic>('@ai-sdk/anthropic')).createAnthropic({ baseURL, apiKey })('claude-haiku-4-5'),
  compatible: async (baseURL, apiKey) =>
    (await load<typeof compatible>('@ai-sdk/openai-compatible')).createOpenAICompatible({
      name: 'mock',
      baseURL,
      apiKey,
    })('deepseek-chat'),
};

await tell(async ({ baseURL, apiKey, prompt, retries }, got) => {
  const { streamText } = await load<typeof ai>('ai');
  const provider = PROVIDERS[process.argv[5] ?? ''];
  if (!provider) throw new Error(`no provider ${process.argv[5]}`);
  const model = await provider(`${baseURL}/v1`, apiKey);
  const stream = streamText({ model, prompt, onError: () => {}, ...retries }).fullStream;
  for await (const part of stream) {
    if (part.type === 'text-delta') got.text += part.text;
    if (part.type === 'error') got.error = saidBy(part.error);
    if (part.type === 'finish') got.finish = part.finishReason;
  }
});
