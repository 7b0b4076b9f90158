import { WirefaultError } from '../errors.js';
import type { Marked } from '../sse/mark.js';
import { isPosition, offsetOf, offsetsOf, type Position } from './position.js';

/** Positions in an answer that has to have them: what it doesn't reach is an error that names what it has. */

/** @throws WirefaultError `plan_impossible` */
export function offsetOrThrow(position: Position, answer: Marked): number {
  const offset = offsetOf(position, answer);
  if (offset !== undefined) return offset;
  const events = answer.marks.filter((mark) => mark.kind === 'event').map((mark) => mark.name);
  const has = `${answer.bytes.length} bytes and the events ${events.join(', ') || '(none)'}`;
  throw new WirefaultError('plan_impossible', `position ${position}: the answer doesn't reach it; it has ${has}`);
}

/**
 * Every offset that `pattern` means. One with `*` may find nothing; a single position has to be there, unless the answer
 * was `ended` before it, as one of any teardown may be cut before it.
 * @throws WirefaultError `plan_impossible`
 */
export function offsetsOrThrow(pattern: string, answer: Marked, ended: boolean): number[] {
  return isPosition(pattern) && !ended ? [offsetOrThrow(pattern, answer)] : offsetsOf(pattern, answer);
}
