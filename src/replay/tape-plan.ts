import { offsetOrThrow } from '../fault/reached.js';
import type { Cut, FaultSpec } from '../fault/spec.js';
import { idleOf, stepsOf } from '../fault/steps.js';
import type { WirePlan } from '../fault/wire-plan.js';
import { headerIn } from '../http/response-scanner.js';
import type { SeenEvent } from '../proxy/answer-scan.js';
import { keeping } from '../proxy/keeping.js';
import { type KeptAnswer, type KeptInput, keptPlan } from '../proxy/kept-answer.js';
import { unappliedIn } from '../proxy/passing.js';
import type { Protocol } from '../sse/dialect.js';
import type { Mark, Marked } from '../sse/mark.js';
import { fieldsOf, sseScanner } from '../sse/scanner.js';
import { withArrivals } from './pace.js';
import type { Tape } from './tape.js';
import type { ReplayTiming } from './timing.js';

/**
 * From a tape and a fault to a plan: what was recorded is an answer like that of a proxy's upstream which is there as a
 * whole, so that every fault acts on it in the same way. One that was broken off ends as it did then, unless the fault
 * cuts it elsewhere. Pure.
 */
export interface ReadTape {
  readonly tape: Tape;
  readonly protocol: Protocol;
  /** `undefined`: its head didn't come. */
  readonly kept: KeptAnswer | undefined;
  /** What has begun where it broke off. */
  readonly unfinished: readonly Mark[];
  /** All of it with the marks of what is whole. */
  readonly told: Marked;
}

export interface TapePlanInput extends Omit<KeptInput, 'protocol'> {
  readonly timing: ReplayTiming;
}

export function readTape(tape: Tape, protocol: Protocol): ReadTape {
  const seen = keeping(tape.method, protocol);
  seen.take(tape.answer);
  // What ended with the connection was whole by that.
  if (tape.end === 'whole') seen.scan.finish();
  const { length } = tape.answer;
  const isWhole = ({ end }: Mark): boolean => end <= length;
  const marks = seen.marks();
  const told = { bytes: tape.answer, marks: marks.filter(isWhole) };
  const whole = seen.kept();
  const kept = whole && { ...whole, answer: told, events: allEvents(whole) };
  return { tape, protocol, kept, told, unfinished: marks.filter((mark) => !isWhole(mark)) };
}

/** The events, with the one that broke off as its bytes alone, so that those aren't lost where the others change. */
function allEvents({ kind, events, body }: KeptAnswer): readonly SeenEvent[] {
  if (kind.kind !== 'events') return events;
  let last: SeenEvent | undefined;
  const scanner = sseScanner({
    onEvent: (event) => {
      if (event.index <= events.length) return;
      const fields = fieldsOf(event.bytes, event.index === 1);
      const { start: startBorder, end: endBorder } = event;
      last = { ...event, name: 'unfinished', role: 'extra', fields, startBorder, endBorder };
    },
  });
  scanner.feed(body, 0);
  scanner.finish();
  return last ? [...events, last] : events;
}

/** @throws WirefaultError `plan_impossible` where the answer doesn't have what the fault is about */
export function tapePlan(read: ReadTape, input: TapePlanInput): WirePlan {
  const { tape, told, kept } = read;
  const recorded = recordedCut(tape, input);
  const fault: FaultSpec = { ...input.fault, ...(input.fault.cut || !recorded ? {} : { cut: recorded }) };
  const plan = kept ? plannedAsKept(read, kept, { ...input, fault }) : headless(told, { ...input, fault });
  const paced = input.timing === 'none' ? plan : withArrivals(plan, told, tape.segments);
  const [unheld] = unappliedIn(input.fault).filter((layer) => layer === 'answer');
  const asRecorded = plan.bytes === told.bytes;
  return {
    ...paced,
    marks: asRecorded ? [...paced.marks, ...read.unfinished].toSorted(inOrder) : paced.marks,
    unapplied: [...paced.unapplied, ...(unheld ? [unheld] : [])],
  };
}

const inOrder = (a: Mark, b: Mark): number => a.start - b.start || b.end - a.end;

/** How the upstream ended it, where that was in the middle, as a cut. */
function recordedCut({ end, endMs, segments }: Tape, { timing }: TapePlanInput): Cut | undefined {
  if (end === 'whole') return undefined;
  const silence = endMs - (segments.at(-1)?.atMs ?? 0);
  const delay = timing === 'recorded' && silence > 0 ? { delayMs: silence } : {};
  // What we dropped had no end of its own: nothing more comes, and the framing says that more should.
  return { at: 'end', teardown: end === 'fin' || end === 'dropped' ? 'fin' : 'rst', ...delay };
}

function plannedAsKept({ tape, protocol }: ReadTape, kept: KeptAnswer, input: TapePlanInput): WirePlan {
  const { material, chunkedAllowed } = input;
  const { fault } = input;
  const stream = kept.kind.kind === 'events';
  const { context } = material;
  return keptPlan(kept, {
    ...input,
    protocol,
    fault: { ...fault, ...framingFor(tape, kept, fault, chunkedAllowed) },
    // What streams is what was recorded, whatever was asked for.
    material: { ...material, context: { ...context, request: { ...context.request, stream } } },
  });
}

/** The framing that a fault leaves alone, where it has to be written anew all the same. */
function framingFor(
  { end }: Tape,
  { head, body }: KeptAnswer,
  fault: FaultSpec,
  chunkedAllowed: boolean,
): Pick<FaultSpec, 'framing'> {
  // HTTP/1.0 knows no chunks (RFC 9112, section 7.1).
  if (head.framing === 'chunked' && !chunkedAllowed) return { framing: { ...fault.framing, kind: 'until_close' } };
  const rewritten =
    fault.events?.length || fault.sse || fault.splice?.length || fault.encoding || fault.framing || fault.head;
  if (end === 'whole' || !rewritten || fault.cut?.teardown === 'eof') return {};
  switch (head.framing) {
    case 'chunked':
      return { framing: { kind: 'chunked', last: 'none', ...fault.framing } };
    case 'content_length': {
      const missing = Number(headerIn(head.headers, 'content-length')) - body.length;
      return { framing: { kind: 'content_length', contentLength: { add: missing }, ...fault.framing } };
    }
    case 'until_close':
    case 'none':
      return { framing: { kind: 'until_close', ...fault.framing } };
    default:
      return head.framing satisfies never;
  }
}

/** Layers of a fault that ask nothing of the answer but its bytes. */
const OF_BYTES: readonly string[] = ['cut', 'pace', 'segments', 'idle', 'request', 'answer'];

/** An answer without a whole head, or without a byte. */
function headless(told: Marked, { fault, content, material }: TapePlanInput): WirePlan {
  const { cut } = fault;
  const offset = cut ? offsetOrThrow(cut.at, told) : told.bytes.length;
  const input = { fault, content, context: material.context, seed: material.seed };
  const idle = idleOf(input);
  return {
    ...told,
    ...(cut ? { cut: { position: cut.at, offset } } : {}),
    steps: stepsOf(told, offset, input),
    closes: true,
    unapplied: Object.keys(fault).filter((layer) => !OF_BYTES.includes(layer)),
    ...(idle ? { idle } : {}),
  };
}
