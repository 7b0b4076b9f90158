import type { Protocol } from '../../src/sse/dialect.js';

/** Where each protocol is asked for a turn. */
export const PATHS: Readonly<Record<Protocol, string>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
};
