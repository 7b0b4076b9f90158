import type { Mark, Marked } from '../sse/mark.js';

/** A body that is cut into pieces which don't care for its events, and its marks among what stands between the pieces. */

/** `bytes` cut at `ends`, wherever those lie within it. */
export function cutAt(bytes: Buffer, ends: readonly number[]): Buffer[] {
  const inside = ends.filter((end) => end > 0 && end < bytes.length);
  const borders = [...new Set([...inside, ...(bytes.length > 0 ? [bytes.length] : [])])].toSorted((a, b) => a - b);
  return borders.map((end, n) => bytes.subarray(borders[n - 1] ?? 0, end));
}

/**
 * The marks of `body` as they lie once its pieces are `places`. An event reaches from its first byte to its last, over
 * all that stands between; content is broken where a piece ends, since what stands between isn't content.
 */
export function spread({ marks }: Marked, places: readonly Mark[]): Mark[] {
  let bodyStart = 0;
  const pieces = places.map(({ start, end }) => {
    const piece = { bodyStart, bodyEnd: bodyStart + end - start, shift: start - bodyStart };
    bodyStart = piece.bodyEnd;
    return piece;
  });
  return marks.flatMap((mark): Mark[] => {
    const over = pieces.filter((piece) => piece.bodyStart < mark.end && mark.start < piece.bodyEnd);
    const [first] = over;
    const last = over.at(-1);
    if (!first || !last) return [];
    const start = mark.start + first.shift;
    if (mark.kind === 'event' || mark.kind === 'part') return [{ ...mark, start, end: mark.end + last.shift }];
    return over.map((piece) => ({
      ...mark,
      start: Math.max(mark.start, piece.bodyStart) + piece.shift,
      end: Math.min(mark.end, piece.bodyEnd) + piece.shift,
    }));
  });
}
