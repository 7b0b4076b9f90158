import type { AnswerContext, ErrorKind, Header, HttpError } from '../dialect.js';
import type { Stamps } from '../stamps.js';

/**
 * OpenAI's HTTP errors come from two layers that lay out their JSON differently (recorded):
 * the gateway indents by 4 and ends with LF, the model layer by 2 without a last LF.
 */
type Layer = 'gateway' | 'model';

interface ErrorRow {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
  readonly layer: Layer;
  readonly retry: boolean;
  /** Headers that only this error has. */
  readonly headers?: readonly Header[];
}

type Rows = Readonly<Record<ErrorKind, ErrorRow>>;

const CHAT: Rows = {
  rate_limit: { status: 429, type: 'requests', code: 'rate_limit_exceeded', param: null, layer: 'model', retry: true },
  server_error: { status: 500, type: 'server_error', code: null, param: null, layer: 'model', retry: false },
  service_unavailable: { status: 503, type: 'server_error', code: null, param: null, layer: 'model', retry: false },
  overloaded: { status: 503, type: 'server_error', code: null, param: null, layer: 'model', retry: false },
  auth_error: {
    status: 401,
    type: 'invalid_request_error',
    code: 'invalid_api_key',
    param: null,
    layer: 'gateway',
    retry: false,
  },
  invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    code: null,
    param: null,
    layer: 'model',
    retry: false,
  },
  context_overflow: {
    status: 400,
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
    param: 'messages',
    layer: 'model',
    retry: false,
  },
  quota_exceeded: {
    status: 429,
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    param: null,
    layer: 'gateway',
    retry: false,
  },
};

/** Where Responses answers otherwise (recorded): the model layer checks the key, and the input has another name. */
const RESPONSES: Rows = {
  ...CHAT,
  auth_error: { ...CHAT.auth_error, layer: 'model', headers: [['www-authenticate', 'Bearer realm="OpenAI API"']] },
  context_overflow: { ...CHAT.context_overflow, param: 'input' },
};

/** The endpoints whose errors differ. */
export type OpenaiEndpoint = 'chat' | 'responses';
const ROWS: Readonly<Record<OpenaiEndpoint, Rows>> = { chat: CHAT, responses: RESPONSES };

/** The seconds form rounds up, so that a client never comes back too early (RFC 9110, section 10.2.3: whole seconds). */
export function retryHeaders(retryAfterMs: number): Header[] {
  return [
    ['retry-after', String(Math.ceil(retryAfterMs / 1000))],
    ['retry-after-ms', String(retryAfterMs)],
  ];
}

/** One error of an endpoint, laid out as its layer does. */
export function openaiError(
  kind: ErrorKind,
  message: string,
  retryAfterMs: number,
  headers: (contentType: string) => Header[],
  endpoint: OpenaiEndpoint = 'chat',
): HttpError {
  const row = ROWS[endpoint][kind];
  const gateway = row.layer === 'gateway';
  const error = { message, type: row.type, param: row.param, code: row.code };
  return {
    status: row.status,
    headers: [
      ...headers(gateway ? 'application/json; charset=utf-8' : 'application/json'),
      ...(gateway ? ([['vary', 'Origin']] as const) : []),
      ...(row.headers ?? []),
      ...(row.retry ? retryHeaders(retryAfterMs) : []),
    ],
    body: JSON.stringify({ error }, null, gateway ? 4 : 2) + (gateway ? '\n' : ''),
  };
}

const RATE_LIMITS: readonly Header[] = [
  ['x-ratelimit-limit-requests', '15000'],
  ['x-ratelimit-limit-tokens', '40000000'],
  ['x-ratelimit-remaining-requests', '14999'],
  ['x-ratelimit-remaining-tokens', '39999983'],
  ['x-ratelimit-reset-requests', '4ms'],
  ['x-ratelimit-reset-tokens', '0s'],
];

/**
 * OpenAI's headers in the order of the wire (recorded by order-preserving recorders). Errors of Responses have
 * no rate limits among them.
 */
export function openaiHeaders(
  contentType: string,
  context: AnswerContext,
  rateLimits: readonly Header[] = RATE_LIMITS,
): Header[] {
  const { stamps, fidelity } = context;
  const requestId: Header = ['x-request-id', context.requestId];
  if (fidelity === 'plain') return [['Content-Type', contentType], requestId];
  return [
    ['Date', stamps.httpDate()],
    ['Content-Type', contentType],
    ['CF-RAY', `${stamps.id('hex', 16)}-AMS`],
    ['cf-cache-status', 'DYNAMIC'],
    ['Server', 'cloudflare'],
    ['Strict-Transport-Security', 'max-age=31536000; includeSubDomains; preload'],
    ['X-Content-Type-Options', 'nosniff'],
    ['access-control-expose-headers', 'X-Request-ID'],
    ['openai-organization', 'org-wirefault'],
    ['openai-processing-ms', '280'],
    ['openai-project', 'proj_wirefault'],
    ['openai-version', '2020-10-01'],
    ...rateLimits,
    requestId,
    ['alt-svc', 'h3=":443"; ma=86400'],
  ];
}

/** The request id of both endpoints (recorded). */
export function openaiRequestId(stamps: Stamps): string {
  return `req_${stamps.id('hex', 32)}`;
}
