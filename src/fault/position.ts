import type { Role } from '../sse/dialect.js';
import type { Mark, Marked } from '../sse/mark.js';

/**
 * A position says what is delivered before the cut. `N` counts from 1.
 *
 * | position | the cut is |
 * |---|---|
 * | `request` | after all of the request was read, before any byte of the answer |
 * | `headers` | after the empty line |
 * | `event:N` | after N whole events |
 * | `deltas` | after the last event that carries content |
 * | `terminator` | before the protocol's terminal |
 * | `events` | after the last event, before anything that ends the body |
 * | `last_chunk` | before the chunk that ends a chunked body; otherwise after everything |
 * | `end` | after everything |
 */
export type Position =
  | 'request'
  | 'headers'
  | `event:${number}`
  | 'deltas'
  | 'terminator'
  | 'events'
  | 'last_chunk'
  | 'end';

const CRLF_BYTES = 2;

/** Where an event ends together with its chunk: the CRLF behind the data belongs to it. */
export function wholeEnd(event: Mark, marks: readonly Mark[]): number {
  const data = marks.findIndex((mark) => mark.kind === 'chunk_data' && mark.end === event.end);
  return data < 0 ? event.end : event.end + CRLF_BYTES;
}

/** Where an event starts together with its chunk: the size line before the data belongs to it. */
export function wholeStart(event: Mark, marks: readonly Mark[]): number {
  const size = marks.find((mark) => mark.kind === 'chunk_size' && mark.end === event.start);
  return size?.start ?? event.start;
}

/** The number of bytes before the cut, or `undefined` where the answer doesn't reach the position. */
export function offsetOf(position: Position, answer: Marked): number | undefined {
  const { marks, bytes } = answer;
  const events = marks.filter((mark) => mark.kind === 'event' || mark.kind === 'part');
  switch (position) {
    case 'request':
      return 0;
    case 'headers':
      return marks.find((mark) => mark.kind === 'headers')?.end ?? 0;
    case 'deltas': {
      // An answer without content is cut where its content would have come.
      const lastOf = (of: Role): Mark | undefined => events.findLast(({ role }) => role === of);
      const last = lastOf('delta') ?? lastOf('start') ?? lastOf('open');
      return last && wholeEnd(last, marks);
    }
    case 'terminator': {
      const terminal = events.find((event) => event.role === 'terminal');
      return terminal && wholeStart(terminal, marks);
    }
    case 'events': {
      const last = events.at(-1);
      return last ? wholeEnd(last, marks) : bytes.length;
    }
    case 'last_chunk':
      return marks.find((mark) => mark.kind === 'last_chunk')?.start ?? bytes.length;
    case 'end':
      return bytes.length;
    default: {
      const event = events[Number(position.slice('event:'.length)) - 1];
      return event && wholeEnd(event, marks);
    }
  }
}
