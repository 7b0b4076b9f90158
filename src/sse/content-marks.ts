import type { Protocol } from './dialect.js';
import { stringPlace } from './json-place.js';
import type { Mark } from './mark.js';
import { contentPlaces } from './recognize.js';
import { type EventFields, placeAfter, type ScannedEvent } from './scanner.js';

/** Where the content of a scanned event stands: marks in its own bytes, and on the wire. */

const DATA_LINE = /data:( ?)([^\r\n]*)(?:\r\n|\r|\n|$)/gy;
const OTHER_LINE = /[^\r\n]*(?:\r\n|\r|\n|$)/y;

interface DataLine {
  /** In the joined data. */
  readonly at: number;
  /** In the event's bytes. */
  readonly start: number;
  readonly text: string;
}

/** The data lines of an event as one text, a byte a character, and where each of them begins. */
function dataLinesOf(text: string): DataLine[] {
  const lines: DataLine[] = [];
  let at = text.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0;
  let joined = 0;
  while (at < text.length) {
    DATA_LINE.lastIndex = at;
    const data = DATA_LINE.exec(text);
    if (data) {
      const [whole, space = '', value = ''] = data;
      lines.push({ at: joined, start: at + 'data:'.length + space.length, text: value });
      joined += value.length + 1;
      at += whole.length;
      continue;
    }
    OTHER_LINE.lastIndex = at;
    at += OTHER_LINE.exec(text)?.[0].length || text.length;
  }
  return lines;
}

/** The content of an event as marks in its own bytes, in the order in which it stands there. */
export function contentMarks(protocol: Protocol, event: ScannedEvent, fields: EventFields): Mark[] {
  const places = contentPlaces(protocol, fields);
  if (places.length === 0) return [];
  const lines = dataLinesOf(event.bytes.toString('latin1'));
  const data = lines.map(({ text }) => text).join('\n');
  const marks = places.flatMap(({ kind, path }): Mark[] => {
    const place = stringPlace(data, path);
    // A JSON string has no line break in it, so it stands in one line.
    const line = place && lines.findLast(({ at }) => at <= place.start);
    if (!place || !line) return [];
    const start = line.start + place.start - line.at;
    return [{ kind, index: 1, start, end: start + place.end - place.start }];
  });
  return marks.toSorted((a, b) => a.start - b.start);
}

/** Marks in an event's bytes as they lie on the wire, broken where a stretch ends. */
export function onWire(event: ScannedEvent, marks: readonly Mark[]): Mark[] {
  return marks.flatMap((mark) => {
    const pieces: Mark[] = [];
    let at = 0;
    for (const { bytes } of event.stretches) {
      const from = Math.max(mark.start, at);
      const to = Math.min(mark.end, at + bytes.length);
      if (to > from) {
        const end = placeAfter(event.stretches, to);
        pieces.push({ ...mark, start: end - (to - from), end });
      }
      at += bytes.length;
    }
    return pieces;
  });
}
