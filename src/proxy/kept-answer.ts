import type { Material } from '../answers.js';
import { WirefaultError } from '../errors.js';
import { editedEvents } from '../fault/edits.js';
import { assemble, type Body } from '../fault/plan.js';
import { offsetOrThrow } from '../fault/reached.js';
import type { FaultSpec } from '../fault/spec.js';
import { idleOf, stepsOf } from '../fault/steps.js';
import type { WirePlan } from '../fault/wire-plan.js';
import type { Content } from '../fault/words.js';
import { headerIn, type ResponseHead } from '../http/response-scanner.js';
import type { Header, Protocol } from '../sse/dialect.js';
import { encodeEvents } from '../sse/encoder.js';
import type { Marked } from '../sse/mark.js';
import { wholeMarks } from '../sse/whole-marks.js';
import type { BodyKind, SeenEvent } from './answer-scan.js';
import { patchedOut, streamEvent, withContent } from './told-events.js';

/** An upstream's answer that is there as a whole: with the fault it is a plan like any other. */
export interface KeptAnswer {
  /** All of it, as it was on the wire, with its marks. */
  readonly answer: Marked;
  readonly head: ResponseHead;
  readonly kind: BodyKind;
  readonly body: Buffer;
  readonly events: readonly SeenEvent[];
}

export interface KeptInput {
  readonly fault: FaultSpec;
  readonly protocol: Protocol;
  readonly content: Content;
  readonly material: Material;
  /** Of the client's request. */
  readonly keepAlive: boolean;
  readonly chunkedAllowed: boolean;
}

/** Headers that say how the body is framed: they are written anew with it. */
const FRAMING_HEADERS = /^(transfer-encoding|content-length|connection|keep-alive|trailer)$/i;

/** The upstream's headers without those of the framing. */
export function unframed({ headers }: ResponseHead): Header[] {
  return headers.filter(([name]) => !FRAMING_HEADERS.test(name)).map(([name, value]): Header => [name, value]);
}

const isCompressed = ({ headers }: ResponseHead): boolean =>
  !/^(|identity)$/i.test(headerIn(headers, 'content-encoding')?.trim() ?? '');

/** Whether the fault changes bytes, and not only when and how far they are sent. */
function rewrites(fault: FaultSpec): boolean {
  return fault.head !== undefined || rewritesBody(fault);
}

/** Whether the body and its framing are written anew. */
export function rewritesBody({ events, sse, splice, encoding, framing, cut }: FaultSpec): boolean {
  return [events?.length, sse, splice?.length, encoding, framing].some(Boolean) || cut?.teardown === 'eof';
}

/**
 * The plan of a kept answer.
 * @throws WirefaultError `plan_impossible` where the answer doesn't have what the fault is about
 */
export function keptPlan(kept: KeptAnswer, input: KeptInput): WirePlan {
  const { fault, material, content } = input;
  // A HEAD, a 204: nothing can be put into what has no body.
  if (!rewrites(fault) || kept.head.framing === 'none') return asItWas(kept, input);
  const eventful = fault.events?.length || fault.sse || fault.cut?.teardown === 'eof';
  if (eventful && kept.kind.kind === 'other' && isCompressed(kept.head)) {
    throw new WirefaultError('plan_impossible', kept.kind.why);
  }
  return assemble(bodyOf(kept, input), {
    fault,
    context: material.context,
    content,
    keepAlive: input.keepAlive,
    chunkedAllowed: input.chunkedAllowed,
    gzip: false,
    seed: material.seed,
  });
}

/** The upstream's very bytes, framing too, up to the cut. */
function asItWas({ answer, head, kind, body }: KeptAnswer, input: KeptInput): WirePlan {
  const { fault, content, material } = input;
  const marked = kind.kind === 'events' ? answer : withParts(answer, head, body, input.protocol);
  const { cut } = fault;
  const offset = cut ? offsetOrThrow(cut.at, marked) : marked.bytes.length;
  const idle = idleOf({ fault, content, context: material.context, seed: material.seed });
  return {
    ...marked,
    ...(cut ? { cut: { position: cut.at, offset } } : {}),
    steps: stepsOf(marked, offset, { fault, content, context: material.context, seed: material.seed }),
    closes: !head.keepAlive,
    unapplied: head.framing === 'none' && rewrites(fault) ? ['body'] : [],
    ...(idle ? { idle } : {}),
  };
}

/** A JSON body that came in one stretch has parts that play the roles of events. */
function withParts(answer: Marked, head: ResponseHead, body: Buffer, protocol: Protocol): Marked {
  if (head.framing === 'chunked' || isCompressed(head)) return answer;
  const parts = wholeMarks(body, protocol).map((mark) => ({
    ...mark,
    start: mark.start + head.end,
    end: mark.end + head.end,
  }));
  return { bytes: answer.bytes, marks: [...answer.marks, ...parts] };
}

function bodyOf(kept: KeptAnswer, input: KeptInput): Body {
  const { head, kind, body } = kept;
  const base = { status: head.status, headers: unframed(head) };
  if (kind.kind === 'events') return { ...base, parts: eventParts(kept, input), stream: true, unapplied: [] };
  const { events, sse } = input.fault;
  const unapplied = [...(events?.length ? ['events'] : []), ...(sse ? ['sse'] : [])];
  const marks = isCompressed(head) ? [] : wholeMarks(body, input.protocol);
  return { ...base, parts: [{ bytes: body, marks }], stream: false, unapplied };
}

/** The events after the edits, each in its own bytes where nothing about it is changed. */
function eventParts({ events }: KeptAnswer, { fault, material, content, protocol }: KeptInput): Marked[] {
  const told = events.map((event) => streamEvent(event, fault.sse === undefined));
  const edited = editedEvents({ events: told, odd: material.odd }, fault.events ?? [], content, patchedOut);
  return encodeEvents(edited, fault.sse).map((part, n) => withContent(part, n === 0, protocol));
}
