import type { Role } from '../sse/dialect.js';
import type { Mark, Marked } from '../sse/mark.js';
import { bytesOfArguments, codePointsOfText, multiByteCharacters } from './characters.js';

/** A position says what is delivered before the cut. `N` counts from 1, `K` counts bytes. The table below has all. */
export type Position =
  | 'request'
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
  | `event:${number}`
  | `event:${number}+${number}`
  | `event:${number}.mid`
  | `text:${number}`
  | `char:${number}.mid`
  | `tool_args:${number}`
  | 'deltas'
  | 'terminator'
  | 'events'
  | 'end';

/** An answer as the table looks at it. */
interface View {
  readonly answer: Marked;
  readonly events: readonly Mark[];
  readonly borders: Borders;
  mark(kind: Mark['kind'], index?: number): Mark | undefined;
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

export const POSITIONS: readonly Row[] = [
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
  row('event:N', 'after N whole events', ({ events, borders }, n) => {
    const event = events[n - 1];
    return event && borders.end(event);
  }),
  row('event:N+K', 'after N whole events and K bytes of the next (N may be 0)', ({ events }, n, k) =>
    into(events[n], k),
  ),
  row('event:N.mid', 'halfway through event N', ({ events }, n) => {
    const event = events[n - 1];
    return event && event.start + Math.floor((event.end - event.start) / 2);
  }),
  row('text:N', 'after N code points of the text', ({ answer }, n) => codePointsOfText(answer)[n - 1]),
  row('char:N.mid', 'inside the Nth character of several bytes', ({ answer }, n) => {
    const character = multiByteCharacters(answer)[n - 1];
    return character && character.start + Math.floor((character.end - character.start) / 2);
  }),
  row('tool_args:N', "after N bytes of the tool calls' arguments", ({ answer }, n) => bytesOfArguments(answer)[n - 1]),
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

/** Makes the pattern of a row out of its form: `N` and `K` are numbers, all else is itself. */
function row(form: string, meaning: string, find: Row['find']): Row {
  const pattern = form.replaceAll(/[.+]/g, '\\$&').replaceAll(/\b[NK]\b/g, '(\\d{1,15})');
  return { form, meaning, pattern: new RegExp(`^${pattern}$`), find };
}

export function isPosition(text: string): text is Position {
  return POSITIONS.some(({ pattern }) => pattern.test(text));
}

function into(mark: Mark | undefined, bytes: number): number | undefined {
  return mark && mark.start + bytes <= mark.end ? mark.start + bytes : undefined;
}

function minus(end: number | undefined): number | undefined {
  return end === undefined ? undefined : end - CRLF_BYTES;
}

/** Walks the data of the chunks, or what stands behind the headers where there are none. */
function bodyOffset({ answer, mark }: View, k: number): number | undefined {
  const head = mark('headers')?.end ?? 0;
  if (k === 0) return head;
  const chunks = answer.marks.filter(({ kind }) => kind === 'chunk_data');
  if (chunks.length === 0) return head + k <= answer.bytes.length ? head + k : undefined;
  let left = k;
  for (const data of chunks) {
    if (left <= data.end - data.start) return data.start + left;
    left -= data.end - data.start;
  }
  return undefined;
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

/** The number of bytes before the cut, or `undefined` where the answer doesn't reach the position. */
export function offsetOf(position: Position, answer: Marked): number | undefined {
  for (const { pattern, find } of POSITIONS) {
    const match = pattern.exec(position);
    if (!match) continue;
    const view: View = {
      answer,
      events: answer.marks.filter(({ kind }) => kind === 'event' || kind === 'part'),
      borders: bordersOf(answer.marks),
      mark: (kind, index = 1) => answer.marks.find((mark) => mark.kind === kind && mark.index === index),
    };
    return find(view, Number(match[1] ?? 0), Number(match[2] ?? 0));
  }
  return undefined;
}
