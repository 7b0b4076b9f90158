import { grouped } from '../proof/paint.js';
import type { SweepRange } from '../trial/sweep-results.js';

/** The ranges of a sweep on one line, as many as one wants to read: `detected 0 to 811, silent 812 to 4,030`. Pure. */
export function markWords(ranges: readonly SweepRange[]): string {
  const told = ranges.slice(0, MOST).map((range) => `${range.verdict} ${offsetsOf(range)}`);
  const more = ranges.length - told.length;
  return `${told.join(', ')}${more > 0 ? `, and ${more} more ranges` : ''}`;
}

const MOST = 12;

/** `812 to 4,030`, or the one. */
export function offsetsOf({ first, last }: Pick<SweepRange, 'first' | 'last'>): string {
  return first === last ? grouped(first) : `${grouped(first)} to ${grouped(last)}`;
}
