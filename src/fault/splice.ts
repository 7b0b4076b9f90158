import type { Mark, Marked } from '../sse/mark.js';

/** Bytes put into marked bytes, and taken out of them. */
export interface Cutout {
  readonly at: number;
  readonly remove: number;
  readonly insert: Buffer;
}

/** Marks move with their bytes: what is put in at a border belongs to no mark, what is put inside belongs to it. */
export function spliced({ bytes, marks }: Marked, { at, remove, insert }: Cutout): Marked {
  const removed = Math.min(remove, bytes.length - at);
  const end = at + removed;
  const shift = insert.length - removed;
  const startOf = (mark: Mark): number => (mark.start < at ? mark.start : mark.start >= end ? mark.start + shift : at);
  const endOf = (mark: Mark): number => {
    if (mark.end <= at) return mark.end;
    return mark.end >= end ? mark.end + shift : at + insert.length;
  };
  return {
    bytes: Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(end)]),
    marks: marks.map((mark) => {
      const start = startOf(mark);
      // An empty mark at the place moves as a whole.
      return { ...mark, start, end: Math.max(start, endOf(mark)) };
    }),
  };
}
