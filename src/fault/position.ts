import type { Role } from '../sse/dialect.js';
import type { Mark, Marked } from '../sse/mark.js';
import { bodyOf, headEnd, stretchesOf } from './body-bytes.js';
import {
  bytesOfArguments,
  codePointsOfText,
  insidesOfCharacters,
  middlesOfCharacters,
  middlesOfLineEnds,
} from './characters.js';

/** A position says what is delivered before the cut. `N` counts from 1, `K` counts bytes. The table below has all. */
export type Position =
  | 'accept'
  | 'request'
  | `request:${number}`
  | `status_line:${number}`
  | 'headers'
  | `headers:${number}`
  | `body:${number}`
  | `byte:${number}`
  | `chunk:${number}`
  | `chunk:${number}.size`
  | `chunk:${number}.data+${number}`
  | `chunk:${number}.end`
  | 'last_chunk'
  | 'last_chunk.end'
  | `last_chunk+${number}`
  | `event:${number}`
  | `event:${number}+${number}`
  | `event:${number}.mid`
  | `text:${number}`
  | `char:${number}.mid`
  | `char:${number}+${number}`
  | `eol:${number}.mid`
  | `tool_args:${number}`
  | 'half'
  | 'deltas'
  | 'terminator'
  | 'events'
  | 'end';

/** An answer as the table looks at it. What takes a walk over its bytes is found once, when it is first asked for. */
interface View {
  readonly answer: Marked;
  readonly events: readonly Mark[];
  readonly borders: Borders;
  /** The data of the chunks, where there are any. */
  readonly chunks: readonly Mark[];
  mark(kind: Mark['kind'], index?: number): Mark | undefined;
  nth<T>(list: (answer: Marked) => readonly T[], n: number): T | undefined;
}

function viewOf(answer: Marked): View {
  const found = new Map<unknown, readonly unknown[]>();
  const byIndex = new Map(answer.marks.map((mark) => [`${mark.kind}:${mark.index}`, mark]));
  return {
    answer,
    events: answer.marks.filter(({ kind }) => kind === 'event' || kind === 'part'),
    borders: bordersOf(answer.marks),
    chunks: answer.marks.filter(({ kind }) => kind === 'chunk_data'),
    mark: (kind, index = 1) => byIndex.get(`${kind}:${index}`),
    nth: <T>(list: (answer: Marked) => readonly T[], n: number): T | undefined => {
      // A list is always found by the function that made it.
      const all = (found.get(list) as readonly T[] | undefined) ?? list(answer);
      found.set(list, all);
      return all[n - 1];
    },
  };
}

interface Row {
  /** As it is written, for messages and documentation. */
  readonly form: string;
  /** The cut is … */
  readonly meaning: string;
  readonly pattern: RegExp;
  /** The offset, or `undefined` where the answer doesn't reach so far. */
  readonly find: (view: View, first: number, second: number) => number | undefined;
}

const CRLF_BYTES = 2;

/** The numbers in a form: `N` and `K`. */
const NUMBERS = /\b[NK]\b/g;
const DIGITS = '\\d{1,15}';

/** Makes the pattern of a row out of its form: `N` and `K` are numbers, all else is itself. */
function patternOf(form: string, number: (letter: string) => string): string {
  return form.replaceAll(/[.+]/g, '\\$&').replaceAll(NUMBERS, number);
}

export const POSITIONS: readonly Row[] = [
  row('accept', 'as soon as the connection is accepted, before anything is read', () => 0),
  row('request:K', 'after K bytes of the request were read, before any byte of the answer', () => 0),
  row('request', 'after all of the request was read, before any byte of the answer', () => 0),
  row('status_line:K', 'K bytes into the status line', ({ mark }, k) => into(mark('status_line'), k)),
  row('headers', 'after the empty line', ({ mark }) => mark('headers')?.end ?? 0),
  row('headers:K', 'K bytes into the headers', ({ mark }, k) => into(mark('headers'), k)),
  row('body:K', 'K body bytes in, framing not counted', bodyOffset),
  row('byte:K', 'K bytes into the answer as it is on the wire', ({ answer }, k) =>
    k <= answer.bytes.length ? k : undefined,
  ),
  row('chunk:N', 'after chunk N', ({ mark }, n) => mark('chunk', n)?.end),
  row('chunk:N.size', 'after the size digits of chunk N', ({ mark }, n) => minus(mark('chunk_size', n)?.end)),
  row('chunk:N.data+K', 'K bytes into the data of chunk N', ({ mark }, n, k) => into(mark('chunk_data', n), k)),
  row('chunk:N.end', 'before the CRLF behind the data of chunk N', ({ mark }, n) => mark('chunk_data', n)?.end),
  row(
    'last_chunk',
    'before the chunk that ends a chunked body; otherwise after everything',
    ({ mark, answer }) => mark('last_chunk')?.start ?? answer.bytes.length,
  ),
  row('last_chunk.end', 'before the final CRLF of a chunked body', ({ mark }) => minus(mark('last_chunk')?.end)),
  row('last_chunk+K', 'K bytes into the last chunk, its trailers included', ({ mark }, k) =>
    into(mark('last_chunk'), k),
  ),
  row('event:N', 'after N whole events', ({ events, borders }, n) => {
    const event = events[n - 1];
    return event && borders.end(event);
  }),
  row('event:N+K', 'after N whole events and K bytes of the next (N may be 0)', (view, n, k) =>
    intoEvent(view, view.events[n], k),
  ),
  row('event:N.mid', 'halfway through event N', (view, n) => intoEvent(view, view.events[n - 1], 'half')),
  row('text:N', 'after N code points of the text', ({ nth }, n) => nth(codePointsOfText, n)),
  row('char:N.mid', 'inside the Nth character of several bytes', ({ nth }, n) => nth(middlesOfCharacters, n)),
  row(
    'char:N+K',
    'K bytes into the Nth character of several bytes',
    ({ nth }, n, k) => nth(insidesOfCharacters, n)?.[k - 1],
  ),
  row('eol:N.mid', 'between CR and LF of the Nth CRLF in the body', ({ nth }, n) => nth(middlesOfLineEnds, n)),
  row('tool_args:N', "after N bytes of the tool calls' arguments", ({ nth }, n) => nth(bytesOfArguments, n)),
  row('half', 'when half of the content has come, at the end of an event', ({ events, borders, answer, nth }) => {
    const deltas = events.filter(({ role, kind }) => role === 'delta' && kind === 'event');
    const half = deltas[Math.ceil(deltas.length / 2) - 1];
    if (half) return borders.end(half);
    // A body has its content in one piece.
    const count = codePointsOfText(answer).length;
    return nth(codePointsOfText, Math.ceil(count / 2));
  }),
  row('deltas', 'after the last event that carries content', ({ events, borders }) => {
    // An answer without content is cut where its content would have come.
    const lastOf = (of: Role): Mark | undefined => events.findLast(({ role }) => role === of);
    const last = lastOf('delta') ?? lastOf('start') ?? lastOf('open');
    return last && borders.end(last);
  }),
  row('terminator', "before the protocol's terminal", ({ events, borders }) => {
    const terminal = events.find((event) => event.role === 'terminal');
    return terminal && borders.start(terminal);
  }),
  row('events', 'after the last event, before anything that ends the body', ({ events, borders, answer }) => {
    const last = events.at(-1);
    return last ? borders.end(last) : answer.bytes.length;
  }),
  row('end', 'after everything', ({ answer }) => answer.bytes.length),
];

function row(form: string, meaning: string, find: Row['find']): Row {
  return { form, meaning, pattern: new RegExp(`^${patternOf(form, () => `(${DIGITS})`)}$`), find };
}

/** As they are written, for messages. */
export const POSITION_FORMS: readonly string[] = POSITIONS.map(({ form }) => form);

const anyOf = (patterns: readonly string[]): RegExp => new RegExp(`^(${patterns.join('|')})$`);

/** What a position looks like. */
export const POSITION_PATTERN = anyOf(POSITION_FORMS.map((form) => patternOf(form, () => DIGITS)));

/** A position, or one with `*` for its `N`. */
export const POSITIONS_PATTERN = anyOf(
  POSITION_FORMS.map((form) => patternOf(form, (letter) => (letter === 'N' ? `(?:${DIGITS}|\\*)` : DIGITS))),
);

export function isPosition(text: string): text is Position {
  return POSITION_PATTERN.test(text);
}

function into(mark: Mark | undefined, bytes: number): number | undefined {
  return mark && mark.start + bytes <= mark.end ? mark.start + bytes : undefined;
}

/** What stands between the chunks of an event is none of its bytes. */
function intoEvent({ answer, chunks }: View, event: Mark | undefined, count: number | 'half'): number | undefined {
  if (!event) return undefined;
  const stretches = stretchesOf(answer.bytes, chunks.length > 0 ? piecesOf(event, chunks) : [event]);
  const { length } = stretches.bytes;
  const bytes = count === 'half' ? Math.floor(length / 2) : count;
  if (bytes === 0) return event.start;
  return bytes <= length ? stretches.after(bytes) : undefined;
}

/** The parts of `event` that lie in `chunks`, which are in the order of the wire. */
function piecesOf(event: Mark, chunks: readonly Mark[]): Pick<Mark, 'start' | 'end'>[] {
  let low = 0;
  let high = chunks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunks[middle]?.end ?? 0) <= event.start) low = middle + 1;
    else high = middle;
  }
  const pieces: Pick<Mark, 'start' | 'end'>[] = [];
  for (let at = low; ; at++) {
    const chunk = chunks[at];
    if (!chunk || chunk.start >= event.end) return pieces;
    pieces.push({ start: Math.max(chunk.start, event.start), end: Math.min(chunk.end, event.end) });
  }
}

function minus(end: number | undefined): number | undefined {
  return end === undefined ? undefined : end - CRLF_BYTES;
}

function bodyOffset({ answer }: View, k: number): number | undefined {
  if (k === 0) return headEnd(answer.marks);
  const body = bodyOf(answer);
  return k <= body.bytes.length ? body.after(k) : undefined;
}

/** Where events stand together with their chunks. */
export interface Borders {
  /** An event is whole when its chunk is: the CRLF behind the data belongs to it. */
  end(event: Mark): number;
  /** The size line before the data belongs to an event. */
  start(event: Mark): number;
}

export function bordersOf(marks: readonly Mark[]): Borders {
  const ends = new Set(marks.flatMap(({ kind, end }) => (kind === 'chunk_data' ? [end] : [])));
  const starts = new Map(marks.flatMap(({ kind, start, end }) => (kind === 'chunk_size' ? [[end, start]] : [])));
  return {
    end: (event) => (ends.has(event.end) ? event.end + CRLF_BYTES : event.end),
    start: (event) => starts.get(event.start) ?? event.start,
  };
}

function found(position: string, view: View): number | undefined {
  for (const { pattern, find } of POSITIONS) {
    const match = pattern.exec(position);
    if (match) return find(view, Number(match[1] ?? 0), Number(match[2] ?? 0));
  }
  return undefined;
}

/** The number of bytes before the cut, or `undefined` where the answer doesn't reach the position. */
export function offsetOf(position: Position, answer: Marked): number | undefined {
  return found(position, viewOf(answer));
}

/** Every offset that `pattern` means: of one position, or with `*` of every such one that the answer has. */
export function offsetsOf(pattern: string, answer: Marked): number[] {
  const view = viewOf(answer);
  const offsets: number[] = [];
  for (let n = 1; ; n++) {
    const offset = found(pattern.replace('*', String(n)), view);
    if (offset === undefined) return offsets;
    offsets.push(offset);
    if (!pattern.includes('*')) return offsets;
  }
}
