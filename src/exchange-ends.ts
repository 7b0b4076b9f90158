import type { Outcome } from './events.js';
import { replyPlan } from './fault/reply-plan.js';
import type { Teardown } from './fault/spec.js';
import type { WirePlan } from './fault/wire-plan.js';
import { errorReply } from './http/reply.js';
import type { Routed } from './http/routes.js';
import type { PlayEnd } from './net/play.js';

/** What a request gets that isn't answered by a fault, and what becomes of one that is. */
/** Uses nothing up. A client that retries would get no other answer, so it is none of the 5xx. */
export function notRecorded(reason: string): Exclude<Routed, { kind: 'turn' }> {
  return { kind: 'refused', reason, reply: errorReply(404, 'not_recorded', reason) };
}

/** Of an answer whose head is whole; 0 of any other. */
export function statusIn({ bytes, marks }: WirePlan): number {
  const line = marks.find(({ kind }) => kind === 'status_line');
  return line ? Number(/^\S+ (\d{3})/.exec(bytes.toString('latin1', line.start, line.end))?.[1] ?? 0) : 0;
}

/** Uses nothing up. */
export function unknownFault(reason: string): Exclude<Routed, { kind: 'turn' }> {
  return { kind: 'refused', reason, reply: errorReply(400, 'unknown_fault', reason) };
}

/** Never a fault that might be the wrong one. */
export function stateAway(reason: string): Exclude<Routed, { kind: 'turn' }> {
  return { kind: 'refused', reason, reply: errorReply(503, 'state_away', reason) };
}

export function expectationFailed(): WirePlan {
  const reply = errorReply(417, 'expectation_failed', 'mock expectation failed');
  return replyPlan(reply, { keepAlive: false, unread: true });
}

/** What a teardown that was played to its end is called. */
const OUTCOME_OF: Readonly<Record<Teardown, Outcome>> = {
  rst: 'reset',
  rst_now: 'reset',
  fin: 'closed',
  half_close: 'closed',
  eof: 'completed',
  stall: 'stalled',
  keep_alive: 'completed',
};

export function outcomeOf({ how, reached }: PlayEnd): Outcome {
  // Silence and keep-alives for ever have no end of their own: whoever ends them ends them as scripted.
  if (reached?.op === 'pulse' && reached.times === Number.POSITIVE_INFINITY) return 'stalled';
  if (reached?.op === 'teardown' && reached.kind === 'stall') return 'stalled';
  if (how !== 'done') return how;
  return reached?.op === 'teardown' ? OUTCOME_OF[reached.kind] : 'completed';
}
