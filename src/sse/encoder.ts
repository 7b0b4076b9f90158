import type { Content, Role, StreamEvent, WholeAnswer } from './dialect.js';
import { BOM, dataLines, lineEnder, padding, type SseForm } from './form.js';
import type { Mark, Marked } from './mark.js';

/**
 * Events to bytes. Each event is one part, so that the framing can put chunk borders where events end.
 * By itself the form is that of every recorded provider: LF, one space after the colon, one data line, a blank line.
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

/** Where an event is in the final list, from 0, and its number: what has no data is no event to a reader, and takes none. */
interface Place {
  readonly at: number;
  readonly sequence: number;
  /** Nothing comes behind it. */
  readonly last: boolean;
}

/** The lines of an event, without their ends. A raw event has none: its bytes are given. */
function linesOf(event: StreamEvent, { at, sequence }: Place, form: SseForm): string[] {
  const { colonSpace = true, dataLines: count = 1 } = form;
  // A reader takes one space away: a value that begins with one needs another.
  const field = (name: string, value: string): string =>
    `${name}:${colonSpace || value.startsWith(' ') ? ' ' : ''}${value}`;
  const data = event.data?.(sequence);
  return [
    ...(event.comment === undefined ? [] : event.comment.split('\n').map((line) => field('', line))),
    ...(event.event === undefined ? [] : [field('event', event.event)]),
    ...(event.id === undefined ? (form.ids ? [field('id', String(at + 1))] : []) : [field('id', event.id)]),
    ...(event.retry === undefined ? [] : [field('retry', event.retry)]),
    ...(form.retry !== undefined && at === 0 ? [field('retry', form.retry)] : []),
    ...(data === undefined ? [] : dataLines(data, count).map((line) => field('data', line))),
  ];
}

/** The text of an event that isn't raw. */
function textOf(event: StreamEvent, place: Place, form: SseForm, nextEol: () => string): string {
  const lines = linesOf(event, place, form).map((line) => `${line}${nextEol()}`);
  const end = place.last ? (form.end ?? 'blank_line') : 'blank_line';
  if (end === 'nothing') return lines.join('').replace(/[\r\n]+$/, '');
  if (end === 'line_end') return lines.join('');
  const text = `${lines.join('')}${nextEol()}`;
  const eol = lines[0]?.match(/[\r\n]+$/)?.[0] ?? '\n';
  const pad = padding(Buffer.byteLength(text), eol.length, form);
  return pad === undefined ? text : `${pad}${eol}${text}`;
}

/**
 * Writes the events of a stream one after the other. The sequence number of an event is its place among those of the
 * final list that have data, so that edits leave no gap.
 */
export function eventEncoder(form: SseForm = {}): (event: StreamEvent, last: boolean) => Marked {
  const nextEol = lineEnder(form);
  const mark = form.bom === 'middle' ? 1 : 0;
  let at = 0;
  let sequence = 0;
  return (event, last) => {
    const bom = form.bom && at === mark ? BOM.repeat(form.bom === 'twice' ? 2 : 1) : '';
    const { raw } = event;
    const text =
      typeof raw === 'object' ? undefined : `${bom}${raw ?? textOf(event, { at, sequence, last }, form, nextEol)}`;
    const given = typeof raw === 'object' ? raw : Buffer.alloc(0);
    const bytes = text === undefined ? (bom ? Buffer.concat([Buffer.from(bom), given]) : given) : Buffer.from(text);
    at++;
    if (event.data) sequence++;
    const marks: Mark[] = [
      { kind: 'event', index: at, name: event.name, role: event.role, start: 0, end: bytes.length },
    ];
    const place = event.content && text !== undefined ? locate(text, event.content, 0) : undefined;
    if (event.content && text !== undefined && place) {
      marks.push({ kind: event.content.kind, index: 1, ...byteRange(text, place.start, place.end) });
    }
    return { bytes, marks };
  };
}

export function encodeEvents(events: readonly StreamEvent[], form?: SseForm): Marked[] {
  const encode = eventEncoder(form);
  return events.map((event, at) => encode(event, at === events.length - 1));
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
  return { bytes, marks: [...partsAround(contents, bytes.length - 1, bytes.length), ...contents] };
}

/** The parts of a JSON body around its content; `lastBrace` is where it is closed, `end` where it ends. */
export function partsAround(contents: readonly Mark[], lastBrace: number, end: number): Mark[] {
  const first = contents[0]?.start ?? lastBrace;
  const last = contents.at(-1)?.end ?? lastBrace;
  const parts: readonly (readonly [Role, number, number])[] = [
    ['start', 0, first],
    ['delta', first, last],
    ['finish', last, lastBrace],
    ['terminal', lastBrace, end],
  ];
  return parts
    .filter(([, from, to]) => to > from)
    .map(([role, from, to]): Mark => ({ kind: 'part', index: 1, role, start: from, end: to }));
}
