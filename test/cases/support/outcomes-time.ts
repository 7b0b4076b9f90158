import type { ClientName } from './clients-connection.js';
import { each, type Outcome } from './outcomes.js';

/** Section C: time. */
type Does = Readonly<Record<ClientName, string>>;

/** Those of OpenAI and Anthropic have a time-out that can be set; it ends with the head. */
function hang(content: string): Does {
  const without = `hangs with ${content} (no time-out of its own within 3 s)`;
  const beyond = `hangs with ${content} (its time-out of 1.5 s doesn't end it within 3 s)`;
  return {
    fetch: without,
    undici: without,
    'openai (chat)': beyond,
    'openai (responses)': beyond,
    '@anthropic-ai/sdk': beyond,
    '@anthropic-ai/sdk (helper)': beyond,
    'ai + @ai-sdk/openai-compatible': without,
    'ai + @ai-sdk/anthropic': without,
  };
}

const { 'openai (responses)': _, '@anthropic-ai/sdk (helper)': __, ...WHOLE } = hang('nothing');

const LIMITED =
  'throws TypeError "terminated" (UND_ERR_BODY_TIMEOUT) after a first part of the text (its limit set below the pause)';

export const TIME: Readonly<Record<string, readonly Outcome[]>> = {
  B22: each(['silent'], hang('a first part of the text')),
  B23: each(['silent_in_body'], WHOLE),
  // With the limit of the HTTP client below, 300 s by default.
  B24: each(['long_pause'], {
    fetch: LIMITED,
    undici: LIMITED,
    'openai (chat)': LIMITED,
    'openai (responses)': LIMITED,
    '@anthropic-ai/sdk': LIMITED,
    '@anthropic-ai/sdk (helper)': LIMITED.replace('TypeError', 'AnthropicError'),
    'ai + @ai-sdk/openai-compatible': LIMITED.replace('TypeError "terminated"', 'AI_APICallError'),
    'ai + @ai-sdk/anthropic': LIMITED.replace('TypeError "terminated"', 'AI_APICallError'),
  } satisfies Does),
  B25: [
    ...each(['ping_events', 'comments'], hang('nothing')),
    // Not the silence: OpenAI's parser takes empty data for JSON.
    ...each(['empty_data'], {
      ...hang('nothing'),
      'openai (chat)': 'throws SyntaxError',
      'openai (responses)': 'throws SyntaxError',
    }),
    ...each(['ids', 'retries'], hang('nothing')),
  ],
  B27: each(['silent_after_terminal', 'keepalives_after_terminal'], hang('the whole text')),
  B28: each(['kib_segments', 'byte_segments', 'burst'], {
    fetch: 'returns the whole text, finish stop',
    'openai (chat)': 'returns the whole text, finish stop',
    '@anthropic-ai/sdk': 'returns the whole text, finish end_turn',
    'ai + @ai-sdk/openai-compatible': 'returns the whole text, finish stop',
  }),
};
