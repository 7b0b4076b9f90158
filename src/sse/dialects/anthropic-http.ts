import { type AnswerContext, type ErrorKind, type Header, type HttpError, STREAM_ERROR_MESSAGE } from '../dialect.js';
import { retryHeaders } from './openai-http.js';

/**
 * What Anthropic says outside of a stream's healthy events: headers and errors. Names, letter case and order are those
 * of the newest order-preserving recordings (August 2026).
 */

/** The in-band error has `details`, which no HTTP error has (recorded). */
export function streamErrorObject(requestId: string): string {
  return JSON.stringify({
    type: 'error',
    error: { details: null, type: 'overloaded_error', message: STREAM_ERROR_MESSAGE },
    request_id: requestId,
  });
}

interface RateLimit {
  readonly of: string;
  readonly limit: string;
  readonly remaining: string;
}

const RATE_LIMITS: readonly RateLimit[] = [
  { of: 'input-tokens', limit: '10000000', remaining: '10000000' },
  { of: 'output-tokens', limit: '2000000', remaining: '2000000' },
  { of: 'requests', limit: '10000', remaining: '9999' },
  { of: 'tokens', limit: '12000000', remaining: '12000000' },
];

/** What a 429 says of the limits (reported): the requests are used up. */
const EXHAUSTED: readonly RateLimit[] = [
  { of: 'requests', limit: '10000', remaining: '0' },
  { of: 'tokens', limit: '12000000', remaining: '12000000' },
];

function rateLimitHeaders(limits: readonly RateLimit[], reset: string): Header[] {
  return limits.flatMap(({ of, limit, remaining }): Header[] => [
    [`anthropic-ratelimit-${of}-limit`, limit],
    [`anthropic-ratelimit-${of}-remaining`, remaining],
    [`anthropic-ratelimit-${of}-reset`, reset],
  ]);
}

/** Headers of an answer to a known key: a 401 has none of them (recorded). */
function accountHeaders({ stamps }: AnswerContext): Header[] {
  const organization = [8, 4, 4, 4, 12].map((width) => stamps.id('hex', width)).join('-');
  return [
    ['anthropic-organization-id', organization],
    ['Anthropic-Workspace-Id', `wrkspc_01${stamps.id('base58', 22)}`],
    ['traceresponse', `00-${stamps.id('hex', 32)}-${stamps.id('hex', 16)}-01`],
  ];
}

const TRANSPORT_SECURITY: Header = ['strict-transport-security', 'max-age=31536000; includeSubDomains; preload'];
const SERVER: Header = ['Server', 'cloudflare'];
const CONTENT_SECURITY: Header = ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"];
const VARY: Header = ['Vary', 'Accept-Encoding'];

function edgeHeaders({ stamps }: AnswerContext): Header[] {
  return [
    ['cf-cache-status', 'DYNAMIC'],
    ['X-Robots-Tag', 'none'],
    ['CF-RAY', `${stamps.id('hex', 16)}-AMS`],
  ];
}

export function anthropicHeaders(contentType: string, context: AnswerContext): Header[] {
  const requestId: Header = ['request-id', context.requestId];
  if (context.fidelity === 'plain') return [['Content-Type', contentType], requestId];
  const streamed = contentType.startsWith('text/event-stream');
  return [
    ['Date', context.stamps.httpDate()],
    ['Content-Type', contentType],
    ...(streamed ? ([['Cache-Control', 'no-cache']] as const) : []),
    ...rateLimitHeaders(RATE_LIMITS, context.stamps.rfc3339()),
    requestId,
    TRANSPORT_SECURITY,
    ...accountHeaders(context),
    SERVER,
    CONTENT_SECURITY,
    VARY,
    ...edgeHeaders(context),
  ];
}

interface ErrorRow {
  readonly status: number;
  readonly type: string;
}

const ROWS: Readonly<Record<ErrorKind, ErrorRow>> = {
  rate_limit: { status: 429, type: 'rate_limit_error' },
  server_error: { status: 500, type: 'api_error' },
  // Documented nowhere and never recorded: Anthropic says 500 or 529. The type is that of its other internal errors.
  service_unavailable: { status: 503, type: 'api_error' },
  overloaded: { status: 529, type: 'overloaded_error' },
  auth_error: { status: 401, type: 'authentication_error' },
  invalid_request: { status: 400, type: 'invalid_request_error' },
  context_overflow: { status: 400, type: 'invalid_request_error' },
  // An exhausted balance is an invalid request here ("Your credit balance is too low ..."), not a 429 as with OpenAI.
  quota_exceeded: { status: 400, type: 'invalid_request_error' },
};

/**
 * An HTTP error: compact JSON that repeats the id of the request. `x-should-retry` is sent plain as well: the SDK obeys
 * it before it looks at the status. A recorded 429 has `retry-after` alone; the SDK reads `retry-after-ms` first.
 * The limits that a 429 tells of are those of the older report; the newer recording has none.
 */
export function anthropicError(
  kind: ErrorKind,
  message: string,
  retryAfterMs: number,
  context: AnswerContext,
): HttpError {
  const { status, type } = ROWS[kind];
  const { requestId } = context;
  const full = context.fidelity === 'full';
  return {
    status,
    headers: [
      ...(full ? ([['Date', context.stamps.httpDate()]] as const) : []),
      ['Content-Type', 'application/json'],
      ...(full && kind === 'rate_limit' ? rateLimitHeaders(EXHAUSTED, context.stamps.rfc3339(retryAfterMs)) : []),
      ...(kind === 'rate_limit' ? retryHeaders(retryAfterMs) : []),
      ['x-should-retry', String(status === 429 || status >= 500)],
      ['request-id', requestId],
      ...(full
        ? [
            TRANSPORT_SECURITY,
            ...(kind === 'auth_error' ? [] : accountHeaders(context)),
            SERVER,
            VARY,
            CONTENT_SECURITY,
            ...edgeHeaders(context),
          ]
        : []),
    ],
    body: JSON.stringify({ type: 'error', error: { type, message }, request_id: requestId }),
  };
}
