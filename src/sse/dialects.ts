import type { Dialect, Protocol } from './dialect.js';
import { deepseekChat } from './dialects/deepseek-chat.js';
import { openaiChat } from './dialects/openai-chat.js';

/** The dialect whose `readRequest` reads a protocol's requests. */
export const DIALECT_OF: Readonly<Record<Protocol, Dialect>> = { 'openai-chat': openaiChat };

/**
 * The dialect that answers. Chat Completions has two: DeepSeek's is spoken to requests for its models, and wherever
 * reasoning is to be shown, which OpenAI's own has no field for.
 */
export function answeringDialect(protocol: Protocol, model: string, showsReasoning: boolean): Dialect {
  if (protocol === 'openai-chat' && (showsReasoning || model.toLowerCase().startsWith('deepseek'))) return deepseekChat;
  return DIALECT_OF[protocol];
}
