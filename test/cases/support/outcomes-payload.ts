import { each, type Outcome } from './outcomes.js';

/** Section E: protocol terminals and payload shape. */
const CHAT_WELL = {
  'openai (chat)': 'returns the whole text, finish stop',
  'openai (chat helper)': 'returns the whole text, finish stop',
  'ai + @ai-sdk/openai (chat)': 'returns the whole text, finish stop',
  'ai + @ai-sdk/openai-compatible': 'returns the whole text, finish stop',
  '@langchain/openai (chat)': 'returns the whole text, finish stop',
};

const SILENT = 'returns the whole text as success, no finish';
const NO_FINISH = 'throws OpenAIError "missing finish_reason for choice 0"';
const COMPATIBLE = 'reports AI_InvalidResponseDataError beside the whole text, finish error';
const NO_MESSAGE = 'throws AnthropicError "stream ended without producing a Message with role=assistant"';
const EMPTY = 'returns nothing as success, no finish';

const CUT = '{"path":"/a';
const half = (finish: string): string => `returns the call mock_tool(${CUT}), finish ${finish}`;
const invalid = (finish: string): string => `returns the call mock_tool(${CUT}) marked as invalid, finish ${finish}`;
/** The end of the string and the brace that the model never wrote. */
const repaired = (finish: string): string => `returns the call mock_tool(${CUT}"}), finish ${finish}`;

const CALL = 'the call mock_tool({"value":"mock"})';
const BOTH = 'the call mock_tool({"value":"mock"}{"value":"second"})';

/** A body that has no event in it. */
const NO_EVENT = {
  'openai (chat)': EMPTY,
  'openai (chat helper)': 'throws OpenAIError "request ended without sending any chunks"',
  'ai + @ai-sdk/openai (chat)': 'returns nothing, finish other, no usage',
  'ai + @ai-sdk/openai-compatible': 'reports AI_InvalidResponseDataError, finish error',
  '@langchain/openai (chat)': `${EMPTY}, no usage`,
  'openai (responses)': EMPTY,
  'ai + @ai-sdk/openai (responses)': 'returns nothing, finish other',
  '@langchain/openai (responses)': EMPTY,
  '@anthropic-ai/sdk': EMPTY,
  '@anthropic-ai/sdk (helper)': 'throws AnthropicError "request ended without sending any chunks"',
  'ai + @ai-sdk/anthropic': 'reports AI_NoOutputGeneratedError, no finish',
};

export const PAYLOAD: Readonly<Record<string, readonly Outcome[]>> = {
  B40: [
    ...each(['finish_and_done', 'finish_only'], CHAT_WELL),
    ...each(['done_only'], {
      'openai (chat)': SILENT,
      'openai (chat helper)': `${NO_FINISH} after the whole text`,
      'ai + @ai-sdk/openai (chat)': 'returns the whole text, finish other',
      'ai + @ai-sdk/openai-compatible': COMPATIBLE,
      '@langchain/openai (chat)': SILENT,
    }),
    ...each(['neither'], {
      'openai (chat)': SILENT,
      'openai (chat helper)': `${NO_FINISH} after the whole text`,
      'ai + @ai-sdk/openai (chat)': 'returns the whole text, finish other, no usage',
      'ai + @ai-sdk/openai-compatible': COMPATIBLE,
      '@langchain/openai (chat)': `${SILENT}, no usage`,
    }),
    ...each(['tool_fragment'], {
      'openai (chat)': 'returns the call mock_tool({"value") as success, no finish',
      'openai (chat helper)': NO_FINISH,
      'ai + @ai-sdk/openai (chat)': 'returns the call mock_tool({"value") marked as invalid, finish other, no usage',
      'ai + @ai-sdk/openai-compatible':
        'reports AI_InvalidResponseDataError beside the call mock_tool({"value") marked as invalid, finish error',
      // A call that can be run, without the argument that was on its way.
      '@langchain/openai (chat)': 'returns the call mock_tool({}) as success, no finish, no usage',
    }),
  ],
  B41: [
    ...each(['after_delta'], {
      '@anthropic-ai/sdk': SILENT,
      '@anthropic-ai/sdk (helper)': `${NO_MESSAGE} after the whole text`,
      'ai + @ai-sdk/anthropic': 'returns the whole text, finish other',
    }),
    ...each(['after_tool_stop'], {
      '@anthropic-ai/sdk': `returns ${CALL} as success, no finish`,
      '@anthropic-ai/sdk (helper)': NO_MESSAGE,
      'ai + @ai-sdk/anthropic': `returns ${CALL}, finish other`,
    }),
    ...each(['no_message_stop'], {
      '@anthropic-ai/sdk': 'returns the whole text, finish end_turn',
      '@anthropic-ai/sdk (helper)': `${NO_MESSAGE} after the whole text`,
      'ai + @ai-sdk/anthropic': 'returns the whole text, finish other',
    }),
  ],
  B42: each(['incomplete'], {
    'openai (responses)': 'returns the whole text, finish max_output_tokens',
    'ai + @ai-sdk/openai (responses)': 'returns the whole text, finish length',
    '@langchain/openai (responses)': 'returns the whole text, finish max_output_tokens',
  }),
  B43: [
    ...each(['length'], {
      'openai (chat)': half('length'),
      'openai (chat helper)': half('length'),
      'ai + @ai-sdk/openai (chat)': invalid('length'),
      'ai + @ai-sdk/openai-compatible': invalid('length'),
      '@langchain/openai (chat)': repaired('length'),
      'openai (responses)': half('max_output_tokens'),
      'ai + @ai-sdk/openai (responses)': invalid('length'),
      '@langchain/openai (responses)': repaired('max_output_tokens'),
      '@anthropic-ai/sdk': half('max_tokens'),
      '@anthropic-ai/sdk (helper)': 'returns the call mock_tool({}), finish max_tokens',
      'ai + @ai-sdk/anthropic': invalid('length'),
    }),
    ...each(['tool_calls'], {
      'openai (chat)': half('tool_calls'),
      'openai (chat helper)': half('tool_calls'),
      'ai + @ai-sdk/openai (chat)': invalid('tool-calls'),
      'ai + @ai-sdk/openai-compatible': invalid('tool-calls'),
      '@langchain/openai (chat)': repaired('tool_calls'),
      'openai (responses)': half('completed'),
      'ai + @ai-sdk/openai (responses)': invalid('tool-calls'),
      '@langchain/openai (responses)': repaired('completed'),
      '@anthropic-ai/sdk': half('tool_use'),
      '@anthropic-ai/sdk (helper)': 'returns the call mock_tool({}), finish tool_use',
      'ai + @ai-sdk/anthropic': invalid('tool-calls'),
    }),
    ...each(['responses_mid_call'], {
      'openai (responses)': half('max_output_tokens'),
      'ai + @ai-sdk/openai (responses)': 'returns nothing, finish length',
      '@langchain/openai (responses)': repaired('max_output_tokens'),
    }),
  ],
  B44: [
    ...each(['first'], {
      '@anthropic-ai/sdk': 'throws APIError',
      '@anthropic-ai/sdk (helper)': 'throws APIError',
      'ai + @ai-sdk/anthropic': 'reports AI_APICallError, no finish',
    }),
    ...each(['after_delta'], {
      '@anthropic-ai/sdk': 'throws APIError after the whole text',
      '@anthropic-ai/sdk (helper)': 'throws APIError after the whole text',
      'ai + @ai-sdk/anthropic': 'reports an error object "mock stream error" beside the whole text, finish error',
    }),
  ],
  B46: [
    ...each(['first'], {
      'openai (responses)': 'reports an error object "mock flat error", no finish',
      'ai + @ai-sdk/openai (responses)': 'reports AI_APICallError, no finish',
      '@langchain/openai (responses)': EMPTY,
    }),
    ...each(['after_delta'], {
      'openai (responses)': 'reports an error object "mock flat error" beside the whole text, no finish',
      'ai + @ai-sdk/openai (responses)':
        'reports an error object "mock flat error" beside the whole text, finish error',
      '@langchain/openai (responses)': SILENT,
    }),
  ],
  B47: each(['html'], NO_EVENT),
  B48: each(['json_error', 'empty_json', 'empty_stream'], NO_EVENT),
  B50: each(['empty_choices'], CHAT_WELL),
  B51: [
    ...each(['delta_null'], { ...CHAT_WELL, '@langchain/openai (chat)': SILENT }),
    ...each(['tool_calls_null', 'content_null'], CHAT_WELL),
  ],
  B52: [
    ...each(['index_from_1'], {
      'openai (chat helper)': 'throws OpenAIError "Cannot read properties of undefined (reading \'type\')"',
      'ai + @ai-sdk/openai (chat)': `returns ${CALL}, finish tool-calls`,
      'ai + @ai-sdk/openai-compatible': `returns ${CALL}, finish tool-calls`,
      '@langchain/openai (chat)': `returns ${CALL}, finish tool_calls`,
    }),
    ...each(['same_index'], {
      'openai (chat helper)': `returns ${BOTH}, finish tool_calls`,
      'ai + @ai-sdk/openai (chat)': `returns ${BOTH} marked as invalid, finish tool-calls`,
      'ai + @ai-sdk/openai-compatible': `returns ${BOTH} marked as invalid, finish tool-calls`,
      '@langchain/openai (chat)': `returns the call mock_tool({}) and ${BOTH} marked as invalid, finish tool_calls`,
    }),
    ...each(['continuation_without_index'], {
      'openai (chat helper)': 'returns the call mock_tool(), finish tool_calls',
      'ai + @ai-sdk/openai (chat)':
        'reports AI_TypeValidationError beside the call mock_tool() marked as invalid, finish tool-calls',
      'ai + @ai-sdk/openai-compatible': `returns ${CALL}, finish tool-calls`,
      '@langchain/openai (chat)':
        'returns the call mock_tool({}) and the call ({"value") marked as invalid and the call (:"mock"}) marked as invalid, finish tool_calls',
    }),
    ...each(['first_without_id'], {
      'openai (chat helper)': `returns ${CALL}, finish tool_calls`,
      'ai + @ai-sdk/openai (chat)': `returns ${CALL}, finish tool-calls`,
      'ai + @ai-sdk/openai-compatible': `returns ${CALL}, finish tool-calls`,
      '@langchain/openai (chat)': `returns ${CALL} marked as invalid, finish tool_calls`,
    }),
  ],
};
