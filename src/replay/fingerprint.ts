import { hash } from 'node:crypto';
import { SECRET_PARAMETER } from '../http/secret-headers.js';
import { isObject, type JsonObject, type Protocol } from '../sse/dialect.js';

/**
 * What makes two requests the same: the protocol, the path and the body's JSON in any order of its keys. What names a
 * session, a user or a cache is left out, since it is another for each run of a client; keys never are a part of it.
 */
export interface Fingerprinted {
  readonly method: string;
  /** `null` for a request beside the answers, whose query counts too. */
  readonly protocol: Protocol | null;
  readonly target: string;
  readonly body: Buffer;
}

/** Members of the body that say who asks, not what: Claude Code's and codex's session ids are in some of these. */
const WHO_ASKS: ReadonlySet<string> = new Set([
  'metadata',
  'client_metadata',
  'user',
  'safety_identifier',
  'prompt_cache_key',
]);

/** Enough of a hash to tell requests apart: 128 bits. */
const HASH_DIGITS = 32;

export function fingerprintOf({ method, protocol, target, body }: Fingerprinted): string {
  const { path, query } = placeOf(target);
  const told = [method, protocol ?? 'beside', path, ...(protocol ? [] : [query]), canonicalBody(body)];
  return hash('sha256', told.join('\n'), 'hex').slice(0, HASH_DIGITS);
}

/** Without what base URLs differ in: a whole URL, `/fault/WORD` before the path, `/v1`. */
function placeOf(target: string): { path: string; query: string } {
  const [path = '', query = ''] = target.replace(/^https?:\/\/[^/?#]*/i, '').split('?', 2);
  const members = query.split('&').filter((member) => {
    const [name = ''] = member.split('=', 1);
    return name !== '' && name !== 'fault' && !SECRET_PARAMETER.test(name);
  });
  return {
    path: path.replace(/^\/fault\/[^/]+(?=\/)/, '').replace(/^\/v1(?=\/)/, ''),
    query: members.toSorted().join('&'),
  };
}

function canonicalBody(body: Buffer): string {
  const json = jsonOf(body);
  if (json === undefined) return body.toString('latin1');
  const asked = isObject(json) ? Object.fromEntries(Object.entries(json).filter(([key]) => !WHO_ASKS.has(key))) : json;
  return JSON.stringify(asked, sortedKeys);
}

function sortedKeys(_: string, value: unknown): unknown {
  return isObject(value) ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) : value;
}

/** What a body says, or `undefined` where it isn't JSON. */
function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Whether a body asks for a stream. */
export function asksForStream(body: Buffer | JsonObject): boolean {
  const json = Buffer.isBuffer(body) ? jsonOf(body) : body;
  return isObject(json) && json.stream === true;
}
