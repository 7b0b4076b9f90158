import { bordersOf } from '../fault/position.js';
import type { Step, WirePlan } from '../fault/wire-plan.js';
import type { Mark, Marked } from '../sse/mark.js';
import type { Segment } from './format.js';

/**
 * The times at which an answer came, put into the steps of a plan that tells it again. Pauses of a fault come on top;
 * `--time-scale` shortens all of them alike.
 */

/** A place in an answer before which there was a pause. */
interface Arrival {
  readonly at: number;
  readonly waitMs: number;
}

/** A plan whose writes wait as the segments of `told` did, which is the answer as it was recorded. */
export function withArrivals(plan: WirePlan, told: Marked, segments: readonly Segment[]): WirePlan {
  const arrivals = arrivalsOf(segments);
  const place = plan.bytes.equals(told.bytes) ? (at: number) => at : placeIn(plan, told);
  const placed = arrivals.map(({ at, waitMs }) => ({ at: place(at), waitMs })).toSorted((a, b) => a.at - b.at);
  return { ...plan, steps: steppedBy(plan.steps, placed) };
}

function arrivalsOf(segments: readonly Segment[]): Arrival[] {
  let at = 0;
  let beforeMs = 0;
  return segments.map((segment) => {
    // A microsecond is as much as was measured.
    const arrival = { at, waitMs: Math.round((segment.atMs - beforeMs) * 1000) / 1000 };
    at += segment.bytes;
    beforeMs = segment.atMs;
    return arrival;
  });
}

/** What arrives at the end of what is written isn't waited for: it is behind the cut. */
function steppedBy(steps: readonly Step[], arrivals: readonly Arrival[]): Step[] {
  let next = 0;
  return steps.flatMap((step): Step[] => {
    if (step.op !== 'write') return [step];
    const made: Step[] = [];
    let { start } = step;
    for (let arrival = arrivals[next]; arrival && arrival.at < step.end; arrival = arrivals[++next]) {
      if (arrival.at > start) made.push({ op: 'write', start, end: arrival.at });
      start = Math.max(start, arrival.at);
      if (arrival.waitMs > 0) made.push({ op: 'wait', ms: arrival.waitMs });
    }
    return [...made, { op: 'write', start, end: step.end }];
  });
}

/**
 * Where a place of the recorded answer is in an answer that a fault has written anew: events by their number, so many
 * bytes into each; where there are none, so many bytes into the body.
 */
function placeIn(plan: Marked, told: Marked): (at: number) => number {
  const [from, to] = [eventsOf(told), eventsOf(plan)];
  const [fromBody, toBody] = [headEnd(told.marks), headEnd(plan.marks)];
  return (at) => {
    if (at < fromBody) return Math.min(at, toBody);
    const nth = from.findLastIndex(({ start }) => start <= at);
    const old = from[nth];
    if (!old) return from.length > 0 ? toBody : Math.min(toBody + at - fromBody, plan.bytes.length);
    const now = to[nth];
    // What follows events that are gone still comes when it came.
    return now ? Math.min(now.start + at - old.start, now.end) : (to.at(-1)?.end ?? toBody);
  };
}

function eventsOf({ marks }: Marked): { readonly start: number; readonly end: number }[] {
  const borders = bordersOf(marks);
  const events = marks.filter(({ kind }) => kind === 'event');
  return events.map((event) => ({ start: borders.start(event), end: borders.end(event) }));
}

function headEnd(marks: readonly Mark[]): number {
  return marks.find(({ kind }) => kind === 'headers')?.end ?? 0;
}
