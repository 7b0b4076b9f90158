import { z } from 'zod';
import { messageOf, suggestion } from '../errors.js';
import { problemsIn } from '../fault/read-fault.js';
import { type RuleSpec, ruleSchema } from '../fault/rules.js';
import { errorReply, type Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';

/** What the control plane can be asked for, as data; or the reply that says what was wrong. Pure. */
export type Command =
  | { readonly kind: 'list' }
  | { readonly kind: 'inject'; readonly rule: RuleSpec }
  | { readonly kind: 'remove'; readonly id: number }
  | { readonly kind: 'clear' }
  | { readonly kind: 'reset' }
  | { readonly kind: 'gates' }
  | { readonly kind: 'release'; readonly gate: string; readonly count: number }
  | { readonly kind: 'refuse'; readonly ms: number }
  | { readonly kind: 'journal'; readonly filter: JournalFilter; readonly follow: boolean }
  | { readonly kind: 'bytes'; readonly exchange: number; readonly of: 'request' | 'response' }
  | { readonly kind: 'metrics' }
  | { readonly kind: 'health' };

/** Fields that the ledgers must have; `since`: exchanges from this number on. */
export interface JournalFilter {
  readonly since?: number;
  readonly lane?: string;
  readonly behavior?: string;
  readonly outcome?: string;
  readonly rule?: string;
}

/** A rule has no more to say. */
const MAX_BODY_BYTES = 65_536;

const gateSchema = z.strictObject({ count: z.union([z.int().min(1), z.literal('all')]).optional() });
const refuseSchema = z.strictObject({ ms: z.int().min(1).max(2_147_483_647) });

interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** For people. */
  readonly path: string;
  readonly pattern: RegExp;
  readonly read: (request: Request, groups: Readonly<Record<string, string>>) => Command | Reply;
}

const ROUTES: readonly Route[] = [
  row('GET', '/__control', () => ({ kind: 'list' })),
  row('POST', '/__control', (request) => withBody(request, ruleSchema, (rule) => ({ kind: 'inject', rule }))),
  row('DELETE', '/__control', () => ({ kind: 'clear' })),
  row('DELETE', '/__control/{id}', (_, { id }) => ({ kind: 'remove', id: Number(id) })),
  row('POST', '/__reset', () => ({ kind: 'reset' })),
  row('GET', '/__gate', () => ({ kind: 'gates' })),
  row('POST', '/__gate/{gate}', (request, { gate = '' }) =>
    withBody(request, gateSchema, ({ count = 1 }) => ({
      kind: 'release',
      gate: decodeURIComponent(gate),
      count: count === 'all' ? Number.POSITIVE_INFINITY : count,
    })),
  ),
  row('POST', '/__refuse', (request) => withBody(request, refuseSchema, ({ ms }) => ({ kind: 'refuse', ms }))),
  row('GET', '/__journal', ({ target }) => journalQuery(new URLSearchParams(target.split('?')[1] ?? ''))),
  row('GET', '/__journal/{exchange}/request', (_, { exchange }) => bytes(exchange, 'request')),
  row('GET', '/__journal/{exchange}/response', (_, { exchange }) => bytes(exchange, 'response')),
  row('GET', '/__metrics', () => ({ kind: 'metrics' })),
  row('GET', '/__health', () => ({ kind: 'health' })),
];

function row(method: Route['method'], path: string, read: Route['read']): Route {
  const pattern = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === 'gate' ? `(?<${name}>[^/]+)` : `(?<${name}>\\d{1,15})`,
  );
  return { method, path, pattern: new RegExp(`^${pattern}$`), read };
}

export const CONTROL_PATHS: readonly string[] = ROUTES.map(({ method, path }) => `${method} ${path}`);

/** Asked by whoever looks after the process, which may be anywhere: it tells nothing but whether it works. */
export function isHealthCheck({ method, path }: Pick<Request, 'method' | 'path'>): boolean {
  return method === 'GET' && path === '/__health';
}

export function isControlPath(path: string): boolean {
  return path.startsWith('/__');
}

/** What a request on a control path asks for, or the reply to what asks for nothing. */
export function commandOf(request: Request): Command | Reply {
  const { method, path } = request;
  const found = ROUTES.filter(({ pattern }) => pattern.test(path));
  if (found.length === 0) {
    const near = suggestion(
      path,
      ROUTES.map((known) => known.path),
    );
    return errorReply(404, 'unknown_path', `no such control path: ${path}${near ? `, ${near}` : ''}`, {
      known: CONTROL_PATHS,
    });
  }
  const route = found.find((known) => known.method === method);
  if (!route) {
    const allowed = found.map((known) => known.method).join(', ');
    const headers = [['Allow', allowed]] as const;
    return errorReply(405, 'method_not_allowed', `${method} ${path}: only ${allowed} is answered here`, { headers });
  }
  if (request.body.length > MAX_BODY_BYTES) {
    return errorReply(
      413,
      'too_large',
      `a control request has at most ${MAX_BODY_BYTES} bytes, and this one ${request.body.length}`,
    );
  }
  try {
    return route.read(request, route.pattern.exec(path)?.groups ?? {});
  } catch (thrown) {
    return bad(messageOf(thrown));
  }
}

function bad(message: string): Reply {
  return errorReply(400, 'bad_control', message);
}

/** A body is JSON; none at all is an object that is silent. */
function withBody<T>(request: Request, schema: z.ZodType<T>, command: (body: T) => Command): Command | Reply {
  let json: unknown;
  try {
    json = request.body.length === 0 ? {} : JSON.parse(request.body.toString('utf8'));
  } catch (thrown) {
    return bad(`the body is not JSON: ${messageOf(thrown)}`);
  }
  const parsed = schema.safeParse(json, { reportInput: true });
  if (parsed.success) return command(parsed.data);
  return bad(
    problemsIn(parsed.error.issues, schema)
      .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
      .join('; '),
  );
}

function bytes(exchange: string | undefined, of: 'request' | 'response'): Command {
  return { kind: 'bytes', exchange: Number(exchange), of };
}

const FILTERS = ['lane', 'behavior', 'outcome', 'rule'] as const;

function journalQuery(query: URLSearchParams): Command | Reply {
  const known = [...FILTERS, 'since', 'follow'];
  const unknown = [...query.keys()].find((key) => !known.includes(key as (typeof known)[number]));
  if (unknown !== undefined) return bad(`unknown filter ${JSON.stringify(unknown)} (known: ${known.join(', ')})`);
  const since = query.get('since');
  if (since !== null && !/^\d{1,15}$/.test(since))
    return bad(`since: ${JSON.stringify(since)} is no number of an exchange`);
  const given = FILTERS.flatMap((key) => {
    const value = query.get(key);
    return value === null ? [] : [[key, value] as const];
  });
  const filter = { ...Object.fromEntries(given), ...(since === null ? {} : { since: Number(since) }) };
  return { kind: 'journal', filter, follow: ['1', 'true'].includes(query.get('follow') ?? '') };
}
