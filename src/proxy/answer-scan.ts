import { type Chunk, headerIn, type ResponseHead, responseScanner } from '../http/response-scanner.js';
import type { Protocol, Role } from '../sse/dialect.js';
import type { Mark } from '../sse/mark.js';
import { recognize } from '../sse/recognize.js';
import { type EventFields, fieldsOf, type ScannedEvent, type SseEvents, sseScanner } from '../sse/scanner.js';

/** An event of the passing stream, with where it stands together with its chunks (as `bordersOf` has it). */
export interface SeenEvent extends ScannedEvent {
  readonly name: string;
  readonly role: Role;
  readonly fields: EventFields;
  /** Where the size line before it begins, where it is the first in its chunk. */
  readonly startBorder: number;
  /** Behind the CRLF of its chunk, where it is the last in it. */
  readonly endBorder: number;
  /** Its content, as marks in its bytes, where whoever wrote it knows them. */
  readonly contents?: readonly Mark[];
}

/** Where a head stands, and what the framing behind it is. */
export type HeadPlace = Pick<ResponseHead, 'start' | 'statusLineEnd' | 'end' | 'framing'>;

/**
 * What is told of an answer as it passes: by the scanner of somebody else's bytes, or by whoever writes new ones. All
 * offsets are on the wire to the client.
 */
export interface AnswerSignals {
  onInformational?(start: number, end: number): void;
  onHead?(head: HeadPlace): void;
  onChunk?(chunk: Chunk): void;
  onLastChunk?(start: number): void;
  onBody?(bytes: Buffer, start: number): void;
  onEventStart?(start: number, border: number): void;
  onEvent?(event: SeenEvent): void;
  /** The answer is whole. */
  onEnd?(end: number): void;
}

export type BodyKind =
  | { readonly kind: 'events' }
  /** What the body is instead of an event stream that can be read. */
  | { readonly kind: 'other'; readonly why: string };

export interface AnswerScan {
  feed(bytes: Buffer): void;
  /** The upstream has ended its side: whether the answer is whole. */
  finish(): boolean;
  head(): ResponseHead | undefined;
  /** Known once the head is. */
  body(): BodyKind | undefined;
  /** Bytes behind which the answer is whole; `undefined` while it isn't. */
  end(): number | undefined;
  broken(): string | undefined;
  /** The last event may end here, or by a LF that is still to come. */
  unsure(): number | undefined;
  /** What has come of the event that is coming. */
  begun(): Buffer;
}

/** Events that are too long to be kept: their bytes are told as they come, and they aren't told as events. */
export interface LongEvents {
  readonly maxEventBytes: number;
  onLong(bytes: Buffer, ended: boolean): void;
}

const CRLF_BYTES = 2;

export function bodyKindOf({ headers }: Pick<ResponseHead, 'headers'>): BodyKind {
  const coding = headerIn(headers, 'content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (coding !== 'identity' && coding !== '') {
    return { kind: 'other', why: `the answer is compressed (${coding}); --decode asks the upstream for identity` };
  }
  const type = headerIn(headers, 'content-type') ?? '';
  if (/^\s*text\/event-stream\b/i.test(type)) return { kind: 'events' };
  return { kind: 'other', why: `the answer is no event stream (${type || 'without a content type'})` };
}

/** Scans the answer to a request by `method`. Events are called as `protocol` calls them. */
export function answerScan(method: string, protocol: Protocol, signals: AnswerSignals, long?: LongEvents): AnswerScan {
  let body: BodyKind | undefined;
  let chunk: Chunk | undefined;
  let before: Chunk | undefined;

  const endBorder = (end: number): number =>
    end === chunk?.dataEnd || end === before?.dataEnd ? end + CRLF_BYTES : end;

  let startBorder = 0;
  const hears: SseEvents = {
    onStart: (start) => {
      startBorder = start === chunk?.dataStart ? chunk.start : start;
      signals.onEventStart?.(start, startBorder);
    },
    onEvent: ({ index, bytes, stretches, start, end }) => {
      if (!signals.onEvent) return;
      const fields = fieldsOf(bytes, index === 1);
      const { name, role } = recognize(protocol, fields);
      // Written out: spreading the event cost ten times what finding it does (measured, V8 11.3).
      signals.onEvent({
        index,
        bytes,
        stretches,
        start,
        end,
        fields,
        name,
        role,
        startBorder,
        endBorder: endBorder(end),
      });
    },
    ...(long ? { onLong: long.onLong } : {}),
  };
  const events = sseScanner(hears, long?.maxEventBytes);

  const scanner = responseScanner(method, {
    onInformational: (start, end) => signals.onInformational?.(start, end),
    onHead: (head) => {
      body = bodyKindOf(head);
      signals.onHead?.(head);
    },
    onChunk: (next) => {
      before = chunk;
      chunk = next;
      signals.onChunk?.(next);
    },
    onLastChunk: (start) => {
      if (body?.kind === 'events') events.finish();
      signals.onLastChunk?.(start);
    },
    onBody: (bytes, start) => {
      signals.onBody?.(bytes, start);
      if (body?.kind === 'events') events.feed(bytes, start);
    },
    onEnd: (end) => {
      if (body?.kind === 'events') events.finish();
      signals.onEnd?.(end);
    },
  });

  return {
    feed: scanner.feed,
    finish: scanner.finish,
    head: scanner.head,
    body: () => body,
    end: scanner.end,
    broken: scanner.broken,
    unsure: () => {
      const endsAt = events.endsAt();
      return endsAt === undefined ? undefined : endBorder(endsAt);
    },
    begun: events.begun,
  };
}
