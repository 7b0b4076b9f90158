import type { Mark } from '../sse/mark.js';
import { LABEL_PX, widthOf } from './explain-svg-text.js';
import type { WirePlan } from './wire-plan.js';

/**
 * The byte axis of the picture. Heads are as long as all events, and what matters is often two bytes long, so the axis
 * is stretched: each stretch between two borders gets the width that it needs to be seen and is linear in itself.
 */
export interface ByteAxis {
  /** Where the byte at `offset` begins. */
  at(offset: number): number;
  readonly left: number;
  readonly right: number;
  /** Offsets of all borders between stretches, first and last included. */
  readonly borders: readonly number[];
}

/** How wide something would like to be drawn. */
export interface Wish {
  readonly width: number;
  /** Pixels below which it says less. */
  readonly least: number;
  /** It keeps its width where there is no room for the least of all. */
  readonly kept: boolean;
}

/** Below this share of its least width, what is drawn can't be read anyway, and the room is better left to what is kept. */
const READABLE_SHARE = 0.7;
/** Of the room, at most so much is kept for what is to keep its width. */
const MOST_KEPT = 0.75;

/** Widths as close to the wishes as the room allows: `min` to `max` pixels in all, stretched `stretch` times at most. */
export function spread(wishes: readonly Wish[], room: { min: number; max: number; stretch: number }): number[] {
  const sum = total(wishes.map(({ width }) => width));
  if (sum <= room.max) {
    const scale = Math.max(1, Math.min(room.min / sum, room.stretch));
    return wishes.map(({ width }) => width * scale);
  }
  const least = total(wishes.map((wish) => wish.least));
  if (least <= room.max) {
    const share = (room.max - least) / (sum - least);
    return wishes.map((wish) => wish.least + (wish.width - wish.least) * share);
  }
  if (least * READABLE_SHARE <= room.max) return wishes.map((wish) => (wish.least * room.max) / least);
  const kept = total(wishes.map((wish) => (wish.kept ? wish.least : 0)));
  const keptScale = Math.min(1, (room.max * MOST_KEPT) / Math.max(kept, 1));
  const restScale = (room.max - kept * keptScale) / Math.max(least - kept, 1);
  return wishes.map((wish) => wish.least * (wish.kept ? keptScale : restScale));
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0);
}

/** Stretches that stay wide in a long answer: how it begins, what is around the cut, and how it ends. A few events each. */
const KEPT = { first: 14, aroundCut: 9, last: 9 };

/** A stretch between two borders, with the innermost mark around it. */
interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly mark: Mark | undefined;
}

/** Marks lie within one another or side by side, so the innermost is the one that began last. */
function stretchesOf({ bytes, marks, cut }: WirePlan): Stretch[] {
  const total = bytes.length;
  const cuts = cut ? [cut.offset] : [];
  const borders = [...new Set([0, total, ...cuts, ...marks.flatMap(({ start, end }) => [start, end])])]
    .filter((offset) => offset >= 0 && offset <= total)
    .toSorted((a, b) => a - b);
  const byStart = marks.toSorted((a, b) => a.start - b.start || b.end - a.end);
  const open: Mark[] = [];
  let next = 0;
  return borders.slice(0, -1).map((start, n) => {
    for (let mark = byStart[next]; mark && mark.start <= start; mark = byStart[next]) {
      open.push(mark);
      next++;
    }
    while (open.length > 0 && (open.at(-1)?.end ?? 0) <= start) open.pop();
    return { start, end: borders[n + 1] ?? total, mark: open.at(-1) };
  });
}

function between(least: number, width: number, most: number): number {
  return Math.max(least, Math.min(most, width));
}

/** The width that a stretch would like to have, and the least. */
function wishOf({ start, end, mark }: Stretch): [width: number, least: number] {
  const length = end - start;
  const root = Math.sqrt(length);
  const kind = mark?.kind;
  switch (kind) {
    case 'informational':
      return [60, 8];
    case 'status_line':
      return [110, 62];
    case 'headers':
      return [between(24, 5 * root, 170), between(24, 5 * root, 84)];
    case 'chunk_size':
      // Its digits, without CRLF.
      return [between(14, widthOf('0', LABEL_PX) * (length - 2) + 10, 60), 9];
    case 'last_chunk':
      return [18, 9];
    case 'chunk':
      return [5, 3];
    case 'chunk_data':
    case 'event':
    case 'part':
      return [between(14, 2.2 * root, 90), between(8, root / 2, 20)];
    case 'text':
    case 'reasoning':
    case 'refusal':
    case 'tool_args': {
      const words = widthOf('x', LABEL_PX) * length + 8;
      return [between(12, words, 150), between(12, words, 66)];
    }
    case undefined:
      return [between(14, 16 * root, 460), between(14, 8 * root, 120)];
    default:
      return kind satisfies never;
  }
}

/** Pixels of a name that is short enough to stand on one line. */
const ONE_LINE_PX = 64;
/** Pixels of a single word; names can be the user's. */
const MOST_NAME_PX = 140;

/** An event is as wide as the longest word of its name, without the prefix that all of its dialect have. */
function leastWidthOf({ name, role, index }: Mark): number {
  const text = name ?? role ?? '';
  const whole = widthOf(`${index} ${text}`, LABEL_PX);
  const words = text.replace(/^response\./, '').split(/(?<=[._])/);
  const longest = words.reduce((most, word) => Math.max(most, widthOf(word, LABEL_PX)), 0);
  return Math.min(Math.max(Math.min(whole, ONE_LINE_PX), longest), MOST_NAME_PX) + 10;
}

/** The wishes of all stretches; those of an event's are enough for its name. */
function wishesOf(plan: WirePlan, stretches: readonly Stretch[]): Wish[] {
  const wishes = stretches.map(wishOf);
  const indexAt = new Map(stretches.map(({ start }, n) => [start, n]));
  for (const mark of plan.marks) {
    if (mark.kind !== 'event' && mark.kind !== 'part') continue;
    const first = indexAt.get(mark.start) ?? stretches.length;
    const inside = wishes.slice(first, indexAt.get(mark.end) ?? stretches.length);
    const needed = leastWidthOf(mark);
    const width = total(inside.map(([wish]) => wish));
    const least = total(inside.map(([, wish]) => wish));
    for (const [n, [wish, leastWish]] of inside.entries()) {
      wishes[first + n] = [wish * Math.max(1, needed / width), leastWish * Math.max(1, needed / least)];
    }
  }
  const cutAt = plan.cut ? (indexAt.get(plan.cut.offset) ?? stretches.length) : -KEPT.aroundCut;
  return wishes.map(([width, least], n) => ({
    width,
    least: Math.min(width, least),
    kept: n < KEPT.first || Math.abs(n - cutAt) < KEPT.aroundCut || n >= stretches.length - KEPT.last,
  }));
}

export function byteAxis(plan: WirePlan, left: number, room: { min: number; max: number }): ByteAxis {
  const stretches = stretchesOf(plan);
  const widths = spread(wishesOf(plan, stretches), { ...room, stretch: Number.POSITIVE_INFINITY });
  let right = left;
  const knots = stretches.map(({ start }, n) => {
    const knot = { start, x: right, width: widths[n] ?? 0 };
    right += knot.width;
    return knot;
  });
  const end = right;
  const length = plan.bytes.length;

  function at(offset: number): number {
    if (offset >= length || knots.length === 0) return offset <= 0 ? left : end;
    let low = 0;
    let high = knots.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((knots[middle]?.start ?? 0) <= offset) low = middle;
      else high = middle;
    }
    const knot = knots[low];
    const stop = knots[low + 1]?.start ?? length;
    return knot ? knot.x + (knot.width * Math.max(0, offset - knot.start)) / (stop - knot.start) : end;
  }

  // Even an empty answer has lanes.
  return {
    at,
    left,
    right: Math.max(end, left + room.min),
    borders: [...stretches.map(({ start }) => start), length],
  };
}
