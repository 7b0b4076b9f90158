import type { Mark, MarkKind } from '../sse/mark.js';
import type { ByteAxis } from './explain-svg-axis.js';
import type { Shape } from './explain-svg-shapes.js';
import { visibleBytes } from './explain-svg-text.js';
import { type WirePlan, writtenUpTo } from './wire-plan.js';

/** What the lanes of the layers have in common. Pure. */

export interface Lane {
  readonly name: string;
  /** What is in it, in a few words. */
  readonly note: string;
  readonly height: number;
  readonly shapes: readonly Shape[];
}

export interface Layers {
  readonly plan: WirePlan;
  readonly axis: ByteAxis;
}

export interface Range {
  readonly start: number;
  readonly end: number;
}

export function count(n: number, one: string): string {
  return `${n.toLocaleString('en-US')} ${one}${n === 1 ? '' : 's'}`;
}

/** In the order of the wire. */
export function marksOf({ marks }: WirePlan, kinds: readonly MarkKind[]): Mark[] {
  return marks.filter(({ kind }) => kinds.includes(kind)).toSorted((a, b) => a.start - b.start);
}

/** Bytes that a hover title shows. */
const SHOWN_BYTES = 300;

/** A shape, but for what its range of bytes says of it. */
export type RangeShape = Omit<Shape, 'left' | 'right' | 'title'> & { readonly what: string };

/** A box over `range`; its hover title tells what it is, where, how much of it is sent, and its bytes. */
export function shapeOver({ plan, axis }: Layers, { start, end }: Range, { what, ...shape }: RangeShape): Shape {
  return {
    ...shape,
    left: axis.at(start),
    right: axis.at(end),
    title: () =>
      `${what}: ${rangeText(plan, start, end)}\n${visibleBytes(plan.bytes.subarray(start, end), SHOWN_BYTES)}`,
  };
}

function rangeText(plan: WirePlan, start: number, end: number): string {
  const sent = Math.min(end, writtenUpTo(plan)) - start;
  const missing =
    sent >= end - start ? '' : sent <= 0 ? ', not sent' : `, ${sent.toLocaleString('en-US')} of them sent`;
  return `bytes ${start} to ${end} (${count(end - start, 'byte')}${missing})`;
}
