import { timingSafeEqual } from 'node:crypto';
import { messageOf, suggestion } from '../errors.js';
import { isObject, type JsonObject, type Protocol } from '../sse/dialect.js';
import { errorReply, type Reply } from './reply.js';
import type { Request } from './request.js';

/**
 * What a request is for. Whatever isn't a proper request for an answer gets a reply that says what was wrong and
 * what exists, and consumes nothing.
 */
export type Routed =
  | { readonly kind: 'turn'; readonly protocol: Protocol; readonly body: JsonObject }
  /** The provider's own error, for what the provider checks too. */
  | {
      readonly kind: 'provider_error';
      readonly protocol: Protocol;
      readonly error: 'auth_error' | 'invalid_request';
      readonly reason: string;
    }
  | { readonly kind: 'reply'; readonly reply: Reply; readonly reason?: string };

interface Route {
  readonly protocol: Protocol;
  /** The end of the path: base URLs have many beginnings. */
  readonly suffix: string;
}

const ROUTES: readonly Route[] = [{ protocol: 'openai-chat', suffix: '/chat/completions' }];

const KNOWN = ROUTES.map(({ suffix }) => `POST /v1${suffix}`);
const ALLOW = ['Allow', 'POST, OPTIONS'] as const;

export function route(request: Request, options: { readonly apiKey: string | undefined }): Routed {
  const path = pathOf(request);
  const found = ROUTES.find(({ suffix }) => path.endsWith(suffix));
  if (!found) return refusal(404, 'unknown_path', `no such path: ${path}${nearest(path)}`);
  const { protocol } = found;
  if (request.method === 'OPTIONS') return { kind: 'reply', reply: { status: 204, headers: [ALLOW], body: '' } };
  if (request.method !== 'POST') {
    return refusal(405, 'method_not_allowed', `${request.method} ${path}: only POST is answered here`, [ALLOW]);
  }
  if (options.apiKey !== undefined && !authorized(request, options.apiKey)) {
    const reason = request.headers.authorization
      ? 'Incorrect API key provided: the bearer token is not the one that --api-key sets'
      : 'no API key: send the header "Authorization: Bearer KEY" with the key that --api-key sets';
    return { kind: 'provider_error', protocol, error: 'auth_error', reason };
  }
  const body = parseBody(request.body);
  if (typeof body === 'string') return { kind: 'provider_error', protocol, error: 'invalid_request', reason: body };
  return { kind: 'turn', protocol, body };
}

/** Proxies send the whole URL as the target (RFC 9112, section 3.2.2). */
function pathOf({ path }: Request): string {
  const absolute = /^https?:\/\/[^/]*(.*)$/i.exec(path);
  return absolute ? absolute[1] || '/' : path;
}

function refusal(status: number, code: string, reason: string, headers: Reply['headers'] = []): Routed {
  return { kind: 'reply', reply: errorReply(status, code, reason, { headers, known: KNOWN }), reason };
}

function nearest(path: string): string {
  const near = suggestion(
    path,
    ROUTES.flatMap(({ suffix }) => [suffix, `/v1${suffix}`]),
  );
  return near ? `, ${near}` : '';
}

function authorized(request: Request, apiKey: string): boolean {
  const [, token = ''] = /^Bearer +(.+)$/i.exec(request.headers.authorization ?? '') ?? [];
  const given = Buffer.from(token);
  const wanted = Buffer.from(apiKey);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** The body's object, or what is wrong with it. An empty body is a request that is silent about everything. */
function parseBody(body: Buffer): JsonObject | string {
  if (body.length === 0) return {};
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    return isObject(parsed) ? parsed : "the request's body is JSON, but not an object";
  } catch (thrown) {
    return `the request's body is not JSON: ${messageOf(thrown)}`;
  }
}
