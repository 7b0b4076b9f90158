import type { Protocol } from '../sse/dialect.js';
import type { Mark, Marked } from '../sse/mark.js';
import { type EventFields, fieldsOf } from '../sse/scanner.js';
import type { AnswerSignals, SeenEvent } from './answer-scan.js';
import type { PlaceSignals } from './live-finders.js';
import { withContent } from './told-events.js';

/** A piece of a body that is being written: an event, or what an edit has left of one. */
export interface LivePart extends Marked {
  /** Of its stream, which a byte order mark may stand before. */
  readonly first: boolean;
  /** Whether its marks have its content; otherwise that can be found in its bytes. */
  readonly known: boolean;
}

export function withKnownContent(part: LivePart, protocol: Protocol): LivePart {
  return part.known ? part : { ...part, ...withContent(part, part.first, protocol), known: true };
}

/** Where a part stands, and where the borders of its chunk are. */
export interface PartPlace {
  readonly start: number;
  /** Where the chunk begins and ends whose data it is. */
  readonly chunkStart: number;
  readonly chunkEnd: number;
}

/** Tells of a part as the scanner of an answer tells of bytes. */
export function tellPart(to: AnswerSignals, part: LivePart, index: number, place: PartPlace): void {
  const { bytes } = part;
  to.onBody?.(bytes, place.start);
  const mark = eventIn(part);
  if (!mark) return;
  const [start, end] = [place.start + mark.start, place.start + mark.end];
  const startBorder = mark.start === 0 ? place.chunkStart : start;
  to.onEventStart?.(start, startBorder);
  const endBorder = mark.end === bytes.length ? place.chunkEnd : end;
  const stretches = [{ start, bytes: bytes.subarray(mark.start, mark.end) }];
  to.onEvent?.(seenEvent(part, mark, { index, start, end, startBorder, endBorder, stretches }));
}

export function eventIn({ marks }: LivePart): Mark | undefined {
  const [first] = marks;
  return first?.kind === 'event' ? first : marks.find(({ kind }) => kind === 'event');
}

/** Its content is found by its fields, where it isn't known. */
const NO_FIELDS: EventFields = { comment: false };

/** @param mark the event's, in the part */
export function seenEvent(
  { bytes: partBytes, marks, first, known }: LivePart,
  mark: Mark,
  place: Pick<SeenEvent, 'index' | 'start' | 'end' | 'startBorder' | 'endBorder' | 'stretches'>,
): SeenEvent {
  const { index, start, end, startBorder, endBorder, stretches } = place;
  const bytes =
    mark.start === 0 && mark.end === partBytes.length ? partBytes : partBytes.subarray(mark.start, mark.end);
  const { name = '', role = 'extra' } = mark;
  // Written out, as in `answerScan`: this is done for each event.
  if (!known) {
    const fields = fieldsOf(bytes, first);
    return { index, bytes, stretches, start, end, fields, name, role, startBorder, endBorder };
  }
  const contents = marks
    .filter(({ kind }) => kind !== 'event')
    .map((content) => ({ ...content, start: content.start - mark.start, end: content.end - mark.start }));
  return { index, bytes, stretches, start, end, fields: NO_FIELDS, name, role, startBorder, endBorder, contents };
}

/** Tells of the parts of a body as of an answer that has nothing else. */
export function bodyTeller(to: PlaceSignals) {
  let at = 0;
  let events = 0;
  to.onHead?.({ start: 0, statusLineEnd: 0, end: 0, framing: 'until_close' });
  return {
    part: (part: LivePart): void => {
      const start = at;
      at += part.bytes.length;
      if (eventIn(part)) events++;
      tellPart(to, part, events, { start, chunkStart: start, chunkEnd: at });
      to.onBytes?.(at);
    },
    end: (): void => to.onEnd?.(at),
  };
}
