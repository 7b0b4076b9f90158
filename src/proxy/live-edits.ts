import { eventOf, rolesOf } from '../fault/edits.js';
import type { EventEdit, NewEvent, Where } from '../fault/spec-events.js';
import type { Content } from '../fault/words.js';
import type { OddEvent, Role, StreamEvent } from '../sse/dialect.js';
import {
  appending,
  type EditStep,
  endingAfterDeltas,
  type GaveUp,
  type LiveEvent,
  moving,
  type Selecting,
  type Sink,
  selecting,
} from './edit-steps.js';
import { patchedOut } from './told-events.js';

/**
 * Which edits of events work on a passing answer. Each row is one edit: why it needs the whole answer, or what makes the
 * step that does to the events as they come what `fault/edits` does to the list of them all.
 */
type Row<Edit extends EventEdit> = (edit: Edit) => string | ((making: Making) => EditStep);

export interface Making {
  readonly content: Content;
  odd(kind: OddEvent): readonly StreamEvent[];
  /** A step held more than it may, and does nothing any more. */
  gaveUp(op: EventEdit['op']): void;
}

type Rows = { readonly [Op in EventEdit['op']]: Row<Extract<EventEdit, { op: Op }>> };

/** What comes until the end of an answer, or near it: little stands behind the last of them. */
const COME_TO_THE_END: readonly Role[] = ['delta', 'finish', 'usage', 'terminal'];

/** Events that are counted from the end. */
const MAX_FROM_END = 64;

/** Why `where` can't be known while the answer passes. */
function unknowable(where: Where): string | undefined {
  const { nth } = where;
  if (nth === undefined || nth > 0) return undefined;
  if (-nth <= MAX_FROM_END && staysNear(where)) return undefined;
  return `${words(where)} is counted from the end`;
}

/** Whether the last of those is known soon after it has come. */
function staysNear(where: Where): boolean {
  const roles = rolesOf(where);
  return where.name === undefined && (roles?.every((role) => COME_TO_THE_END.includes(role)) ?? true);
}

/** Why the place behind the last that `where` means can't be known. */
function unknowableLast(where: Where | undefined): string | undefined {
  if (where === undefined || (where.nth === undefined && staysNear(where))) return undefined;
  return where.nth === undefined ? `the last ${words(where)} is known at the end` : unknowable(where);
}

function words(where: Where): string {
  return [rolesOf(where)?.join('|') ?? 'event', where.name, where.nth].filter((word) => word !== undefined).join(' ');
}

/** A step that does something to what `where` means, where that can be known. */
function where(
  { op, where: meant }: EventEdit & { readonly where: Where },
  changed: (making: Making) => Selecting['changed'],
): string | ((making: Making) => EditStep) {
  return unknowable(meant) ?? ((making) => selecting(meant, { changed: changed(making) }, () => making.gaveUp(op)));
}

const ROWS: Rows = {
  keep: (edit) => where(edit, () => (item, meant) => (meant || item.long ? [item] : [])),
  omit: (edit) => where(edit, () => (item, meant) => (meant ? [] : [item])),
  duplicate: (edit) => {
    const { times = 1 } = edit;
    return where(edit, () => (item, meant) => (meant ? Array.from({ length: times + 1 }, () => item) : [item]));
  },
  replace: (edit) => where(edit, (making) => (item, meant) => (meant ? made(edit.event, making) : [item])),
  patch: (edit) =>
    where(edit, () => (item, meant) => {
      return meant ? [{ ...item, event: patchedOut(item.event, edit.path, edit.value) }] : [item];
    }),
  move: ({ where: moved, before, after }) => {
    if (before) return `what comes later is to stand before ${words(before)}`;
    if (moved.nth === undefined || moved.nth < 0) return `${words(moved)} is held until the end`;
    if (after?.nth !== undefined) return `${words(after)} may come before what is moved behind it`;
    return unknowableLast(after) ?? ((making) => moving(moved, after, () => making.gaveUp('move')));
  },
  insert: ({ event, before, after, times }) => {
    if (before && after) return `${words(after)} counts only where there is no ${words(before)}`;
    return (
      (before ? unknowable(before) : unknowableLast(after)) ??
      ((making) => {
        const count = times === 'keepaliveCount' ? making.content.keepaliveCount : (times ?? 1);
        return inserting(
          before,
          after,
          () => Array.from({ length: count }, () => made(event, making)).flat(),
          () => making.gaveUp('insert'),
        );
      })
    );
  },
  end_after_deltas: () => (making) => endingAfterDeltas(() => making.gaveUp('end_after_deltas')),
  end_after_half: () => 'half of the deltas is known at the end',
};

/** Before the first that `before` means, behind the last that `after` means, or at the end. */
function inserting(
  before: Where | undefined,
  after: Where | undefined,
  all: () => readonly LiveEvent[],
  gaveUp: GaveUp,
): EditStep {
  const atEnd = (found: boolean): readonly LiveEvent[] => (found ? [] : all());
  if (before) {
    const changed: Selecting['changed'] = (item, meant) => (meant ? [...all(), item] : [item]);
    return selecting({ ...before, nth: before.nth ?? 1 }, { changed, atEnd }, gaveUp);
  }
  if (!after) return appending(all);
  const changed: Selecting['changed'] = (item, meant) => (meant ? [item, ...all()] : [item]);
  return selecting({ ...after, nth: after.nth ?? -1 }, { changed, atEnd }, gaveUp);
}

function rowOf<Op extends EventEdit['op']>(edit: Extract<EventEdit, { op: Op }>): ReturnType<Row<EventEdit>> {
  const row: Row<Extract<EventEdit, { op: Op }>> = ROWS[edit.op as Op];
  return row(edit);
}

/** Why the edits need the whole answer. */
export function wholeEdits(edits: readonly EventEdit[]): string | undefined {
  for (const edit of edits) {
    const row = rowOf(edit);
    if (typeof row === 'string') return `${edit.op}: ${row}`;
  }
  return undefined;
}

/** The edits one after the other, before whoever takes what becomes of the events. None of them needs the whole answer. */
export function editing(edits: readonly EventEdit[], making: Making, to: Sink<LiveEvent>): Sink<LiveEvent> {
  return edits.reduceRight((next, edit) => {
    const row = rowOf(edit);
    return typeof row === 'string' ? next : row(making)(next);
  }, to);
}

function made(event: NewEvent, { odd }: Making): LiveEvent[] {
  const events = typeof event === 'string' ? odd(event) : [eventOf(event)];
  return events.map((one) => ({ event: one, bytes: sizeOf(one) }));
}

function sizeOf({ raw, comment, data }: StreamEvent): number {
  return (raw?.length ?? 0) + (comment?.length ?? 0) + (data?.(0).length ?? 0);
}
