import type { WirePlan } from '../fault/wire-plan.js';

/**
 * Stream events whose last byte is among the first `flushedBytes`: the kernel has taken them, which the write
 * callbacks tell. That is not delivery.
 */
export function eventsFlushed(plan: WirePlan, flushedBytes: number): number {
  let count = 0;
  for (const mark of plan.marks) if (mark.kind === 'event' && mark.end <= flushedBytes) count++;
  return count;
}
