import { DEFAULT_MODEL, isObject, type JsonObject, type RequestShape } from './dialect.js';

/** `tool_choice.type` where it names one tool, in the words of the three APIs. */
const NAMES_A_TOOL = ['function', 'custom', 'tool'];

/**
 * The fields that all protocols share, read from a request's body with the API's defaults where it is silent or odd:
 * whether a client's request is well-formed is not what this program tests.
 */
export function requestShape(body: JsonObject, limit: unknown): RequestShape {
  const options = isObject(body.stream_options) ? body.stream_options : {};
  return {
    stream: body.stream === true,
    model: typeof body.model === 'string' && body.model !== '' ? body.model : DEFAULT_MODEL,
    maxTokens: typeof limit === 'number' && Number.isSafeInteger(limit) && limit > 0 ? limit : undefined,
    includeUsage: options.include_usage === true,
    includeObfuscation: options.include_obfuscation !== false,
    forcesTool: isObject(body.tool_choice) && NAMES_A_TOOL.includes(String(body.tool_choice.type)),
    echo: {},
  };
}
