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
  context: AnswerContext,
  endpoint: OpenaiEndpoint,
): HttpError {
  const row = ROWS[endpoint][kind];
  const gateway = row.layer === 'gateway';
  const error = { message, type: row.type, param: row.param, code: row.code };
  const edge = edgeHeaders(gateway ? 'application/json; charset=utf-8' : 'application/json', context);
  // The gateway doesn't know the account yet; errors of Responses have no rate limits (recorded).
  const limits = endpoint === 'chat' ? rateLimits(kind === 'rate_limit' ? retryAfterMs : undefined) : [];
  return {
    status: row.status,
    headers: [
      ...headersOf(context, edge, gateway ? [['vary', 'Origin']] : [...ACCOUNT, ...limits]),
      ...(row.headers ?? []),
      ...(row.retry ? retryHeaders(retryAfterMs) : []),
    ],
    body: JSON.stringify({ error }, null, gateway ? 4 : 2) + (gateway ? '\n' : ''),
  };
}

/** The headers of a 200, in the order of the wire (recorded by order-preserving recorders). */
export function openaiHeaders(contentType: string, context: AnswerContext): Header[] {
  return headersOf(context, edgeHeaders(contentType, context), [...ACCOUNT, ...rateLimits()]);
}

const ACCOUNT: readonly Header[] = [
  ['access-control-expose-headers', 'X-Request-ID'],
  ['openai-organization', 'org-wirefault'],
  ['openai-processing-ms', '280'],
  ['openai-project', 'proj_wirefault'],
  ['openai-version', '2020-10-01'],
];

/** `exhaustedMs`: no request is left until then. */
function rateLimits(exhaustedMs?: number): Header[] {
  return [
    ['x-ratelimit-limit-requests', '15000'],
    ['x-ratelimit-limit-tokens', '40000000'],
    ['x-ratelimit-remaining-requests', exhaustedMs === undefined ? '14999' : '0'],
    ['x-ratelimit-remaining-tokens', '39999983'],
    ['x-ratelimit-reset-requests', `${exhaustedMs ?? 4}ms`],
    ['x-ratelimit-reset-tokens', '0s'],
  ];
}

function edgeHeaders(contentType: string, { stamps, fidelity }: AnswerContext): Header[] {
  if (fidelity === 'plain') return [['Content-Type', contentType]];
  return [
    ['Date', stamps.httpDate()],
    ['Content-Type', contentType],
    ['CF-RAY', `${stamps.id('hex', 16)}-AMS`],
    ['cf-cache-status', 'DYNAMIC'],
    ['Server', 'cloudflare'],
    ['Strict-Transport-Security', 'max-age=31536000; includeSubDomains; preload'],
    ['X-Content-Type-Options', 'nosniff'],
  ];
}

/** A plain answer has only what a client needs: its type and the request's id. */
function headersOf(context: AnswerContext, edge: readonly Header[], more: readonly Header[]): Header[] {
  const requestId: Header = ['x-request-id', context.requestId];
  if (context.fidelity === 'plain') return [...edge, requestId];
  return [...edge, ...more, requestId, ['alt-svc', 'h3=":443"; ma=86400']];
}

/** The request id of both endpoints (recorded). */
export function openaiRequestId(stamps: Stamps): string {
  return `req_${stamps.id('hex', 32)}`;
}
