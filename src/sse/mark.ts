import type { ContentKind, Role } from './dialect.js';

/**
 * A labelled range of an answer's bytes. Positions are looked up in marks, and the ledger counts by them.
 * `index` counts from 1 within its kind, in the order of the wire.
 */
export type MarkKind =
  /** A 1xx answer before the final one. */
  | 'informational'
  | 'status_line'
  | 'headers'
  | 'chunk'
  | 'chunk_size'
  | 'chunk_data'
  | 'last_chunk'
  | 'event'
  /** A stretch of a JSON body that plays the role of an event. */
  | 'part'
  | ContentKind;

export interface Mark {
  readonly kind: MarkKind;
  readonly index: number;
  /** The event's name in its dialect. */
  readonly name?: string;
  /** Events and parts only. */
  readonly role?: Role;
  /** Content that is JSON by itself, not the words of a JSON string. */
  readonly raw?: true;
  /** First byte, counted from the start of the answer. */
  readonly start: number;
  /** One past the last byte. */
  readonly end: number;
}

/** Bytes with their marks, counted from the first of these bytes. */
export interface Marked {
  readonly bytes: Buffer;
  readonly marks: readonly Mark[];
}

/** Joins parts into one, moving their marks, and numbers the marks of each kind from 1. */
export function joinMarked(parts: readonly Marked[]): Marked {
  const marks: Mark[] = [];
  const counts = new Map<MarkKind, number>();
  let at = 0;
  for (const part of parts) {
    for (const mark of part.marks) {
      const index = (counts.get(mark.kind) ?? 0) + 1;
      counts.set(mark.kind, index);
      marks.push({ ...mark, index, start: mark.start + at, end: mark.end + at });
    }
    at += part.bytes.length;
  }
  return { bytes: Buffer.concat(parts.map((part) => part.bytes)), marks };
}

/** The first `length` bytes; marks that don't fit whole are dropped. */
export function takeMarked(marked: Marked, length: number): Marked {
  return { bytes: marked.bytes.subarray(0, length), marks: marked.marks.filter((mark) => mark.end <= length) };
}

/** The parts up to `length` bytes of them all. */
export function takeParts(parts: readonly Marked[], length: number): Marked[] {
  let left = length;
  return parts.map((part) => {
    const kept = takeMarked(part, Math.max(0, Math.min(left, part.bytes.length)));
    left -= part.bytes.length;
    return kept;
  });
}
