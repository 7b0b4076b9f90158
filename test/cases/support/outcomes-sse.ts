import type { ClientName } from './clients-protocol.js';
import { each, type Outcome } from './outcomes.js';

/** Section D: SSE framing. */
const CHAT_WELL = {
  'openai (chat)': 'returns the whole text, finish stop',
  'openai (chat helper)': 'returns the whole text, finish stop',
  'ai + @ai-sdk/openai (chat)': 'returns the whole text, finish stop',
  'ai + @ai-sdk/openai-compatible': 'returns the whole text, finish stop',
  '@langchain/openai (chat)': 'returns the whole text, finish stop',
} as const satisfies Partial<Record<ClientName, string>>;

const WELL = {
  ...CHAT_WELL,
  'openai (responses)': 'returns the whole text, finish completed',
  'ai + @ai-sdk/openai (responses)': 'returns the whole text, finish stop',
  '@langchain/openai (responses)': 'returns the whole text, finish completed',
  '@anthropic-ai/sdk': 'returns the whole text, finish end_turn',
  '@anthropic-ai/sdk (helper)': 'returns the whole text, finish end_turn',
  'ai + @ai-sdk/anthropic': 'returns the whole text, finish stop',
  'eventsource-parser': 'returns the whole text, finish stop',
} as const satisfies Record<ClientName, string>;

const OPENAI_THROWS_ON_EMPTY = {
  'openai (chat)': 'throws SyntaxError',
  'openai (chat helper)': 'throws OpenAIError about its JSON',
  '@langchain/openai (chat)': 'throws SyntaxError',
  'openai (responses)': 'throws SyntaxError',
  '@langchain/openai (responses)': 'throws SyntaxError',
};

const NO_MESSAGE =
  'throws AnthropicError "stream ended without producing a Message with role=assistant" after the whole text';
const NO_USAGE = 'returns the whole text, finish stop, no usage';
const SILENT = 'returns the whole text as success, no finish';
const TERMINATED = 'throws TypeError "terminated" after the whole text';
const REPORTED = 'reports AI_APICallError beside the whole text, no finish';

export const SSE: Readonly<Record<string, readonly Outcome[]>> = {
  B29: each(
    ['segment', 'chunk'].flatMap((border) =>
      ['three_after_1', 'three_after_2', 'four_after_1', 'four_after_2', 'four_after_3'].map((at) => `${border}_${at}`),
    ),
    WELL,
  ),
  B31: [
    ...each(['crlf_split_segment', 'crlf_split_chunk'], WELL),
    // The last event ends with the stream: its second CR is kept back, as a LF might follow.
    ...each(['cr_only'], {
      ...WELL,
      'ai + @ai-sdk/openai (responses)': 'returns the whole text, finish other',
      'ai + @ai-sdk/anthropic': 'returns the whole text, finish other',
    }),
    ...each(['lf_then_crlf_held'], {
      'openai (chat)': 'tells nothing while the stream is open',
      'openai (chat helper)': 'tells nothing while the stream is open',
      'ai + @ai-sdk/openai (chat)': 'tells the whole text while the stream is open',
      'ai + @ai-sdk/openai-compatible': 'tells the whole text while the stream is open',
      '@langchain/openai (chat)': 'tells nothing while the stream is open',
      'eventsource-parser': 'tells the whole text while the stream is open',
    }),
  ],
  B32: each(['no_space'], WELL),
  B33: [
    ...each(['retry_first', 'id_then_comment', 'lone_colon'], WELL),
    ...each(['event_only'], { ...WELL, ...OPENAI_THROWS_ON_EMPTY }),
    // Here there is an event, of empty data: the parser hands it on, as the grammar says, and its reader parses it.
    ...each(['empty_data'], {
      ...WELL,
      ...OPENAI_THROWS_ON_EMPTY,
      'ai + @ai-sdk/openai (chat)': 'reports AI_JSONParseError beside the whole text, finish stop',
      'ai + @ai-sdk/openai-compatible': 'reports AI_JSONParseError beside the whole text, finish stop',
      'ai + @ai-sdk/openai (responses)': 'reports AI_JSONParseError beside the whole text, finish error',
      'ai + @ai-sdk/anthropic': 'reports AI_JSONParseError beside the whole text, finish stop',
      'eventsource-parser': 'throws SyntaxError',
    }),
  ],
  B34: [
    ...each(['start', 'split_segment', 'split_chunk', 'later_in_text'], WELL),
    // The grammar has no field of that name, so the first delta of a chat is ignored. The others strip the mark.
    ...each(['later_in_field'], {
      ...WELL,
      'ai + @ai-sdk/openai (chat)': 'returns only "ponse recovered" of the text, finish stop',
      'ai + @ai-sdk/openai-compatible': 'returns only "ponse recovered" of the text, finish stop',
      'eventsource-parser': 'returns only "ponse recovered" of the text, finish stop',
    }),
  ],
  B35: [
    // The AI SDK and LangChain ask for the usage by themselves, so that it is their last event, not the finish.
    ...each(['line_end', 'line_end_until_close', 'nothing', 'nothing_until_close'], {
      'openai (chat)': SILENT,
      'openai (chat helper)': 'throws OpenAIError "missing finish_reason for choice 0" after the whole text',
      'ai + @ai-sdk/openai (chat)': NO_USAGE,
      'ai + @ai-sdk/openai-compatible': NO_USAGE,
      '@langchain/openai (chat)': NO_USAGE,
      'openai (responses)': SILENT,
      'ai + @ai-sdk/openai (responses)': 'returns the whole text, finish other',
      '@langchain/openai (responses)': SILENT,
      '@anthropic-ai/sdk': 'returns the whole text, finish end_turn',
      '@anthropic-ai/sdk (helper)': NO_MESSAGE,
      'ai + @ai-sdk/anthropic': 'returns the whole text, finish other',
      'eventsource-parser': SILENT,
    }),
    ...each(['line_end_fin', 'nothing_fin'], {
      'openai (chat)': TERMINATED,
      'openai (chat helper)': 'throws OpenAIError "terminated" after the whole text',
      'ai + @ai-sdk/openai (chat)': REPORTED,
      'ai + @ai-sdk/openai-compatible': REPORTED,
      '@langchain/openai (chat)': TERMINATED,
      'openai (responses)': TERMINATED,
      'ai + @ai-sdk/openai (responses)': REPORTED,
      '@langchain/openai (responses)': TERMINATED,
      '@anthropic-ai/sdk': TERMINATED,
      '@anthropic-ai/sdk (helper)': 'throws AnthropicError "terminated" after the whole text',
      'ai + @ai-sdk/anthropic': REPORTED,
      'eventsource-parser': TERMINATED,
    }),
  ],
  B38: [
    ...each(['lost_line_end'], {
      'openai (chat)': 'throws SyntaxError',
      'openai (chat helper)': 'throws OpenAIError about its JSON',
      'ai + @ai-sdk/openai (chat)': 'reports AI_JSONParseError beside only "covered" of the text, finish stop',
      'ai + @ai-sdk/openai-compatible': 'reports AI_JSONParseError beside only "covered" of the text, finish stop',
      '@langchain/openai (chat)': 'throws SyntaxError',
    }),
    ...each(['cut_final'], {
      'openai (chat)': 'throws SyntaxError after the whole text',
      'openai (chat helper)': 'throws OpenAIError about its JSON after the whole text',
      'ai + @ai-sdk/openai (chat)': 'reports AI_JSONParseError beside the whole text, finish error',
      'ai + @ai-sdk/openai-compatible': 'reports AI_JSONParseError beside the whole text, finish error',
      '@langchain/openai (chat)': 'throws SyntaxError after the whole text',
    }),
    ...each(['bad_middle'], {
      'openai (chat)': 'throws SyntaxError after a first part of the text',
      'openai (chat helper)': 'throws OpenAIError about its JSON after a first part of the text',
      'ai + @ai-sdk/openai (chat)': 'reports AI_JSONParseError beside the whole text, finish stop',
      'ai + @ai-sdk/openai-compatible': 'reports AI_JSONParseError beside the whole text, finish stop',
      '@langchain/openai (chat)': 'throws SyntaxError after a first part of the text',
    }),
  ],
};
