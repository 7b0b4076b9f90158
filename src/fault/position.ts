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
 * | `end` | after everything |
 */
export type Position = 'request' | 'headers' | `event:${number}` | 'deltas' | 'terminator' | 'end';

/** An event is whole when its chunk is: the CRLF behind the data belongs to it. */
function endOf(event: Mark, marks: readonly Mark[]): number {
  const chunk = marks.find((mark) => mark.kind === 'chunk' && mark.start <= event.start && mark.end >= event.end);
  const data = marks.find((mark) => mark.kind === 'chunk_data' && mark.end === event.end);
  return chunk && data ? chunk.end : event.end;
}

function startOf(event: Mark, marks: readonly Mark[]): number {
  const chunk = marks.find((mark) => mark.kind === 'chunk' && mark.start <= event.start && mark.end >= event.end);
  const data = marks.find((mark) => mark.kind === 'chunk_data' && mark.start === event.start);
  return chunk && data ? chunk.start : event.start;
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
      const last = events.filter((event) => event.role === 'delta').at(-1);
      return last && endOf(last, marks);
    }
    case 'terminator': {
      const terminal = events.find((event) => event.role === 'terminal');
      return terminal && startOf(terminal, marks);
    }
    case 'end':
      return bytes.length;
    default: {
      const event = events[Number(position.slice('event:'.length)) - 1];
      return event && endOf(event, marks);
    }
  }
}
