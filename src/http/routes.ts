import { timingSafeEqual } from 'node:crypto';
import { messageOf, suggestion } from '../errors.js';
import { remembered } from '../known-bytes.js';
import { isObject, type JsonObject, type Protocol } from '../sse/dialect.js';
import { type Auxiliary, type AuxiliaryKind, auxiliaryReply } from './auxiliary.js';
import { errorReply, type Reply } from './reply.js';
import type { Request, RequestHead } from './request.js';

/**
 * What a request is for. Whatever isn't a proper request for an answer gets a reply that says what was wrong and
 * what exists, and consumes nothing.
 */
export type Routed =
  | { readonly kind: 'turn'; readonly protocol: Protocol; readonly body: JsonObject }
  /** What clients ask beside the answers; it never consumes the script. */
  | { readonly kind: 'auxiliary'; readonly reply: Reply }
  /** The provider's own error, for what the provider checks too. */
  | {
      readonly kind: 'provider_error';
      readonly protocol: Protocol;
      readonly error: 'auth_error' | 'invalid_request';
      readonly reason: string;
    }
  | { readonly kind: 'refused'; readonly reply: Reply; readonly reason: string };

type Serves =
  | { readonly turn: Protocol }
  /** `protocol` says whose 401 an auxiliary request gets; without it no key is asked for. */
  | { readonly auxiliary: AuxiliaryKind; readonly protocol?: Protocol };

interface Route {
  readonly method: 'GET' | 'POST';
  /** Tested against the end of the path: base URLs have many beginnings. */
  readonly pattern: RegExp;
  /** For people. */
  readonly path: string;
  readonly serves: Serves;
}

const ROUTES: readonly Route[] = [
  post('/chat/completions', { turn: 'openai-chat' }),
  post('/responses', { turn: 'openai-responses' }),
  post('/messages', { turn: 'anthropic-messages' }),
  post('/messages/count_tokens', { auxiliary: 'count_tokens', protocol: 'anthropic-messages' }),
  get('/models', /\/models$/, { auxiliary: 'models', protocol: 'openai-chat' }),
  get('/models/{id}', /\/models\/(?<id>.+)$/, { auxiliary: 'model', protocol: 'openai-chat' }),
  { ...get('/health', /^\/health$/, { auxiliary: 'health' }), path: '/health' },
  { ...get('/', /^\/(v1\/?)?$/, { auxiliary: 'root' }), path: '/' },
];

function post(suffix: string, serves: Serves): Route {
  return { method: 'POST', pattern: new RegExp(`${suffix}$`), path: `/v1${suffix}`, serves };
}

function get(suffix: string, pattern: RegExp, serves: Serves): Route {
  return { method: 'GET', pattern, path: `/v1${suffix}`, serves };
}

/** What the routes to answers are asked first, since most requests are for one: an end of the path instead of eight patterns. */
const TURNS = ROUTES.flatMap(({ path, serves }) =>
  'turn' in serves ? [{ suffix: path.slice('/v1'.length), protocol: serves.turn }] : [],
);

const KNOWN = ROUTES.map(({ method, path }) => `${method} ${path}`);

export function route(request: Request, options: { readonly apiKey: string | undefined }): Routed {
  const path = pathOf(request.path);
  const { method } = request;
  const turn = protocolOfPath(method, path);
  if (turn) return routeTurn(request, turn, options.apiKey);
  const onPath = ROUTES.filter(({ pattern }) => pattern.test(path));
  if (onPath.length === 0) return refused(404, 'unknown_path', `no such path: ${path}${nearest(path)}`);
  if (method === 'OPTIONS') return { kind: 'auxiliary', reply: { status: 204, headers: [allow(onPath)], body: '' } };
  const found = onPath.find((known) => known.method === method || (known.method === 'GET' && method === 'HEAD'));
  if (!found) {
    if (upgradesToWebSocket(request)) return upgradeRequired(path);
    const allowed = onPath.map((known) => known.method).join(' and ');
    return refused(405, 'method_not_allowed', `${method} ${path}: only ${allowed} is answered here`, [allow(onPath)]);
  }
  const { serves } = found;
  if ('turn' in serves) return routeTurn(request, serves.turn, options.apiKey);
  const { protocol } = serves;
  const reason = protocol && keyProblem(request, options.apiKey);
  if (reason) return { kind: 'provider_error', protocol: speaker(request, protocol), error: 'auth_error', reason };
  const asked: Auxiliary = { kind: serves.auxiliary, id: found.pattern.exec(path)?.groups?.id ?? '' };
  return { kind: 'auxiliary', reply: auxiliaryReply(asked, request, KNOWN) };
}

function routeTurn(request: Request, protocol: Protocol, apiKey: string | undefined): Routed {
  const wrongKey = keyProblem(request, apiKey);
  if (wrongKey) {
    return { kind: 'provider_error', protocol: speaker(request, protocol), error: 'auth_error', reason: wrongKey };
  }
  const body = parsedBody(request.body);
  if (typeof body !== 'string') return { kind: 'turn', protocol, body };
  return { kind: 'provider_error', protocol, error: 'invalid_request', reason: body };
}

/** The protocol of a request for an answer, as far as its head tells; `undefined` for any other, and without the right key. */
export function routeHead(head: RequestHead, options: { readonly apiKey: string | undefined }): Protocol | undefined {
  const turn = protocolOfPath(head.method, pathOf(head.path));
  return turn && keyProblem(head, options.apiKey) === undefined ? turn : undefined;
}

/** The protocol that a request for an answer on this path speaks. */
export function protocolOfPath(method: string, path: string): Protocol | undefined {
  if (method !== 'POST') return undefined;
  for (let n = 0; n < TURNS.length; n++) {
    const turn = TURNS[n];
    if (turn && path.endsWith(turn.suffix)) return turn.protocol;
  }
  return undefined;
}

/** Proxies send the whole URL as the target (RFC 9112, section 3.2.2). */
function pathOf(path: string): string {
  if (path.startsWith('/')) return path;
  const absolute = /^https?:\/\/[^/]*(.*)$/i.exec(path);
  return absolute ? absolute[1] || '/' : path;
}

/** Both providers list models under the same path; Anthropic's clients say which version of its API they speak. */
function speaker(request: Request, protocol: Protocol): Protocol {
  return request.headers['anthropic-version'] === undefined ? protocol : 'anthropic-messages';
}

function refused(status: number, code: string, reason: string, headers: Reply['headers'] = []): Routed {
  return { kind: 'refused', reply: errorReply(status, code, reason, { headers, known: KNOWN }), reason };
}

function allow(routes: readonly Route[]): readonly [string, string] {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return ['Allow', [...methods, 'OPTIONS'].join(', ')];
}

/** codex opens a WebSocket first where it is told that it may. */
function upgradesToWebSocket(request: Request): boolean {
  return request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket';
}

/** The `Upgrade` header names what to use instead (RFC 9110, section 15.5.22). */
function upgradeRequired(path: string): Routed {
  const reason = `${path}: WebSocket is not spoken here; use POST over HTTP/1.1`;
  const headers = [['Upgrade', 'HTTP/1.1']] as const;
  return { kind: 'auxiliary', reply: errorReply(426, 'upgrade_required', reason, { headers }) };
}

function nearest(path: string): string {
  const paths = ROUTES.flatMap((known) => [known.path, known.path.replace(/^\/v1/, '')]);
  const near = suggestion(path, paths);
  return near ? `, ${near}` : '';
}

/** What is wrong with the request's key, or `undefined`; without `apiKey` nothing is. */
function keyProblem(request: RequestHead, apiKey: string | undefined): string | undefined {
  if (apiKey === undefined) return undefined;
  const { authorization = '', 'x-api-key': key } = request.headers;
  const given = /^Bearer +(.+)$/i.exec(authorization)?.[1] ?? key;
  if (given === undefined) {
    return 'no API key: send "Authorization: Bearer KEY" or "x-api-key: KEY" with the key that --api-key sets';
  }
  const [sent, wanted] = [Buffer.from(given), Buffer.from(apiKey)];
  if (sent.length === wanted.length && timingSafeEqual(sent, wanted)) return undefined;
  return 'Incorrect API key provided: it is not the one that --api-key sets';
}

/** Of a body that is silent about everything. */
const SILENT: JsonObject = Object.freeze({});

/**
 * The body's object, or what is wrong with it. Bytes that came before give the object that they gave then, frozen, since
 * requests and their records share it: parsing a small body takes 150 bytes and 1 µs, of which the records of 10,000
 * requests keep the first (measured).
 */
const parsedBody = remembered(parseBody, (body) => {
  const parsed = parseBody(body);
  return typeof parsed === 'string' ? parsed : frozen(parsed);
});

function parseBody(body: Buffer): JsonObject | string {
  if (body.length === 0) return SILENT;
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    return isObject(parsed) ? parsed : "the request's body is JSON, but not an object";
  } catch (thrown) {
    return `the request's body is not JSON: ${messageOf(thrown)}`;
  }
}

/** Not by recursion: a body may be as deep as it is long. */
function frozen(body: JsonObject): JsonObject {
  const left: object[] = [body];
  for (let value = left.pop(); value; value = left.pop()) {
    for (const inside of Object.values(value)) if (typeof inside === 'object' && inside !== null) left.push(inside);
    Object.freeze(value);
  }
  return body;
}
