import type { Content, DialectEvent, Role, WholeAnswer } from './dialect.js';
import type { Mark, Marked } from './mark.js';

/**
 * Events to bytes. Each event is one part, so that the framing can put chunk borders where events end.
 * The form is that of every recorded provider: LF, one space after the colon, one data line, a blank line.
 */

/** Where the value of `content.key` stands in `text`: the range between its quotes, in characters. */
function locate(text: string, content: Content, from: number): { start: number; end: number } | undefined {
  const value = content.raw ? content.value : JSON.stringify(content.value);
  for (const gap of ['', ' ']) {
    const key = `${JSON.stringify(content.key)}:${gap}`;
    const at = text.indexOf(key + value, from);
    const quote = content.raw ? 0 : 1;
    if (at >= 0) return { start: at + key.length + quote, end: at + key.length + value.length - quote };
  }
  return undefined;
}

/** A mark of `text.slice(start, end)` in bytes. */
function byteRange(text: string, start: number, end: number): { start: number; end: number } {
  const first = Buffer.byteLength(text.slice(0, start));
  return { start: first, end: first + Buffer.byteLength(text.slice(start, end)) };
}

/** The sequence number of an event is its place in the final list, so that edits leave no gap. */
export function encodeEvents(events: readonly DialectEvent[]): Marked[] {
  return events.map((event, sequence) => {
    const named = event.event === undefined ? '' : `event: ${event.event}\n`;
    const text = `${named}${event.comment ? ':' : 'data:'} ${event.data(sequence)}\n\n`;
    const bytes = Buffer.from(text);
    const marks: Mark[] = [
      { kind: 'event', index: sequence + 1, name: event.name, role: event.role, start: 0, end: bytes.length },
    ];
    const place = event.content && locate(text, event.content, 0);
    if (event.content && place) {
      marks.push({ kind: event.content.kind, index: 1, ...byteRange(text, place.start, place.end) });
    }
    return { bytes, marks };
  });
}

/**
 * A JSON body is read as the events of a stream would be, so that a cut means the same in both: what stands before
 * the content starts it, the content is the deltas, what stands after it finishes, and the last brace is the terminal.
 */
export function encodeWhole(answer: WholeAnswer): Marked {
  const bytes = Buffer.from(answer.json);
  const contents: Mark[] = [];
  let from = 0;
  for (const content of answer.content) {
    const place = locate(answer.json, content, from);
    if (!place) continue;
    from = place.end;
    const raw = content.raw ? { raw: content.raw } : {};
    contents.push({ kind: content.kind, index: 1, ...raw, ...byteRange(answer.json, place.start, place.end) });
  }
  const lastBrace = bytes.length - 1;
  const first = contents[0]?.start ?? lastBrace;
  const last = contents.at(-1)?.end ?? lastBrace;
  const parts: readonly (readonly [Role, number, number])[] = [
    ['start', 0, first],
    ['delta', first, last],
    ['finish', last, lastBrace],
    ['terminal', lastBrace, bytes.length],
  ];
  const roles = parts
    .filter(([, start, end]) => end > start)
    .map(([role, start, end]): Mark => ({ kind: 'part', index: 1, role, start, end }));
  return { bytes, marks: [...roles, ...contents] };
}
