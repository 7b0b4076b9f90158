import type { WirePlan } from '../fault/wire-plan.js';
import type { Header } from '../sse/dialect.js';
import { frame } from './framing.js';
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

/** A reply as a plan, so that one player writes all answers. A HEAD request gets the head alone (RFC 9110, section 9.3.2). */
export function replyPlan(
  reply: Reply,
  options: { readonly keepAlive: boolean; readonly headOnly?: boolean },
): WirePlan {
  // A 204 has no body, and must not have a length either (RFC 9110, section 8.6).
  const framing = reply.status === 204 ? 'until_close' : 'content_length';
  const answer = frame({ ...reply, framing, keepAlive: options.keepAlive }, [
    { bytes: Buffer.from(reply.body), marks: [] },
  ]);
  const head = answer.marks.find((mark) => mark.kind === 'headers');
  const end = options.headOnly && head ? head.end : answer.bytes.length;
  return {
    ...answer,
    steps: [
      { op: 'write', start: 0, end },
      { op: 'teardown', kind: 'keep_alive' },
    ],
  };
}
