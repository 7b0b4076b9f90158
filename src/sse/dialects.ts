import type { Dialect, Protocol } from './dialect.js';
import { anthropicMessages } from './dialects/anthropic-messages.js';
import { deepseekChat } from './dialects/deepseek-chat.js';
import { openaiChat } from './dialects/openai-chat.js';
import { openaiResponses } from './dialects/openai-responses.js';

/** The dialect whose `readRequest` reads a protocol's requests. */
export const DIALECT_OF: Readonly<Record<Protocol, Dialect>> = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  'anthropic-messages': anthropicMessages,
};

export const CHAT_VARIANTS = ['auto', 'openai', 'deepseek'] as const;
/** Whose Chat Completions is spoken. */
export type ChatVariant = (typeof CHAT_VARIANTS)[number];

/**
 * The dialect that answers. Chat Completions has two: by itself DeepSeek's is spoken to requests for its models, and
 * wherever reasoning is to be shown, which OpenAI's own has no field for.
 */
export function answeringDialect(
  protocol: Protocol,
  options: { readonly model: string; readonly showsReasoning: boolean; readonly variant: ChatVariant },
): Dialect {
  if (protocol !== 'openai-chat' || options.variant === 'openai') return DIALECT_OF[protocol];
  const deepseek = options.showsReasoning || options.model.toLowerCase().startsWith('deepseek');
  return options.variant === 'deepseek' || deepseek ? deepseekChat : openaiChat;
}
