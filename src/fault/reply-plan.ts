import { frame } from '../http/framing.js';
import type { Reply } from '../http/reply.js';
import type { WirePlan } from './wire-plan.js';

/** A reply as a plan, so that one player writes all answers. A HEAD request gets the head alone (RFC 9110, section 9.3.2). */
export function replyPlan(
  reply: Reply,
  options: { readonly keepAlive: boolean; readonly headOnly?: boolean; readonly unread?: boolean },
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
    closes: false,
    unapplied: [],
    steps: [
      { op: 'write', start: 0, end },
      options.unread ? { op: 'teardown', kind: 'fin', unread: true } : { op: 'teardown', kind: 'keep_alive' },
    ],
  };
}
