import seedrandom from 'seedrandom';
import { WirefaultError } from '../errors.js';
import type { AnswerContext } from '../sse/dialect.js';
import type { Mark, Marked } from '../sse/mark.js';
import { codePointsOfText } from './characters.js';
import { bordersOf, offsetOf, type Position } from './position.js';
import { offsetsOrThrow } from './reached.js';
import type { Duration, FaultSpec } from './spec.js';
import { leavesUnread } from './stage.js';
import type { IdlePlan, Step } from './wire-plan.js';
import type { Content } from './words.js';

export interface StepsInput {
  readonly fault: FaultSpec;
  readonly content: Content;
  readonly context: Pick<AnswerContext, 'request' | 'chunkSize'>;
  readonly seed: string;
}

/** A place between two writes, and what happens there; nothing, where it only ends a segment. */
interface Break {
  readonly at: number;
  readonly steps: readonly Step[];
}

/** Segments that are to be read one by one are this far apart (shared measurements: reads of a busy client join sooner). */
export const SEGMENT_GAP_MS = 20;
/** A speed limit is kept in segments of this length. */
const RATE_SLICE_MS = 50;

export function durationMs(duration: Duration, content: Content): number {
  return typeof duration === 'number' ? duration : content[duration];
}

/** The steps that play `answer` up to `offset`. */
export function stepsOf(answer: Marked, offset: number, input: StepsInput): Step[] {
  const { cut } = input.fault;
  const teardown = cut?.teardown ?? 'keep_alive';
  return [
    ...jittered(writes(answer, offset, input), input),
    ...pulses(answer, input),
    ...(cut?.delayMs === undefined ? [] : wait(durationMs(cut.delayMs, input.content))),
    // Data and RST that arrive in one wake-up of the client look like a clean end to Node clients (measured: 88 to 98 %
    // of fast readers).
    ...(teardown === 'rst' && offset > 0 ? [settle(input)] : []),
    { op: 'teardown', kind: teardown, ...(leavesUnread(input.fault) ? { unread: true } : {}) },
  ];
}

/** The steps of a fault that acts before there is a request to answer. */
export function earlySteps(fault: FaultSpec, content: Content): Step[] {
  const { cut } = fault;
  return [
    ...(cut?.delayMs === undefined ? [] : wait(durationMs(cut.delayMs, content))),
    { op: 'teardown', kind: cut?.teardown ?? 'fin', unread: true },
  ];
}

/** Proof that the client has what was sent. */
function settle({ content }: StepsInput): Step {
  return { op: 'settle', until: 'read', timeoutMs: content.settleTimeoutMs };
}

function wait(ms: number): Step[] {
  return ms > 0 ? [{ op: 'wait', ms }] : [];
}

/** Writes are joined; what happens between them is the only reason for a second one (one write for each event costs 4 to 10 times as much). */
function writes(answer: Marked, offset: number, input: StepsInput): Step[] {
  const breaks = breaksOf(answer, offset, input).toSorted((a, b) => a.at - b.at);
  const steps: Step[] = [];
  let at = 0;
  for (const { at: end, steps: between } of breaks) {
    if (end > at) steps.push({ op: 'write', start: at, end });
    steps.push(...between);
    at = end;
  }
  if (offset > at) steps.push({ op: 'write', start: at, end: offset });
  return steps;
}

function breaksOf(answer: Marked, offset: number, input: StepsInput): Break[] {
  const { pace = {} } = input.fault;
  const { content } = input;
  const ms = (duration: Duration): number => durationMs(duration, content);
  const placed = (at: Position): number => reached(at, answer, offset);
  return [
    ...(pace.firstByteMs === undefined ? [] : [{ at: 0, steps: wait(ms(pace.firstByteMs)) }]),
    ...(pace.gates ?? []).map(({ at, name }): Break => ({ at: placed(at), steps: [{ op: 'gate', name }] })),
    ...(pace.pauses ?? []).map((pause) => ({ at: placed(pause.at), steps: wait(ms(pause.ms)) })),
    ...(pace.after ? pauses(answer, offset, pace.after.role, ms(pace.after.ms), input) : []),
    ...(pace.bytesPerSecond === undefined ? [] : slices(offset, pace.bytesPerSecond)),
    ...segmentEnds(answer, input.fault).flatMap(({ at, gapMs }) =>
      at > 0 && at < offset ? [{ at, steps: wait(gapMs) }] : [],
    ),
  ];
}

/** Where a pause or a gate is: it has to come before the answer ends. */
function reached(position: Position, answer: Marked, offset: number): number {
  const at = offsetOf(position, answer);
  if (at !== undefined && at <= offset) return at;
  const why = at === undefined ? "the answer doesn't reach it" : `it is at byte ${at}, behind the cut at ${offset}`;
  throw new WirefaultError('plan_impossible', `position ${position}: ${why}`);
}

/** A pause behind each event of a role. It stands between what was and what comes, so none follows the last event before a cut. */
function pauses(answer: Marked, offset: number, role: string, ms: number, input: StepsInput): Break[] {
  const { context } = input;
  if (role === 'delta' && !context.request.stream) {
    // A body in one piece comes when the last delta of a stream would have.
    return [{ at: 0, steps: wait(Math.ceil(codePointsOfText(answer).length / context.chunkSize) * ms) }];
  }
  const borders = bordersOf(answer.marks);
  const meant = (mark: Mark): boolean => mark.role === role || (role === 'event' && mark.kind === 'event');
  const breaks: Break[] = [];
  for (const mark of answer.marks) {
    // A healthy answer's own keep-alives, which come once it has started, belong to it.
    if (role === 'keepalive' && mark.role === 'start') break;
    if (!meant(mark)) continue;
    const end = borders.end(mark);
    if (end >= offset) break;
    breaks.push({ at: end, steps: wait(ms) });
  }
  return breaks;
}

/** How a speed is kept: so many bytes, then so long a pause. */
export function sliceOf(bytesPerSecond: number): { readonly bytes: number; readonly ms: number } {
  const bytes = Math.max(1, Math.floor((bytesPerSecond * RATE_SLICE_MS) / 1000));
  return { bytes, ms: (bytes * 1000) / bytesPerSecond };
}

function slices(offset: number, bytesPerSecond: number): Break[] {
  const { bytes, ms } = sliceOf(bytesPerSecond);
  const count = Math.max(0, Math.ceil(offset / bytes) - 1);
  return Array.from({ length: count }, (_, n) => ({ at: (n + 1) * bytes, steps: wait(ms) }));
}

function segmentEnds(answer: Marked, { segments = {}, cut }: FaultSpec): { at: number; gapMs: number }[] {
  const { at = [], everyBytes, gapMs } = segments;
  const count = everyBytes === undefined ? 0 : Math.ceil(answer.bytes.length / everyBytes) - 1;
  const ends = new Map(Array.from({ length: count }, (_, n) => [(n + 1) * (everyBytes ?? 1), gapMs ?? 0]));
  // Two positions may be one place, at which one segment ends.
  for (const end of at.flatMap((pattern) => offsetsOrThrow(pattern, answer, cut?.teardown === 'eof')))
    ends.set(end, gapMs ?? SEGMENT_GAP_MS);
  return Array.from(ends, ([end, gap]) => ({ at: end, gapMs: gap }));
}

/** Each pause stretched or shrunk by a part that the seed draws. */
function jittered(steps: Step[], { fault, seed }: StepsInput): Step[] {
  const { jitter = 0 } = fault.pace ?? {};
  if (jitter === 0) return steps;
  const random = seedrandom.alea(`${seed}/jitter`);
  return steps.map((step) => {
    if (step.op !== 'wait') return step;
    // A thousandth of a millisecond: more is noise, and makes plans hard to read.
    return { ...step, ms: Math.round(step.ms * (1 + jitter * (2 * random() - 1)) * 1000) / 1000 };
  });
}

function pulses(answer: Marked, { fault, content, context }: StepsInput): Step[] {
  const { pulse } = fault.pace ?? {};
  const last = answer.marks.findLast((mark) => mark.kind === 'event' || mark.kind === 'part');
  if (!pulse || !last) return [];
  const borders = bordersOf(answer.marks);
  const number = /"sequence_number":(\d+)/.exec(answer.bytes.toString('utf8', last.start, last.end))?.[1];
  return [
    {
      op: 'pulse',
      start: borders.start(last),
      end: borders.end(last),
      everyMs: durationMs(pulse.everyMs, content),
      times: pulse.times ?? Number.POSITIVE_INFINITY,
      ...(context.request.stream && number !== undefined ? { sequence: Number(number) } : {}),
    },
  ];
}

/** What becomes of the connection behind the answer. */
export function idleOf({ fault, content }: StepsInput): IdlePlan | undefined {
  const { idle } = fault;
  if (!idle) return undefined;
  const { teardown, afterMs, onRequest, stray, strayAfterMs = 0 } = idle;
  return {
    ...(teardown ? { teardown } : {}),
    ...(afterMs === undefined ? {} : { afterMs: durationMs(afterMs, content) }),
    ...(onRequest === undefined ? {} : { onRequest }),
    ...(stray === undefined
      ? {}
      : { stray: { bytes: Buffer.from(stray), afterMs: durationMs(strayAfterMs, content) } }),
  };
}
