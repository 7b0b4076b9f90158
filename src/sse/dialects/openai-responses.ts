import type {
  Response,
  ResponseError,
  ResponseFunctionCallArgumentsDoneEvent,
  ResponseFunctionToolCallItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';
import {
  type AnswerContext,
  type Content,
  type ContentKind,
  type Dialect,
  type DialectEvent,
  type KeyOrder,
  type OddEvent,
  type Role,
  STREAM_ERROR_MESSAGE,
  type Telling,
  type WholeAnswer,
} from '../dialect.js';
import { masking } from '../masking.js';
import { requestShape } from '../request-shape.js';
import { halves, pieces, type Turn } from '../turn.js';
import { openaiError, openaiHeaders, openaiRequestId } from './openai-http.js';
import {
  contentOf,
  echoOf,
  endOf,
  type Item,
  identityOf,
  itemsOf,
  type Member,
  type Outcome,
  responseJson,
  responseObject,
  typeFirst,
  type WireResponse,
} from './openai-responses-object.js';

/**
 * OpenAI Responses. An answer is a list of output items; the stream tells each of them from `added` to `done`,
 * so its events are derived from the items in their final form, which the terminal event repeats.
 * Objects are laid out as in the newest recordings (August 2026).
 */

type Unnumbered<E> = E extends { sequence_number: number } ? Omit<E, 'sequence_number'> : never;

/** The SDK's type demands the function's `name`, which no recorded event has (0 of 121). */
type ArgumentsDone = Omit<ResponseFunctionCallArgumentsDoneEvent, 'name'>;
type LifecycleEvent = Extract<ResponseStreamEvent, { response: Response }>;

/** The SDK's events as they are on the wire, before they are numbered. Their keys are written in the `declared` order. */
type WireEvent = (
  | Unnumbered<
      Exclude<ResponseStreamEvent, LifecycleEvent | ResponseFunctionCallArgumentsDoneEvent | { type: 'error' }>
    >
  | Unnumbered<ArgumentsDone>
  | { type: LifecycleEvent['type']; response: WireResponse }
  // The SDK's type has the error's fields flat; every recorded one has them nested.
  | { type: 'error'; error: ResponseError & { type: string; param: null } }
  // In no SDK's union, but recorded.
  | { type: 'keepalive' }
  // What `malformed_event` is for.
  | { type: 'response.output_item.added'; output_index: number; item: null }
) & {
  // Undeclared by the SDK, sent with most deltas.
  obfuscation?: string;
};

const FAILURE: ResponseError = { code: 'server_error', message: STREAM_ERROR_MESSAGE };
const FAILED: Outcome = { status: 'failed', error: FAILURE };

/** One event before it is numbered. */
interface Step {
  readonly role: Role;
  readonly event: WireEvent;
  readonly content?: Content;
}

/** How items are told. */
interface Manner {
  readonly chunkSize: number;
  /** The filler of the next delta. */
  readonly mask: () => { obfuscation?: string };
}

/** An item's place: `item_id` and `output_index`, as each event about it repeats them. */
interface Place {
  readonly item_id: string;
  readonly output_index: number;
}

const start = (event: WireEvent): Step => ({ role: 'start', event });
const done = (event: WireEvent): Step => ({ role: 'done', event });

function deltas(kind: ContentKind, parts: readonly string[], event: (delta: string) => WireEvent): Step[] {
  return parts.map((value) => ({ role: 'delta', event: event(value), content: { kind, key: 'delta', value } }));
}

function reasoningSteps(item: ResponseReasoningItem, place: Place, { chunkSize, mask }: Manner): Step[] {
  return item.summary.flatMap((part, summary_index) => {
    const at = { ...place, summary_index };
    return [
      start({ type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } }),
      ...deltas('reasoning', pieces(part.text, chunkSize), (delta) => ({
        type: 'response.reasoning_summary_text.delta',
        ...at,
        delta,
        ...mask(),
      })),
      done({ type: 'response.reasoning_summary_text.done', ...at, text: part.text }),
      done({ type: 'response.reasoning_summary_part.done', ...at, part }),
    ];
  });
}

function messageSteps(item: ResponseOutputMessage, place: Place, { chunkSize, mask }: Manner): Step[] {
  return item.content.flatMap((part, content_index) => {
    const at = { ...place, content_index };
    const told =
      part.type === 'refusal'
        ? [
            start({ type: 'response.content_part.added', ...at, part: { ...part, refusal: '' } }),
            // Refusals have no filler (recorded).
            ...deltas('refusal', pieces(part.refusal, chunkSize), (delta) => ({
              type: 'response.refusal.delta',
              ...at,
              delta,
            })),
            done({ type: 'response.refusal.done', ...at, refusal: part.refusal }),
          ]
        : [
            start({ type: 'response.content_part.added', ...at, part: { ...part, text: '' } }),
            ...deltas('text', pieces(part.text, chunkSize), (delta) => ({
              type: 'response.output_text.delta',
              ...at,
              delta,
              logprobs: [],
              ...mask(),
            })),
            done({ type: 'response.output_text.done', ...at, text: part.text, logprobs: [] }),
          ];
    return [...told, done({ type: 'response.content_part.done', ...at, part })];
  });
}

function callSteps(item: ResponseFunctionToolCallItem, place: Place, { mask }: Manner): Step[] {
  return [
    ...deltas('tool_args', halves(item.arguments), (delta) => ({
      type: 'response.function_call_arguments.delta',
      ...place,
      delta,
      ...mask(),
    })),
    done({ type: 'response.function_call_arguments.done', ...place, arguments: item.arguments }),
  ];
}

/** An item as it is before anything of it was told, and the telling. */
function opened(item: Item, place: Place, manner: Manner): { added: Item; steps: Step[] } {
  switch (item.type) {
    case 'reasoning':
      return { added: { ...item, summary: [] }, steps: reasoningSteps(item, place, manner) };
    case 'message':
      return { added: { ...item, status: 'in_progress', content: [] }, steps: messageSteps(item, place, manner) };
    case 'function_call':
      return { added: { ...item, status: 'in_progress', arguments: '' }, steps: callSteps(item, place, manner) };
    default:
      return item satisfies never;
  }
}

function itemSteps(item: Item, output_index: number, manner: Manner): Step[] {
  const { added, steps } = opened(item, { item_id: item.id, output_index }, manner);
  return [
    start({ type: 'response.output_item.added', output_index, item: added }),
    ...steps,
    done({ type: 'response.output_item.done', output_index, item }),
  ];
}

function eventJson(event: WireEvent, sequence: number, keyOrder: KeyOrder): string {
  const { type, ...rest } = event;
  const declared: Member[] = [['type', type], ['sequence_number', sequence], ...Object.entries(rest)];
  const members = (keyOrder === 'sorted' ? typeFirst(declared) : declared).map(([key, value]) => {
    const json = key === 'response' && 'response' in event ? responseJson(event.response) : JSON.stringify(value);
    return `${JSON.stringify(key)}:${json}`;
  });
  return `{${members.join(',')}}`;
}

function tell(turn: Turn, context: AnswerContext): Telling {
  const { keyOrder, chunkSize, fidelity, request } = context;
  const identity = identityOf(context);
  const items = itemsOf(turn, context);
  const filler = masking('openai-responses');
  const masked = fidelity === 'full' && request.includeObfuscation;
  const manner: Manner = { chunkSize, mask: () => (masked ? { obfuscation: filler.letters() } : {}) };

  const dress = ({ role, event, content }: Step): DialectEvent => ({
    name: event.type,
    role,
    event: event.type,
    data: (sequence) => eventJson(event, sequence, keyOrder),
    ...(content ? { content } : {}),
  });
  const lifecycle = (role: Role, type: LifecycleEvent['type'], outcome: Outcome): Step => ({
    role,
    event: { type, response: responseObject(identity, outcome, 'event') },
  });

  const end = endOf(turn, context, items);
  const steps = [
    lifecycle('open', 'response.created', { status: 'in_progress' }),
    lifecycle('open', 'response.in_progress', { status: 'in_progress' }),
    ...items.flatMap((item, index) => itemSteps(item, index, manner)),
    lifecycle('terminal', end.status === 'incomplete' ? 'response.incomplete' : 'response.completed', end),
  ];

  const odd = (kind: OddEvent): readonly DialectEvent[] => {
    switch (kind) {
      case 'malformed_json':
        return [{ name: kind, role: 'malformed', event: 'response.output_text.delta', data: () => '{not-json' }];
      case 'malformed_event': {
        const event = { type: 'response.output_item.added', output_index: 0, item: null } as const;
        return [{ ...dress({ role: 'malformed', event }), name: kind }];
      }
      case 'stream_error': {
        const { code, message } = FAILURE;
        const error = { type: 'server_error', code, message, param: null };
        return [
          dress({ role: 'error', event: { type: 'error', error } }),
          dress(lifecycle('terminal', 'response.failed', FAILED)),
        ];
      }
      case 'keepalive':
        return [dress({ role: 'keepalive', event: { type: 'keepalive' } })];
      case 'foreign_terminal':
        return [{ name: '[DONE]', role: 'terminal', data: () => '[DONE]' }];
      default:
        return kind satisfies never;
    }
  };
  return { events: steps.map(dress), odd };
}

function whole(turn: Turn, context: AnswerContext): WholeAnswer {
  const identity = identityOf(context);
  const items = itemsOf(turn, context);
  const body = responseObject(identity, endOf(turn, context, items), 'body');
  return {
    json: responseJson(body, '  '),
    content: items.flatMap(contentOf).filter(({ value }) => value !== ''),
  };
}

export const openaiResponses: Dialect = {
  name: 'openai-responses',
  gzipWhenOffered: false,
  // Usage is always in the terminal event, asked for or not.
  readRequest: (body) => ({ ...requestShape(body, body.max_output_tokens), echo: echoOf(body) }),
  requestId: openaiRequestId,
  tell,
  whole,
  wholeError: (context) => responseJson(responseObject(identityOf(context), FAILED, 'body'), '  '),
  headers: openaiHeaders,
  error: (kind, message, retryAfterMs, context) => openaiError(kind, message, retryAfterMs, context, 'responses'),
};
