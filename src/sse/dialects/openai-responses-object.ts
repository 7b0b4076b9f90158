import type {
  Response,
  ResponseError,
  ResponseFunctionToolCallItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
  ResponseUsage,
} from 'openai/resources/responses/responses';
import { type AnswerContext, type Content, isObject, type JsonObject, type RequestShape } from '../dialect.js';
import type { Finish, Turn, Usage } from '../turn.js';

/**
 * The response object of the Responses API, which its lifecycle events and its JSON body have in common:
 * the request's settings, and what has come of the answer so far, most of all its output items.
 * Keys are in the order of the newest recordings (August 2026).
 */

/**
 * On the wire but not in the SDK's type; `output_text` is the other way around: the SDK adds it.
 * `usage` and `user` are null where the SDK has them absent.
 */
interface Unpublished {
  readonly billing?: { readonly payer: 'developer' };
  readonly frequency_penalty: number;
  readonly max_tool_calls: number | null;
  readonly presence_penalty: number;
  readonly store: boolean;
  readonly tool_usage: JsonObject;
  /** As the request has them, and it may have any. */
  readonly tools: readonly JsonObject[];
  readonly usage: ResponseUsage | null;
  readonly user: string | null;
}

export type WireResponse = Omit<Response, 'output_text' | 'tools' | 'usage' | 'user'> & Unpublished;

/** The settings that the object repeats from the request. */
type Echo = Pick<
  WireResponse,
  | 'instructions'
  | 'max_output_tokens'
  | 'max_tool_calls'
  | 'metadata'
  | 'parallel_tool_calls'
  | 'previous_response_id'
  | 'prompt_cache_key'
  | 'prompt_cache_retention'
  | 'reasoning'
  | 'safety_identifier'
  | 'service_tier'
  | 'store'
  | 'temperature'
  | 'text'
  | 'tool_choice'
  | 'tools'
  | 'top_logprobs'
  | 'top_p'
  | 'truncation'
  | 'user'
>;

type Check = (value: unknown) => boolean;

const isString: Check = (value) => typeof value === 'string';
const isBoolean: Check = (value) => typeof value === 'boolean';
const isNumber: Check = (value) => typeof value === 'number';

/** What passes for a setting's value; anything else is as if the request were silent. */
const ECHOED: Readonly<Record<keyof Echo, Check>> = {
  // The API takes a list of items as well. One that had the answer's words in it would be taken for the answer.
  instructions: isString,
  max_output_tokens: Number.isSafeInteger,
  max_tool_calls: Number.isSafeInteger,
  metadata: isObject,
  parallel_tool_calls: isBoolean,
  previous_response_id: isString,
  prompt_cache_key: isString,
  prompt_cache_retention: isString,
  reasoning: isObject,
  safety_identifier: isString,
  service_tier: isString,
  store: isBoolean,
  temperature: isNumber,
  text: isObject,
  tool_choice: (value) => typeof value === 'string' || isObject(value),
  tools: (value) => Array.isArray(value) && value.every(isObject),
  top_logprobs: Number.isSafeInteger,
  top_p: isNumber,
  truncation: isString,
  user: isString,
};

/** What of a request's body the object repeats. */
export function echoOf(body: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(ECHOED).flatMap(([key, passes]) => (passes(body[key]) ? [[key, body[key]]] : [])),
  );
}

export type Member = readonly [key: string, value: unknown];

/** `type` first, the rest by name: how the API has laid out its objects since December 2025 (recorded). */
export function typeFirst(members: readonly Member[]): Member[] {
  const rank = ([key]: Member): string => (key === 'type' ? '' : key);
  return members.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/** A tool as the API repeats it, with its defaults for functions. */
function toolEcho(tool: JsonObject): JsonObject {
  const filled = tool.type === 'function' ? { description: null, output_schema: null, strict: true, ...tool } : tool;
  return Object.fromEntries(typeFirst(Object.entries(filled)));
}

const NO_TOOL_USAGE: JsonObject = {
  image_gen: {
    input_tokens: 0,
    input_tokens_details: { image_tokens: 0, text_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { image_tokens: 0, text_tokens: 0 },
    total_tokens: 0,
  },
  web_search: { num_requests: 0 },
};

function usageOf({ inputTokens, outputTokens, reasoningTokens }: Usage): ResponseUsage {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cache_write_tokens: 0, cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

/** What stays the same over an answer. */
export interface Identity {
  readonly id: string;
  readonly createdAt: number;
  readonly request: RequestShape;
}

/** What comes of an answer. */
export interface Outcome {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly completedAt?: number;
  readonly error?: ResponseError;
  readonly incompleteReason?: NonNullable<Response.IncompleteDetails['reason']>;
  readonly output?: Item[];
  readonly usage?: Usage;
}

export type Item = ResponseReasoningItem | ResponseOutputMessage | ResponseFunctionToolCallItem;

/** Why a response is incomplete; `undefined` for a completed one, which a refusal is too (recorded). */
const INCOMPLETE: Readonly<Record<Finish, Outcome['incompleteReason']>> = {
  stop: undefined,
  length: 'max_output_tokens',
  tool_calls: undefined,
  content_filter: 'content_filter',
  refusal: undefined,
};

/** Draws what the whole answer has in common. */
export function identityOf({ stamps, request }: AnswerContext): Identity {
  return { id: `resp_${stamps.id('hex', 50)}`, createdAt: Number(stamps.unixSeconds()), request };
}

function reasoningItem(turn: Turn, { stamps, fidelity }: AnswerContext): ResponseReasoningItem {
  return {
    id: `rs_${stamps.id('hex', 50)}`,
    type: 'reasoning',
    // OpenAI encrypts anew each time it repeats the item. Here it stays the same, so that repetitions can be compared.
    ...(fidelity === 'full' ? { content: [], encrypted_content: `gAAAAAB${stamps.id('alnum', 120)}` } : {}),
    summary: [{ type: 'summary_text', text: turn.reasoning }],
  };
}

function messageItem(turn: Turn, { stamps, fidelity }: AnswerContext): ResponseOutputMessage {
  return {
    id: `msg_${stamps.id('hex', 50)}`,
    type: 'message',
    status: 'completed',
    content: [
      turn.refusal === ''
        ? { type: 'output_text', annotations: [], logprobs: [], text: turn.text }
        : { type: 'refusal', refusal: turn.refusal },
    ],
    ...(fidelity === 'full' ? { phase: 'final_answer' } : {}),
    role: 'assistant',
  };
}

/** A message may be empty, but not where tools are called, nor where reasoning took all of the budget (recorded). */
function hasMessage({ text, refusal, toolCalls, reasoning, finish }: Turn): boolean {
  return text !== '' || refusal !== '' || (toolCalls.length === 0 && (reasoning === '' || finish !== 'length'));
}

/** The items in their final form. The last one is what the model was at when it was cut; reasoning has no status. */
export function itemsOf(turn: Turn, context: AnswerContext): Item[] {
  const { stamps } = context;
  const items: Item[] = [
    ...(turn.reasoning === '' ? [] : [reasoningItem(turn, context)]),
    ...(hasMessage(turn) ? [messageItem(turn, context)] : []),
    ...turn.toolCalls.map(
      (call): ResponseFunctionToolCallItem => ({
        id: `fc_${stamps.id('hex', 50)}`,
        type: 'function_call',
        status: 'completed',
        arguments: call.arguments,
        call_id: `call_${stamps.id('alnum', 24)}`,
        name: call.name,
      }),
    ),
  ];
  const last = items.at(-1);
  if (INCOMPLETE[turn.finish] && last && last.type !== 'reasoning') last.status = 'incomplete';
  return items;
}

/** What comes of a turn in the end. */
export function endOf(turn: Turn, { stamps }: AnswerContext, output: Item[]): Outcome {
  const incompleteReason = INCOMPLETE[turn.finish];
  const rest = { output, usage: turn.usage };
  // An incomplete response has no time of completion (recorded).
  return incompleteReason
    ? { status: 'incomplete', incompleteReason, ...rest }
    : { status: 'completed', completedAt: Number(stamps.unixSeconds()), ...rest };
}

/** Where an item's words stand in a JSON body. */
export function contentOf(item: Item): Content[] {
  switch (item.type) {
    case 'reasoning':
      return item.summary.map(({ text }) => ({ kind: 'reasoning', key: 'text', value: text }));
    case 'message':
      return item.content.map((part) =>
        part.type === 'refusal'
          ? { kind: 'refusal', key: 'refusal', value: part.refusal }
          : { kind: 'text', key: 'text', value: part.text },
      );
    case 'function_call':
      return [{ kind: 'tool_args', key: 'arguments', value: item.arguments }];
    default:
      return item satisfies never;
  }
}

/** `billing` is in JSON bodies, in no recorded stream. */
export function responseObject(identity: Identity, outcome: Outcome, form: 'event' | 'body'): WireResponse {
  // Each field has passed its check.
  const echo = identity.request.echo as Partial<Echo>;
  const { status, incompleteReason, usage } = outcome;
  const tier = echo.service_tier ?? 'auto';
  return {
    id: identity.id,
    object: 'response',
    created_at: identity.createdAt,
    status,
    background: false,
    ...(form === 'body' ? { billing: { payer: 'developer' } } : {}),
    completed_at: outcome.completedAt ?? null,
    error: outcome.error ?? null,
    frequency_penalty: 0,
    incomplete_details: incompleteReason ? { reason: incompleteReason } : null,
    instructions: echo.instructions ?? null,
    max_output_tokens: echo.max_output_tokens ?? null,
    max_tool_calls: echo.max_tool_calls ?? null,
    model: identity.request.model,
    moderation: null,
    output: outcome.output ?? [],
    parallel_tool_calls: echo.parallel_tool_calls ?? true,
    presence_penalty: 0,
    previous_response_id: echo.previous_response_id ?? null,
    prompt_cache_key: echo.prompt_cache_key ?? null,
    prompt_cache_retention: echo.prompt_cache_retention ?? 'in_memory',
    reasoning: { effort: null, summary: null, ...echo.reasoning },
    safety_identifier: echo.safety_identifier ?? null,
    // The tier that was asked for, and in the end the one that served.
    service_tier: tier === 'auto' && usage ? 'default' : tier,
    store: echo.store ?? true,
    temperature: echo.temperature ?? 1,
    text: { format: { type: 'text' }, verbosity: 'medium', ...echo.text },
    tool_choice: echo.tool_choice ?? 'auto',
    tool_usage: NO_TOOL_USAGE,
    tools: (echo.tools ?? []).map(toolEcho),
    top_logprobs: echo.top_logprobs ?? 0,
    top_p: echo.top_p ?? 1,
    truncation: echo.truncation ?? 'disabled',
    usage: usage ? usageOf(usage) : null,
    user: echo.user ?? null,
    metadata: echo.metadata ?? {},
  };
}

/** Printed with a fraction even where they are whole: `1.0`, `0.0` (recorded). */
const FLOATS: ReadonlySet<string> = new Set(['frequency_penalty', 'presence_penalty', 'temperature', 'top_p']);

/** JSON.stringify, but for the floats. */
export function responseJson(response: WireResponse, indent = ''): string {
  const line = indent === '' ? '' : `\n${indent}`;
  const members = Object.entries(response).map(([key, value]: Member) => {
    const float = FLOATS.has(key) && typeof value === 'number' && Number.isInteger(value);
    const json = float ? value.toFixed(1) : JSON.stringify(value, null, indent);
    // A string in JSON has no raw line feed, so each one here is of the layout.
    return `${line}${JSON.stringify(key)}:${indent === '' ? '' : ' '}${json.replaceAll('\n', `\n${indent}`)}`;
  });
  return `{${members.join(',')}${indent === '' ? '' : '\n'}}`;
}
