import { chunkLayer, headOf } from '../fault/plan.js';
import type { Position } from '../fault/position.js';
import type { ResponseHead } from '../http/response-scanner.js';
import type { AnswerSignals, LongEvents } from './answer-scan.js';
import { type AnswerWriter, answerWriter } from './answer-writer.js';
import { compressing, encoding, ending, splicing } from './body-stages.js';
import type { Sink } from './edit-steps.js';
import { type KeptInput, unframed } from './kept-answer.js';
import { editing } from './live-edits.js';
import type { LivePart } from './live-parts.js';
import { streamEvent } from './told-events.js';

/**
 * Writes a passing event stream anew, event by event, as a fault has it:
 *
 *   scanner ─▶ events ─▶ edits ─▶ SSE bytes ─▶ splices ─▶ end ─▶ encoding ─▶ framing
 *
 * It comes to the bytes that `assemble` makes of the whole answer, but each event goes on as soon as it is known what
 * becomes of it.
 */
export interface Rewriting {
  /** What the scanner of the upstream's bytes tells. */
  readonly signals: AnswerSignals;
  readonly long: LongEvents;
  /** Takes what has been written. */
  written(): Buffer;
  /** The upstream breaks its answer off: what is held goes on, and what has `begun` behind it. */
  breakOff(begun: Buffer): void;
  /** The place at which the fault ends the body has come. */
  endReached(): boolean;
  /** The body ends with the connection. */
  readonly closes: boolean;
  /** Positions that the body turned out not to have. */
  readonly unreached: readonly Position[];
  /** What of the fault was not done. */
  unapplied(): readonly string[];
}

/** An event is kept while it comes: an image in base64 is some megabytes. What is longer passes unedited. */
export const MAX_EVENT_BYTES = 4_194_304;

/** @param signals are told of the bytes that are written */
export function rewriting(head: ResponseHead, input: KeptInput, signals: AnswerSignals): Rewriting {
  const { fault, protocol, material, content } = input;
  const { cut, splice = [] } = fault;
  const unreached: Position[] = [];
  const unapplied = new Set<string>();
  let longEvents = 0;
  let inLong = false;
  let endReached = false;

  const written = headOf(
    { status: head.status, headers: unframed(head), stream: true },
    { ...input, context: material.context, gzip: false, seed: material.seed },
  );
  const { chunks, ...form } = fault.framing ?? {};
  const own =
    typeof chunks === 'object'
      ? { chunks, protocol, gaveUp: () => void unapplied.add('framing: a chunk would have had to be held too long') }
      : undefined;
  const writer: AnswerWriter = answerWriter(written, form, signals, own);
  const told = { unreached: (position: Position) => void unreached.push(position) };

  function belowEvents(): Sink<LivePart> {
    const packed = fault.encoding && fault.encoding !== 'gzip_half' ? compressing(fault.encoding)(writer) : writer;
    const reached = (): void => {
      endReached = true;
    };
    const ended = cut?.teardown === 'eof' ? ending(cut.at, protocol, { ...told, reached })(packed) : packed;
    return splice.reduceRight((to, one) => splicing(one, protocol, told)(to), ended);
  }

  const events = editing(
    fault.events ?? [],
    {
      content,
      odd: material.odd,
      gaveUp: (op) => unapplied.add(`events: ${op} would have had to hold too much`),
    },
    encoding(fault.sse, belowEvents()),
  );

  return {
    signals: {
      onEvent: (event) => {
        events.take({ event: streamEvent(event, fault.sse === undefined), bytes: event.bytes.length });
      },
      onEnd: events.end,
    },
    long: {
      maxEventBytes: MAX_EVENT_BYTES,
      onLong: (bytes, ended) => {
        if (!inLong) longEvents++;
        inLong = !ended;
        events.take({ event: { name: 'long', role: 'extra', raw: bytes }, bytes: bytes.length, long: true });
      },
    },
    written: writer.written,
    breakOff: (begun) => {
      unapplied.add('all: the answer was not whole');
      events.letGo();
      writer.take({ bytes: begun, marks: [], first: false, known: true });
      writer.letGo();
    },
    endReached: () => endReached,
    closes: written.framing === 'until_close',
    unreached,
    unapplied: () => {
      const long = longEvents > 0 ? [`events: ${longEvents} of over ${MAX_EVENT_BYTES} bytes`] : [];
      return [...unapplied, ...long, ...(written.framing === 'chunked' ? [] : chunkLayer(fault))];
    },
  };
}
