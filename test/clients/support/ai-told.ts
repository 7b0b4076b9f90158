import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, type LanguageModel, streamText, type ToolSet, tool } from 'ai';
import { z } from 'zod';
import type { FaultServer } from '../../../src/index.js';
import { KEY, PROMPT } from './sdk.js';

/** The AI SDK: its four ways to a model that wirefault speaks, and what `streamText` and `generateText` told. */
const PROVIDERS = {
  'openai chat': (baseURL, apiKey) => createOpenAI({ baseURL, apiKey }).chat('gpt-5.4'),
  'openai responses': (baseURL, apiKey) => createOpenAI({ baseURL, apiKey }).responses('gpt-5.4'),
  anthropic: (baseURL, apiKey) => createAnthropic({ baseURL, apiKey })('claude-haiku-4-5'),
  'openai-compatible': (baseURL, apiKey) =>
    createOpenAICompatible({ name: 'mock', baseURL, apiKey, includeUsage: true })('deepseek-chat'),
} as const satisfies Record<string, (baseURL: string, apiKey: string) => LanguageModel>;

export type Provider = keyof typeof PROVIDERS;
export const PROVIDER_NAMES = Object.keys(PROVIDERS) as readonly Provider[];

export const MAX_TOKENS = 77;

// The SDK's types don't agree with themselves under exactOptionalPropertyTypes.
const tools = { mock_tool: tool({ description: 'mocks', inputSchema: z.object({ value: z.string() }) }) } as ToolSet;

export interface AiTold {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly input: unknown; readonly invalid: boolean }[];
  readonly finish: string | undefined;
  readonly outputTokens: number | undefined;
}

/** What is asked; nothing is retried by itself. */
function asking(server: FaultServer, provider: Provider, apiKey: string) {
  const model = PROVIDERS[provider](`${server.baseURL}/v1`, apiKey);
  return { model, prompt: PROMPT, tools, maxRetries: 0, maxOutputTokens: MAX_TOKENS };
}

function callOf(call: { toolName: string; input: unknown; invalid?: boolean | undefined }): AiTold['calls'][number] {
  return { name: call.toolName, input: call.input, invalid: call.invalid ?? false };
}

export async function generated(server: FaultServer, provider: Provider, apiKey: string = KEY): Promise<AiTold> {
  const result = await generateText(asking(server, provider, apiKey));
  return {
    text: result.text,
    reasoning: result.reasoningText ?? '',
    calls: result.toolCalls.map(callOf),
    finish: result.finishReason,
    outputTokens: result.usage.outputTokens,
  };
}

export interface AiStreamed extends AiTold {
  /** What came as error parts, and what reading threw. */
  readonly errors: readonly unknown[];
}

export async function streamed(server: FaultServer, provider: Provider, apiKey: string = KEY): Promise<AiStreamed> {
  const result = streamText({ ...asking(server, provider, apiKey), onError: () => {} });
  const said = { text: '', reasoning: '' };
  const calls: AiTold['calls'][number][] = [];
  const errors: unknown[] = [];
  let end: Pick<AiTold, 'finish' | 'outputTokens'> = { finish: undefined, outputTokens: undefined };
  try {
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') said.text += part.text;
      if (part.type === 'reasoning-delta') said.reasoning += part.text;
      if (part.type === 'tool-call') calls.push(callOf(part));
      if (part.type === 'error') errors.push(part.error);
      if (part.type === 'finish') end = { finish: part.finishReason, outputTokens: part.totalUsage.outputTokens };
    }
  } catch (thrown) {
    errors.push(thrown);
  }
  return { ...said, calls, ...end, errors };
}
