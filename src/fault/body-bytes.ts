import type { Mark, Marked } from '../sse/mark.js';

/**
 * Stretches of an answer read as one, without what the framing puts between them, and the way back: where a byte of
 * theirs lies on the wire.
 */
export interface Stretches {
  readonly bytes: Buffer;
  /** The offset in the answer that has the first `count` of these bytes before it; `count` is at least 1. */
  after(count: number): number;
}

export function stretchesOf(bytes: Buffer, ranges: readonly Pick<Mark, 'start' | 'end'>[]): Stretches {
  let length = 0;
  const ends = ranges.map(({ start, end }) => {
    length += end - start;
    return { upTo: length, end };
  });
  return {
    bytes:
      ranges.length === 1 && ranges[0]
        ? bytes.subarray(ranges[0].start, ranges[0].end)
        : Buffer.concat(ranges.map(({ start, end }) => bytes.subarray(start, end))),
    after: (count) => {
      let low = 0;
      let high = ends.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((ends[middle]?.upTo ?? 0) < count) low = middle + 1;
        else high = middle;
      }
      const found = ends[low];
      return found ? found.end - (found.upTo - count) : 0;
    },
  };
}

/** The bytes of the body: the data of the chunks, or what stands behind the head where there are none. */
export function bodyOf({ bytes, marks }: Marked): Stretches {
  const chunks = marks.filter(({ kind }) => kind === 'chunk_data');
  if (chunks.length > 0) return stretchesOf(bytes, chunks);
  const head = headEnd(marks);
  const end = marks.find(({ kind }) => kind === 'last_chunk')?.start ?? bytes.length;
  return stretchesOf(bytes, end > head ? [{ start: head, end }] : []);
}

export function headEnd(marks: readonly Mark[]): number {
  return marks.find(({ kind }) => kind === 'headers')?.end ?? 0;
}

/** The words of the JSON strings that have marks of `kind`, as they are written. */
export function contentOf({ bytes, marks }: Marked, kind: Mark['kind']): Stretches {
  return stretchesOf(
    bytes,
    marks.filter((mark) => mark.kind === kind),
  );
}
