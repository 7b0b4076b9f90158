import type { DialectEvent, Role, Telling } from '../sse/dialect.js';
import type { Mark, Marked } from '../sse/mark.js';
import type { EventEdit } from './spec.js';
import type { Content } from './words.js';

/** What an edit needs to know of an item of the list: its role in the answer. */
type Roled = Pick<DialectEvent, 'role'>;

type Made<T> = (event: Extract<EventEdit, { event: unknown }>['event']) => readonly T[];

/** Applies one edit to a list of anything that has roles. */
function applied<T extends Roled>(list: readonly T[], edit: EventEdit, make: Made<T>, content: Content): readonly T[] {
  switch (edit.op) {
    case 'keep':
      return list.filter(({ role }) => edit.roles.includes(role));
    case 'drop':
      return list.filter(({ role }) => !edit.roles.includes(role));
    case 'end_after_deltas':
      return list.slice(0, contentEnd(list) + 1);
    case 'repeat_first':
      return [...list.slice(0, 1), ...list];
    case 'append':
      return [...list, ...make(edit.event)];
    case 'insert': {
      const at = list.findIndex(({ role }) => role === edit.before);
      const before = at < 0 ? list.length : at;
      const times = edit.times ? content[edit.times] : 1;
      const made = Array.from({ length: times }, () => make(edit.event)).flat();
      return [...list.slice(0, before), ...made, ...list.slice(before)];
    }
    default:
      return edit satisfies never;
  }
}

/** The last delta; in an answer without content, what stands before where its content would have come. */
function contentEnd(list: readonly Roled[]): number {
  const last = (of: Role): number => list.findLastIndex(({ role }) => role === of);
  return [last('delta'), last('start'), last('open')].find((at) => at >= 0) ?? -1;
}

/** The events of a stream after the edits. Sequence numbers are given later, so they have no gap. */
export function editedEvents(telling: Telling, edits: readonly EventEdit[], content: Content): readonly DialectEvent[] {
  return edits.reduce<readonly DialectEvent[]>(
    (list, edit) => applied(list, edit, telling.odd, content),
    telling.events,
  );
}

interface Part extends Roled {
  readonly marked: Marked;
}

/** A JSON body as its parts, each with the marks inside it. */
function partsOf(body: Marked): Part[] {
  const roles = body.marks.filter((mark) => mark.kind === 'part');
  return roles.map((part) => ({
    role: part.role ?? 'start',
    marked: {
      bytes: body.bytes.subarray(part.start, part.end),
      marks: body.marks
        .filter((mark) => mark.start >= part.start && mark.end <= part.end)
        .map((mark) => ({ ...mark, start: mark.start - part.start, end: mark.end - part.start })),
    },
  }));
}

function partOf(role: Mark['role'] & string, text: string): Part {
  const bytes = Buffer.from(text);
  return { role, marked: { bytes, marks: [{ kind: 'part', index: 1, role, start: 0, end: bytes.length }] } };
}

/**
 * A JSON body after the edits. A malformed or failed answer is a body of its own; a keep-alive is a line end before
 * the JSON (as DeepSeek sends it), which a JSON parser skips; the rest changes the parts as it changes events.
 */
export function editedBody(
  body: Marked,
  tell: () => Telling,
  wholeError: () => string,
  edits: readonly EventEdit[],
  content: Content,
): Marked[] {
  const odd = edits.flatMap((edit) => ('event' in edit ? [edit.event] : []));
  const malformed = odd.find((kind) => kind === 'malformed_json' || kind === 'malformed_event');
  if (malformed)
    return tell()
      .odd(malformed)
      .map((event) => partOf('malformed', event.data(0)).marked);
  if (odd.includes('stream_error')) return [partOf('error', wholeError()).marked];
  const make: Made<Part> = (kind) =>
    kind === 'keepalive'
      ? [partOf('keepalive', '\n')]
      : tell()
          .odd(kind)
          .map((event) => partOf(event.role, event.data(0)));
  return edits
    .reduce<readonly Part[]>((list, edit) => applied(list, edit, make, content), partsOf(body))
    .map(({ marked }) => marked);
}
