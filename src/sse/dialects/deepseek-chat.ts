import type { AnswerContext, Content, Dialect, DialectEvent, Header, Role, Telling, WholeAnswer } from '../dialect.js';
import { type Finish, halves, pieces, type Turn } from '../turn.js';
import { chatOdd, openaiChat } from './openai-chat.js';
import { retryHeaders } from './openai-http.js';

/**
 * DeepSeek's variant of Chat Completions, after its recordings of 2026: the id is a UUID, `logprobs` is always there,
 * nothing is masked, reasoning comes in `reasoning_content`, and usage stands in the finish chunk.
 */

const FINGERPRINT = 'fp_8b330d02d0_prod0820_fp8_kvcache_20260402';

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  refusal: 'stop',
};

function uuid(context: AnswerContext): string {
  return [8, 4, 4, 4, 12].map((width) => context.stamps.id('hex', width)).join('-');
}

/** A refusal has no field of its own here: it is said as text. */
function textOf(turn: Turn): string {
  return turn.text + turn.refusal;
}

function usageOf(turn: Turn) {
  const { inputTokens, outputTokens, reasoningTokens } = turn.usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: 0 },
    ...(turn.reasoning === '' ? {} : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
    prompt_cache_hit_tokens: 0,
    prompt_cache_miss_tokens: inputTokens,
  };
}

function envelope(context: AnswerContext) {
  const id = uuid(context);
  const created = Number(context.stamps.unixSeconds());
  return (choices: readonly unknown[], usage: ReturnType<typeof usageOf> | null): string =>
    JSON.stringify({
      id,
      object: 'chat.completion.chunk',
      created,
      model: context.request.model,
      system_fingerprint: FINGERPRINT,
      choices,
      usage,
    });
}

function tell(turn: Turn, context: AnswerContext): Telling {
  const chunk = envelope(context);
  const thinking = turn.reasoning !== '';
  const event = (
    name: string,
    role: Role,
    delta: object,
    options: { content?: Content; finish?: string } = {},
  ): DialectEvent => {
    const choice = { index: 0, delta, logprobs: null, finish_reason: options.finish ?? null };
    const data = chunk([choice], options.finish === undefined ? null : usageOf(turn));
    return { name, role, data: () => data, ...(options.content ? { content: options.content } : {}) };
  };
  // With thinking, both fields stand in each delta, and the one that doesn't speak is null.
  const silent = thinking ? { reasoning_content: null } : {};
  const events = [
    event('role', 'start', {
      role: 'assistant',
      content: thinking ? null : '',
      ...(thinking ? { reasoning_content: '' } : {}),
    }),
    ...pieces(turn.reasoning, context.chunkSize).map((value) =>
      event(
        'reasoning_content',
        'delta',
        { content: null, reasoning_content: value },
        {
          content: { kind: 'reasoning', key: 'reasoning_content', value },
        },
      ),
    ),
    ...pieces(textOf(turn), context.chunkSize).map((value) =>
      event('content', 'delta', { content: value, ...silent }, { content: { kind: 'text', key: 'content', value } }),
    ),
    ...turn.toolCalls.flatMap((call, index) => {
      const id = `call_${String(index).padStart(2, '0')}_${context.stamps.id('alnum', 20)}`;
      const opening = { index, id, type: 'function', function: { name: call.name, arguments: '' } };
      return [
        event('tool_call', 'start', { tool_calls: [opening] }),
        ...halves(call.arguments).map((value) =>
          event(
            'tool_args',
            'delta',
            { tool_calls: [{ index, function: { arguments: value } }] },
            {
              content: { kind: 'tool_args', key: 'arguments', value },
            },
          ),
        ),
      ];
    }),
    event('finish', 'finish', { content: '', ...silent }, { finish: FINISH[turn.finish] }),
    { name: '[DONE]', role: 'terminal', data: () => '[DONE]' } as const,
  ];
  return { events, odd: (kind) => chatOdd(kind, () => chunk([null], null)) };
}

function whole(turn: Turn, context: AnswerContext): WholeAnswer {
  const text = textOf(turn);
  const toolCalls = turn.toolCalls.map((call, index) => ({
    index,
    id: `call_${String(index).padStart(2, '0')}_${context.stamps.id('alnum', 20)}`,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  const body = {
    id: uuid(context),
    object: 'chat.completion',
    created: Number(context.stamps.unixSeconds()),
    model: context.request.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text,
          ...(turn.reasoning === '' ? {} : { reasoning_content: turn.reasoning }),
          ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
        },
        logprobs: null,
        finish_reason: FINISH[turn.finish],
      },
    ],
    usage: usageOf(turn),
    system_fingerprint: FINGERPRINT,
  };
  const content: Content[] = [
    ...(text === '' ? [] : [{ kind: 'text' as const, key: 'content', value: text }]),
    ...(turn.reasoning === '' ? [] : [{ kind: 'reasoning' as const, key: 'reasoning_content', value: turn.reasoning }]),
    ...turn.toolCalls.map((call) => ({ kind: 'tool_args' as const, key: 'arguments', value: call.arguments })),
  ];
  return { json: JSON.stringify(body), content };
}

/** The headers that CloudFront and the load balancer add, in the order of the wire (recorded). */
function headers(contentType: string, context: AnswerContext): Header[] {
  if (context.fidelity === 'plain') return plainHeaders(contentType, context);
  return [
    ['Content-Type', contentType],
    ['Date', context.stamps.httpDate()],
    NOSNIFF,
    SERVER,
    ['cache-control', 'no-cache'],
    ...originHeaders(context),
    SECURITY,
    ...cloudfrontHeaders('Miss from cloudfront', context),
  ];
}

/** Errors come in another order, and not from a cache that could miss. */
function errorHeaders(contentType: string, context: AnswerContext): Header[] {
  if (context.fidelity === 'plain') return plainHeaders(contentType, context);
  return [
    ['Content-Type', contentType],
    ['Date', context.stamps.httpDate()],
    SERVER,
    ...originHeaders(context),
    SECURITY,
    NOSNIFF,
    ...cloudfrontHeaders('Error from cloudfront', context),
  ];
}

const NOSNIFF: Header = ['X-Content-Type-Options', 'nosniff'];
const SERVER: Header = ['Server', 'elb'];
const SECURITY: Header = ['Strict-Transport-Security', 'max-age=31536000; includeSubDomains; preload'];

function plainHeaders(contentType: string, context: AnswerContext): Header[] {
  return [
    ['Content-Type', contentType],
    ['x-ds-trace-id', context.requestId],
  ];
}

function originHeaders(context: AnswerContext): Header[] {
  return [
    ['vary', 'origin, access-control-request-method, access-control-request-headers'],
    ['access-control-allow-credentials', 'true'],
    ['x-ds-trace-id', context.requestId],
  ];
}

function cloudfrontHeaders(cache: string, { stamps }: AnswerContext): Header[] {
  return [
    ['X-Cache', cache],
    ['Via', `1.1 ${stamps.id('hex', 32)}.cloudfront.net (CloudFront)`],
    ['X-Amz-Cf-Pop', 'TXL52-P2'],
    ['X-Amz-Cf-Id', `${stamps.id('alnum', 54)}==`],
  ];
}

/** Compact bodies whose `code` is always `invalid_request_error`; a 400 is octets to this provider (recorded). */
const ERRORS = {
  rate_limit: { status: 429, type: 'rate_limit_error' },
  server_error: { status: 500, type: 'server_error' },
  service_unavailable: { status: 503, type: 'service_unavailable_error' },
  overloaded: { status: 503, type: 'service_unavailable_error' },
  auth_error: { status: 401, type: 'authentication_error' },
  invalid_request: { status: 400, type: 'invalid_request_error' },
  context_overflow: { status: 400, type: 'invalid_request_error' },
  quota_exceeded: { status: 402, type: 'unknown_error' },
} as const;

export const deepseekChat: Dialect = {
  name: 'deepseek-chat',
  gzipWhenOffered: false,
  readRequest: openaiChat.readRequest,
  requestId: (stamps) => stamps.id('hex', 32),
  tell,
  whole,
  wholeError: openaiChat.wholeError,
  headers,
  error: (kind, message, retryAfterMs, context) => {
    const { status, type } = ERRORS[kind];
    return {
      status,
      headers: [
        ...errorHeaders(status === 400 ? 'application/octet-stream' : 'application/json', context),
        ...(kind === 'rate_limit' ? retryHeaders(retryAfterMs) : []),
      ],
      body: JSON.stringify({ error: { message, type, param: null, code: 'invalid_request_error' } }),
    };
  },
};
