import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions';
import {
  type AnswerContext,
  type Content,
  type Dialect,
  type DialectEvent,
  type OddEvent,
  type Role,
  STREAM_ERROR_MESSAGE,
  type StreamEvent,
  type Telling,
  type WholeAnswer,
} from '../dialect.js';
import { masking } from '../masking.js';
import { requestShape } from '../request-shape.js';
import { type Finish, halves, pieces, type Turn } from '../turn.js';
import { openaiError, openaiHeaders, openaiRequestId } from './openai-http.js';

/**
 * OpenAI Chat Completions. Key order and optional keys are those of the newest recordings (GPT-5.4, 2026):
 * no `logprobs` in a choice, `usage: null` in each chunk when usage was asked for, `obfuscation` on every chunk.
 */

type Choice = Omit<ChatCompletionChunk.Choice, 'delta'> & { delta: Delta };
/** `refusal: null` in the first delta is on the wire and in the SDK's type; nothing else is added. */
type Delta = ChatCompletionChunk.Choice.Delta;

/** A refusal ends with `stop` (recorded); only the filter has a finish of its own. */
const FINISH: Readonly<Record<Finish, NonNullable<Choice['finish_reason']>>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  refusal: 'stop',
};

function usageOf(turn: Turn) {
  const { inputTokens, outputTokens, reasoningTokens } = turn.usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** One delta of the stream before it is dressed as a chunk. */
interface Step {
  readonly name: string;
  readonly role: Role;
  readonly delta: Delta;
  readonly content?: Content;
}

function toolSteps(turn: Turn, callIds: readonly string[], opened: boolean): Step[] {
  return turn.toolCalls.flatMap((call, index): Step[] => [
    ...(opened
      ? []
      : [
          {
            name: 'tool_call',
            role: 'start' as const,
            delta: {
              tool_calls: [
                {
                  index,
                  id: callIds[index] ?? '',
                  type: 'function' as const,
                  function: { name: call.name, arguments: '' },
                },
              ],
            },
          },
        ]),
    ...halves(call.arguments).map(
      (piece): Step => ({
        name: 'tool_args',
        role: 'delta',
        delta: { tool_calls: [{ index, function: { arguments: piece } }] },
        content: { kind: 'tool_args', key: 'arguments', value: piece },
      }),
    ),
  ]);
}

/** The first delta says who speaks; with a single tool call and no text it opens the call as well (recorded). */
function steps(turn: Turn, callIds: readonly string[], chunkSize: number): Step[] {
  const onlyCall = turn.text === '' && turn.toolCalls.length === 1 ? turn.toolCalls[0] : undefined;
  if (onlyCall) {
    const opening: Delta = {
      role: 'assistant',
      content: null,
      tool_calls: [
        { index: 0, id: callIds[0] ?? '', type: 'function', function: { name: onlyCall.name, arguments: '' } },
      ],
      refusal: null,
    };
    return [{ name: 'role', role: 'start', delta: opening }, ...toolSteps(turn, callIds, true)];
  }
  if (turn.refusal !== '') {
    return [
      { name: 'role', role: 'start', delta: { role: 'assistant', content: null, refusal: '' } },
      ...pieces(turn.refusal, chunkSize).map(
        (piece): Step => ({
          name: 'refusal',
          role: 'delta',
          delta: { refusal: piece },
          content: { kind: 'refusal', key: 'refusal', value: piece },
        }),
      ),
    ];
  }
  const opening: Delta =
    turn.text === '' && turn.toolCalls.length > 1
      ? { role: 'assistant', content: null }
      : { role: 'assistant', content: '', refusal: null };
  return [
    { name: 'role', role: 'start', delta: opening },
    ...pieces(turn.text, chunkSize).map(
      (piece): Step => ({
        name: 'content',
        role: 'delta',
        delta: { content: piece },
        content: { kind: 'text', key: 'content', value: piece },
      }),
    ),
    ...toolSteps(turn, callIds, false),
  ];
}

/** The shell of each chunk: everything around `choices`. */
function envelope(context: AnswerContext) {
  const { stamps, request, fidelity } = context;
  const id = `chatcmpl-${stamps.id('alnum', 29)}`;
  const created = Number(stamps.unixSeconds());
  const full = fidelity === 'full';
  const mask = masking('openai-chat');
  return (choices: readonly (Choice | null)[], usage: ReturnType<typeof usageOf> | null): string =>
    JSON.stringify({
      id,
      object: 'chat.completion.chunk',
      created,
      model: request.model,
      ...(full ? { service_tier: 'default' } : {}),
      system_fingerprint: null,
      choices,
      ...(request.includeUsage ? { usage } : {}),
      ...(full && request.includeObfuscation ? { obfuscation: mask.letters() } : {}),
    });
}

function tell(turn: Turn, context: AnswerContext): Telling {
  const chunk = envelope(context);
  const callIds = turn.toolCalls.map(() => `call_${context.stamps.id('alnum', 24)}`);
  const event = (name: string, role: Role, data: string, content?: Content): DialectEvent => ({
    name,
    role,
    data: () => data,
    ...(content ? { content } : {}),
  });
  const events = steps(turn, callIds, context.chunkSize).map((step) =>
    event(step.name, step.role, chunk([{ index: 0, delta: step.delta, finish_reason: null }], null), step.content),
  );
  const finish = finishOf(turn, context);
  events.push(event('finish', 'finish', chunk([{ index: 0, delta: {}, finish_reason: finish }], null)));
  if (context.request.includeUsage) events.push(event('usage', 'usage', chunk([], usageOf(turn))));
  events.push(event('[DONE]', 'terminal', '[DONE]'));
  return { events, odd: (kind) => chatOdd(kind, () => chunk([null], null)) };
}

/** A call of the one function that the request names ends with `stop` (recorded). */
function finishOf(turn: Turn, context: AnswerContext): NonNullable<Choice['finish_reason']> {
  return turn.finish === 'tool_calls' && context.request.forcesTool ? 'stop' : FINISH[turn.finish];
}

function whole(turn: Turn, context: AnswerContext): WholeAnswer {
  const { stamps, request, fidelity } = context;
  const toolCalls = turn.toolCalls.map((call) => ({
    id: `call_${stamps.id('alnum', 24)}`,
    type: 'function' as const,
    function: { name: call.name, arguments: call.arguments },
  }));
  const text = turn.text === '' && (toolCalls.length > 0 || turn.refusal !== '') ? null : turn.text;
  // The SDK types the fingerprint as a string; the newest models send null.
  const body: Omit<ChatCompletion, 'system_fingerprint'> & { system_fingerprint: null } = {
    id: `chatcmpl-${stamps.id('alnum', 29)}`,
    object: 'chat.completion',
    created: Number(stamps.unixSeconds()),
    model: request.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text,
          ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
          refusal: turn.refusal === '' ? null : turn.refusal,
          annotations: [],
        },
        logprobs: null,
        finish_reason: finishOf(turn, context),
      },
    ],
    usage: usageOf(turn),
    ...(fidelity === 'full' ? { service_tier: 'default' as const } : {}),
    system_fingerprint: null,
  };
  const content: Content[] = [
    ...(text ? [{ kind: 'text' as const, key: 'content', value: text }] : []),
    ...turn.toolCalls.map((call) => ({ kind: 'tool_args' as const, key: 'arguments', value: call.arguments })),
    ...(turn.refusal === '' ? [] : [{ kind: 'refusal' as const, key: 'refusal', value: turn.refusal }]),
  ];
  return { json: JSON.stringify(body, null, 2), content };
}

/** Reported from OpenAI's streams; nothing but `[DONE]` follows it. */
function errorObject(): string {
  return JSON.stringify({ error: { message: STREAM_ERROR_MESSAGE, type: 'server_error', param: null, code: null } });
}

/** The odd events of Chat Completions and its variants. */
export function chatOdd(kind: OddEvent, nullChoice: () => string): readonly StreamEvent[] {
  switch (kind) {
    case 'malformed_json':
      return [{ name: kind, role: 'malformed', data: () => '{not-json' }];
    case 'malformed_event': {
      const data = nullChoice();
      return [{ name: kind, role: 'malformed', data: () => data }];
    }
    case 'stream_error':
      return [
        { name: 'error', role: 'error', data: errorObject },
        { name: '[DONE]', role: 'terminal', data: () => '[DONE]' },
      ];
    case 'keepalive':
      // OpenAI itself was never seen to send one; this is DeepSeek's, and what gateways send.
      return [{ name: 'keep-alive', role: 'keepalive', comment: 'keep-alive' }];
    case 'foreign_terminal':
      return [{ name: 'message_stop', role: 'terminal', event: 'message_stop', data: () => '{"type":"message_stop"}' }];
    default:
      return kind satisfies never;
  }
}

export const openaiChat: Dialect = {
  name: 'openai-chat',
  gzipWhenOffered: false,
  readRequest: (body) => requestShape(body, body.max_completion_tokens ?? body.max_tokens),
  requestId: openaiRequestId,
  tell,
  whole,
  wholeError: errorObject,
  headers: openaiHeaders,
  error: (kind, message, retryAfterMs, context) => openaiError(kind, message, retryAfterMs, context, 'chat'),
};
