import type { Header } from '../sse/dialect.js';
import type { BadRequest } from './request.js';

/** An answer that is wirefault's own: errors about the request, and what needs no script. */
export interface Reply {
  readonly status: number;
  readonly headers: readonly Header[];
  readonly body: string;
}

/** An error in the shape that clients of these APIs know, with what exists beside what was wrong. */
export function errorReply(
  status: number,
  code: string,
  message: string,
  extra: { readonly headers?: readonly Header[]; readonly known?: readonly string[] } = {},
): Reply {
  const error = { message, type: 'wirefault_error', param: null, code, ...(extra.known ? { known: extra.known } : {}) };
  return jsonReply(status, { error }, extra.headers);
}

export function jsonReply(status: number, body: unknown, headers: readonly Header[] = []): Reply {
  return { status, headers: [['Content-Type', 'application/json'], ...headers], body: JSON.stringify(body) };
}

export function badRequestReply(bad: BadRequest): Reply {
  return errorReply(bad.status, 'bad_request', bad.reason);
}
