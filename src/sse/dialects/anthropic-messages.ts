import type {
  Message,
  MessageDeltaUsage,
  RawContentBlockDelta,
  RawContentBlockDeltaEvent,
  RawContentBlockStartEvent,
  RawContentBlockStopEvent,
  RawMessageDeltaEvent,
  RawMessageStartEvent,
  RawMessageStopEvent,
  StopReason,
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
  Usage,
} from '@anthropic-ai/sdk/resources/messages';
import {
  type AnswerContext,
  type Content,
  type Dialect,
  type DialectEvent,
  isObject,
  type JsonObject,
  type OddEvent,
  type Role,
  type Telling,
  type WholeAnswer,
} from '../dialect.js';
import { masking } from '../masking.js';
import { requestShape } from '../request-shape.js';
import { type Finish, halves, pieces, type ToolCall, type Turn } from '../turn.js';
import { anthropicError, anthropicHeaders, streamErrorObject } from './anthropic-http.js';

/**
 * Anthropic Messages: a message of content blocks, told one after the other. Key order and optional keys are those of
 * the newest recordings (2026): the model before the id, `stop_details`, `caller` in tool calls, `inference_geo`.
 */

/*
 * The SDK's types, without the keys that the SDK declares as always there and that were in no recording
 * of a turn without server tools.
 */
type WireUsage = Omit<Usage, 'output_tokens_details' | 'server_tool_use' | 'speed'> &
  Partial<Pick<Usage, 'output_tokens_details'>>;
type WireDeltaUsage = Omit<MessageDeltaUsage, 'output_tokens_details' | 'server_tool_use'> &
  Partial<Pick<MessageDeltaUsage, 'output_tokens_details'>>;
type WireBlock = Omit<TextBlock, 'citations'> | ThinkingBlock | ToolUseBlock;
type WireMessage = Omit<Message, 'container' | 'content' | 'diagnostics' | 'usage'> & {
  content: readonly WireBlock[];
  usage: WireUsage;
};
type WireEvent =
  | (Omit<RawMessageStartEvent, 'message'> & { message: WireMessage })
  | (Omit<RawContentBlockStartEvent, 'content_block'> & { content_block: WireBlock })
  | RawContentBlockDeltaEvent
  | RawContentBlockStopEvent
  | (Omit<RawMessageDeltaEvent, 'delta' | 'usage'> & {
      delta: Omit<RawMessageDeltaEvent.Delta, 'container'>;
      usage: WireDeltaUsage;
    })
  | RawMessageStopEvent;

/** The provider's filter stops a stream with `refusal` as the model itself does; both come under a 200. */
const STOP_REASON: Readonly<Record<Finish, StopReason>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
  refusal: 'refusal',
};

/** Stops as the end of a message says them; a refusal's category and explanation are null in each recording. */
function stopOf(turn: Turn): Pick<Message, 'stop_reason' | 'stop_sequence' | 'stop_details'> {
  const reason = STOP_REASON[turn.finish];
  return {
    stop_reason: reason,
    stop_sequence: null,
    stop_details: reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null,
  };
}

const NOT_STOPPED = { stop_reason: null, stop_sequence: null, stop_details: null } as const;

/** Recorded wherever the model thought, after `output_tokens`. */
function thoughtTokens(turn: Turn): Partial<Pick<Usage, 'output_tokens_details'>> {
  return turn.reasoning === '' ? {} : { output_tokens_details: { thinking_tokens: turn.usage.reasoningTokens } };
}

function inputUsage(turn: Turn) {
  return { input_tokens: turn.usage.inputTokens, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
}

function messageUsage(turn: Turn, output: Pick<WireUsage, 'output_tokens' | 'output_tokens_details'>): WireUsage {
  return {
    ...inputUsage(turn),
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    ...output,
    service_tier: 'standard',
    inference_geo: 'not_available',
  };
}

/** One content block: how it begins, the deltas that fill it, and what it is when it is full. */
interface Block {
  readonly opening: WireBlock;
  readonly deltas: readonly { readonly delta: RawContentBlockDelta; readonly content?: Content }[];
  readonly full: WireBlock;
  /** The content of the full block. */
  readonly content?: Content;
}

function thinkingBlock(thinking: string, signature: string, chunkSize: number): Block {
  return {
    opening: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...pieces(thinking, chunkSize).map((value) => ({
        delta: { type: 'thinking_delta' as const, thinking: value },
        content: { kind: 'reasoning' as const, key: 'thinking', value },
      })),
      { delta: { type: 'signature_delta', signature } },
    ],
    full: { type: 'thinking', thinking, signature },
    content: { kind: 'reasoning', key: 'thinking', value: thinking },
  };
}

/** An empty answer is a text block without deltas (recorded). */
function textBlock(text: string, kind: 'text' | 'refusal', chunkSize: number): Block {
  return {
    opening: { type: 'text', text: '' },
    deltas: pieces(text, chunkSize).map((value) => ({
      delta: { type: 'text_delta', text: value },
      content: { kind, key: 'text', value },
    })),
    full: { type: 'text', text },
    ...(text === '' ? {} : { content: { kind, key: 'text', value: text } }),
  };
}

/** Arguments that the length limit cut are no JSON; the whole message, which has no place for half an object, has `{}`. */
function inputOf(call: ToolCall): JsonObject {
  try {
    const input: unknown = JSON.parse(call.arguments);
    return isObject(input) ? input : {};
  } catch {
    return {};
  }
}

/** The first delta of an input is empty in each recording. */
function toolBlock(call: ToolCall, id: string): Block {
  const block = (value: JsonObject): WireBlock => ({
    type: 'tool_use',
    id,
    name: call.name,
    input: value,
    caller: { type: 'direct' },
  });
  const input = inputOf(call);
  return {
    opening: block({}),
    deltas: [
      { delta: { type: 'input_json_delta', partial_json: '' } },
      ...halves(call.arguments).map((value) => ({
        delta: { type: 'input_json_delta' as const, partial_json: value },
        content: { kind: 'tool_args' as const, key: 'partial_json', value },
      })),
    ],
    full: block(input),
    content: { kind: 'tool_args', key: 'input', value: JSON.stringify(input), raw: true },
  };
}

/** Recorded signatures have 68 to 1688 characters and grow with the thoughts; a stamp has a fixed width. */
const SIGNATURE_WIDTH = 320;

/** The blocks of a turn. A refusal's words are text. */
function blocksOf(turn: Turn, { chunkSize, stamps }: AnswerContext): Block[] {
  const text = turn.text + turn.refusal;
  const kind = turn.refusal === '' ? 'text' : 'refusal';
  return [
    ...(turn.reasoning === '' ? [] : [thinkingBlock(turn.reasoning, stamps.id('alnum', SIGNATURE_WIDTH), chunkSize)]),
    ...(text === '' && turn.toolCalls.length > 0 ? [] : [textBlock(text, kind, chunkSize)]),
    ...turn.toolCalls.map((call) => toolBlock(call, `toolu_01${stamps.id('base58', 22)}`)),
  ];
}

type MessageEnd = Pick<WireMessage, 'content' | 'stop_reason' | 'stop_sequence' | 'stop_details' | 'usage'>;

function messageOf(id: string, context: AnswerContext, end: MessageEnd): WireMessage {
  const { content, stop_reason, stop_sequence, stop_details, usage } = end;
  const { model } = context.request;
  return { model, id, type: 'message', role: 'assistant', content, stop_reason, stop_sequence, stop_details, usage };
}

function messageId(context: AnswerContext): string {
  return `msg_01${context.stamps.id('base58', 22)}`;
}

/** Never padded, and the only JSON here with a space after its colon (recorded). */
const PING: DialectEvent = { name: 'ping', role: 'keepalive', event: 'ping', data: () => '{"type": "ping"}' };

/** Puts the padding where it is on the wire: inside of the object, before its last brace. */
function padder(context: AnswerContext): (json: string) => string {
  if (context.fidelity === 'plain') return (json) => json;
  const mask = masking('anthropic-messages');
  return (json) => `${json.slice(0, -1)}${mask.spaces()}}`;
}

function tell(turn: Turn, context: AnswerContext): Telling {
  const pad = padder(context);
  const event = (role: Role, body: WireEvent, content?: Content): DialectEvent => {
    const data = pad(JSON.stringify(body));
    return { name: body.type, role, event: body.type, data: () => data, ...(content ? { content } : {}) };
  };
  const id = messageId(context);
  // Some tokens are counted before the first is sent; more than the final number would be a count that falls.
  const usage = messageUsage(turn, { output_tokens: Math.min(1, turn.usage.outputTokens) });
  const events = [
    event('open', { type: 'message_start', message: messageOf(id, context, { content: [], ...NOT_STOPPED, usage }) }),
    ...blocksOf(turn, context).flatMap(({ opening, deltas }, index) => [
      event('start', { type: 'content_block_start', index, content_block: opening }),
      // Nearly every recorded stream has exactly one ping, here.
      ...(index === 0 ? [PING] : []),
      ...deltas.map(({ delta, content }) => event('delta', { type: 'content_block_delta', index, delta }, content)),
      event('done', { type: 'content_block_stop', index }),
    ]),
    event('finish', {
      type: 'message_delta',
      delta: stopOf(turn),
      usage: { ...inputUsage(turn), output_tokens: turn.usage.outputTokens, ...thoughtTokens(turn) },
    }),
    event('terminal', { type: 'message_stop' }),
  ];
  return { events, odd: (kind) => oddEvents(kind, context.requestId, pad) };
}

function oddEvents(kind: OddEvent, requestId: string, pad: (json: string) => string): readonly DialectEvent[] {
  const delta = { role: 'malformed', event: 'content_block_delta' } as const;
  switch (kind) {
    case 'malformed_json':
      return [{ ...delta, name: kind, data: () => '{not-json' }];
    case 'malformed_event': {
      const data = pad('{"type":"content_block_delta","index":0,"delta":null}');
      return [{ ...delta, name: kind, data: () => data }];
    }
    case 'stream_error': {
      // Nothing follows it: no message_stop (reported from Anthropic's streams).
      const data = pad(streamErrorObject(requestId));
      return [{ name: 'error', role: 'error', event: 'error', data: () => data }];
    }
    case 'keepalive':
      return [PING];
    case 'foreign_terminal':
      return [{ name: '[DONE]', role: 'terminal', data: () => '[DONE]' }];
    default:
      return kind satisfies never;
  }
}

/** Compact JSON. */
function whole(turn: Turn, context: AnswerContext): WholeAnswer {
  const id = messageId(context);
  const blocks = blocksOf(turn, context);
  const usage = messageUsage(turn, { output_tokens: turn.usage.outputTokens, ...thoughtTokens(turn) });
  const body = messageOf(id, context, { content: blocks.map(({ full }) => full), ...stopOf(turn), usage });
  return { json: JSON.stringify(body), content: blocks.flatMap(({ content }) => content ?? []) };
}

export const anthropicMessages: Dialect = {
  name: 'anthropic-messages',
  gzipWhenOffered: true,
  readRequest: (body) => requestShape(body, body.max_tokens),
  requestId: (stamps) => `req_011${stamps.id('base58', 21)}`,
  tell,
  whole,
  wholeError: (context) => streamErrorObject(context.requestId),
  headers: anthropicHeaders,
  error: anthropicError,
};
