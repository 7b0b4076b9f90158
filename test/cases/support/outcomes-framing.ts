import type { ClientName } from './clients-connection.js';
import { each, type Outcome } from './outcomes.js';

/** Section B: HTTP framing and teardown. */
type Does = Readonly<Record<ClientName, string>>;

/** The transport's error, as each client hands it on: `code` of its cause, and what came before it. */
function broken(code: string, after: string): Does {
  const raw = `throws TypeError "terminated" (${code})${after}`;
  const ai = `throws AI_APICallError (${code})${after}`;
  return {
    fetch: raw,
    undici: raw,
    'openai (chat)': raw,
    'openai (responses)': raw,
    '@anthropic-ai/sdk': raw,
    '@anthropic-ai/sdk (helper)': `throws AnthropicError "terminated" (${code})${after}`,
    'ai + @ai-sdk/openai-compatible': ai,
    'ai + @ai-sdk/anthropic': ai,
  };
}

const PART = ' after a first part of the text';
const NO_MESSAGE = 'throws AnthropicError "stream ended without producing a Message with role=assistant"';

/** A body that ends as if it were whole, without the protocol's last word. */
const SILENT: Does = {
  fetch: 'returns a first part of the text as success, no finish',
  undici: 'returns a first part of the text as success, no finish',
  'openai (chat)': 'returns a first part of the text as success, no finish',
  'openai (responses)': 'returns a first part of the text as success, no finish',
  '@anthropic-ai/sdk': 'returns a first part of the text as success, no finish',
  '@anthropic-ai/sdk (helper)': `${NO_MESSAGE}${PART}`,
  'ai + @ai-sdk/openai-compatible': 'reports AI_InvalidResponseDataError, finish error',
  'ai + @ai-sdk/anthropic': 'returns a first part of the text, finish other',
};

const WELL: Does = {
  fetch: 'returns the whole text, finish stop',
  undici: 'returns the whole text, finish stop',
  'openai (chat)': 'returns the whole text, finish stop',
  'openai (responses)': 'returns the whole text, finish completed',
  '@anthropic-ai/sdk': 'returns the whole text, finish end_turn',
  '@anthropic-ai/sdk (helper)': 'returns the whole text, finish end_turn',
  'ai + @ai-sdk/openai-compatible': 'returns the whole text, finish stop',
  'ai + @ai-sdk/anthropic': 'returns the whole text, finish stop',
};

const { '@anthropic-ai/sdk (helper)': _, ...RESET_READERS } = broken('ECONNRESET', PART);
const { '@anthropic-ai/sdk (helper)': __, ...CLOSED_READERS } = broken('UND_ERR_SOCKET', PART);

export const FRAMING: Readonly<Record<string, readonly Outcome[]>> = {
  B09: [
    // Fixed in undici 7: the built-in fetch of Node 20 takes Connection: close for the end of the body.
    ...each(['fin_at_chunk', 'rst_at_chunk', 'fin_in_chunk', 'rst_in_chunk'], {
      ...SILENT,
      undici: `throws TypeError "terminated"${PART}`,
    }),
    ...each(['keep_alive_fin_at_chunk'], broken('UND_ERR_SOCKET', PART)),
    ...each(['keep_alive_rst_at_chunk'], broken('ECONNRESET', PART)),
  ],
  B10: each(['no_final_crlf', 'cut_trailer'], broken('UND_ERR_SOCKET', ' after the whole text')),
  B12: each(['fin_at_chunk'], broken('UND_ERR_SOCKET', PART)),
  B13: [
    ...each(['size_line_cut', 'data_cut', 'crlf_missing'], broken('UND_ERR_SOCKET', PART)),
    ...each(['size_not_hex'], {
      ...broken('HPE_INVALID_CHUNK_SIZE', PART),
      undici: `throws TypeError "terminated"${PART}`,
    }),
  ],
  B14: each(
    ['http10', 'no_length'].flatMap((head) =>
      ['fin', 'fin_in_event', 'rst', 'rst_in_event'].map((end) => `${head}_${end}`),
    ),
    SILENT,
  ),
  B15: [
    ...each(['half_until_close', 'half_in_chunks'], {
      ...SILENT,
      // Half of these bytes are the first events, which have no text yet.
      '@anthropic-ai/sdk': 'returns nothing as success, no finish',
      '@anthropic-ai/sdk (helper)': NO_MESSAGE,
      'ai + @ai-sdk/anthropic': 'returns nothing, finish other',
    }),
    ...each(['no_trailer'], WELL),
  ],
  B18: each(['rst_after_a_second', 'rst_at_once'], broken('ECONNRESET', '')),
  B19: [...each(['rst_between_reads'], RESET_READERS), ...each(['fin_between_reads'], CLOSED_READERS)],
  B20: [
    ...each(['rst_after_role'], broken('ECONNRESET', '')),
    ...each(['rst_after_text'], broken('ECONNRESET', ' after the whole text')),
  ],
};
