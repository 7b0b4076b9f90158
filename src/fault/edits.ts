import type { Role, StreamEvent, Telling } from '../sse/dialect.js';
import type { Mark, Marked } from '../sse/mark.js';
import { patchedJson } from './json-path.js';
import type { EventEdit, NewEvent, RawEvent, Where } from './spec-events.js';
import type { Content } from './words.js';

/** What an edit needs to know of an item of the list. */
type Item = Pick<StreamEvent, 'role'> & { readonly name?: string };

/** Makes new items, and changed ones, of a list; a list that has no such thing makes none. */
interface Maker<T> {
  make(event: NewEvent): readonly T[];
  patch(item: T, path: string, value: unknown): T;
}

/** The roles that `where` names; `undefined` for any. */
export function rolesOf({ role }: Where): readonly Role[] | undefined {
  return typeof role === 'string' ? [role] : role;
}

/** Whether an item is one of those of which `where` may mean the nth. */
export function isMeant(item: Item, where: Where): boolean {
  const { name } = where;
  return (rolesOf(where)?.includes(item.role) ?? true) && (name === undefined || item.name === name);
}

/** The places in `list` of what `where` means, in order. */
function placesOf(list: readonly Item[], where: Where): number[] {
  const { nth } = where;
  const all = list.flatMap((item, at) => (isMeant(item, where) ? [at] : []));
  if (nth === undefined) return all;
  const one = all.at(nth > 0 ? nth - 1 : nth);
  return one === undefined ? [] : [one];
}

/** Where new items go: before the first or after the last of the others; at the end where there are none. */
function placeFor(list: readonly Item[], before: Where | undefined, after: Where | undefined): number {
  const [first] = before ? placesOf(list, before) : [];
  if (first !== undefined) return first;
  const last = after ? placesOf(list, after).at(-1) : undefined;
  return last === undefined ? list.length : last + 1;
}

function inserted<T>(list: readonly T[], at: number, items: readonly T[]): readonly T[] {
  return [...list.slice(0, at), ...items, ...list.slice(at)];
}

/** Applies one edit to a list of anything that has roles. */
function applied<T extends Item>(list: readonly T[], edit: EventEdit, maker: Maker<T>, content: Content): readonly T[] {
  switch (edit.op) {
    case 'keep': {
      const places = new Set(placesOf(list, edit.where));
      return list.filter((_, at) => places.has(at));
    }
    case 'omit': {
      const places = new Set(placesOf(list, edit.where));
      return list.filter((_, at) => !places.has(at));
    }
    case 'duplicate': {
      const places = new Set(placesOf(list, edit.where));
      const copies = (edit.times ?? 1) + 1;
      return list.flatMap((item, at) => Array.from({ length: places.has(at) ? copies : 1 }, () => item));
    }
    case 'move': {
      const places = new Set(placesOf(list, edit.where));
      const rest = list.filter((_, at) => !places.has(at));
      return inserted(
        rest,
        placeFor(rest, edit.before, edit.after),
        list.filter((_, at) => places.has(at)),
      );
    }
    case 'replace': {
      const places = new Set(placesOf(list, edit.where));
      return list.flatMap((item, at) => (places.has(at) ? maker.make(edit.event) : [item]));
    }
    case 'patch': {
      const places = new Set(placesOf(list, edit.where));
      return list.map((item, at) => (places.has(at) ? maker.patch(item, edit.path, edit.value) : item));
    }
    case 'insert': {
      const times = edit.times === 'keepaliveCount' ? content.keepaliveCount : (edit.times ?? 1);
      const made = Array.from({ length: times }, () => maker.make(edit.event)).flat();
      return inserted(list, placeFor(list, edit.before, edit.after), made);
    }
    case 'end_after_deltas':
      return list.slice(0, contentEnd(list) + 1);
    case 'end_after_half':
      return list.slice(0, contentHalf(list) + 1);
    default:
      return edit satisfies never;
  }
}

/** The last delta; in an answer without content, what stands before where its content would have come. */
function contentEnd(list: readonly Item[]): number {
  const last = (of: Role): number => list.findLastIndex(({ role }) => role === of);
  return [last('delta'), last('start'), last('open')].find((at) => at >= 0) ?? -1;
}

/** The delta that is in the middle; the last where there is only one. */
function contentHalf(list: readonly Item[]): number {
  const deltas = placesOf(list, { role: 'delta' });
  return deltas[Math.ceil(deltas.length / 2) - 1] ?? contentEnd(list);
}

/** An event of the user's own words. */
export function eventOf(raw: RawEvent): StreamEvent {
  const { data, name, role = 'extra', commentBytes, ...fields } = raw;
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const text = data === undefined ? undefined : typeof data === 'string' ? data : JSON.stringify(data);
  return {
    ...given,
    name: name ?? raw.event ?? 'extra',
    role,
    ...(commentBytes === undefined ? {} : { comment: 'x'.repeat(commentBytes) }),
    ...(text === undefined ? {} : { data: () => text }),
  };
}

/** The JSON of an event's data after a patch; an event without data is left alone. */
export function patchedEvent(event: StreamEvent, path: string, value: unknown): StreamEvent {
  const { data } = event;
  return data ? { ...event, data: (sequence) => patchedJson(data(sequence), path, value) } : event;
}

/** The events of a stream after the edits. Sequence numbers are given later, so they have no gap. */
export function editedEvents(
  telling: Pick<Telling, 'odd'> & { readonly events: readonly StreamEvent[] },
  edits: readonly EventEdit[],
  content: Content,
  patch: Maker<StreamEvent>['patch'] = patchedEvent,
): readonly StreamEvent[] {
  const maker: Maker<StreamEvent> = {
    make: (event) => (typeof event === 'string' ? telling.odd(event) : [eventOf(event)]),
    patch,
  };
  return edits.reduce<readonly StreamEvent[]>((list, edit) => applied(list, edit, maker, content), telling.events);
}

interface Part extends Item {
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

/** Whether an edit means something in a JSON body, which has roles, but neither names nor single events. */
export function appliesToBody(edit: EventEdit): boolean {
  switch (edit.op) {
    case 'end_after_deltas':
    case 'end_after_half':
      return true;
    case 'replace':
    case 'insert':
      return typeof edit.event === 'string';
    case 'keep':
    case 'omit':
    case 'duplicate':
    case 'move':
      return edit.where.name === undefined;
    case 'patch':
      return false;
    default:
      return edit satisfies never;
  }
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
  const meant = edits.filter(appliesToBody);
  const odd = meant.flatMap((edit) => ('event' in edit && typeof edit.event === 'string' ? [edit.event] : []));
  const malformed = odd.find((kind) => kind === 'malformed_json' || kind === 'malformed_event');
  if (malformed)
    return tell()
      .odd(malformed)
      .map((event) => partOf('malformed', event.data?.(0) ?? '').marked);
  if (odd.includes('stream_error')) return [partOf('error', wholeError()).marked];
  const maker: Maker<Part> = {
    make: (kind) => {
      if (typeof kind !== 'string') return [];
      if (kind === 'keepalive') return [partOf('keepalive', '\n')];
      return tell()
        .odd(kind)
        .map((event) => partOf(event.role, event.data?.(0) ?? ''));
    },
    patch: (part) => part,
  };
  return meant
    .reduce<readonly Part[]>((list, edit) => applied(list, edit, maker, content), partsOf(body))
    .map(({ marked }) => marked);
}
