import type { FaultSpec } from '../fault/spec.js';
import type { Protocol } from '../sse/dialect.js';
import type { Sink } from './edit-steps.js';
import { bodyTeller, type LivePart } from './live-parts.js';
import { livePlace } from './live-place.js';
import { MAX_HELD_BYTES } from './passable.js';
import { spreadSignals } from './spread-signals.js';

/** Chunks that end elsewhere than the events of a passing body: nothing of one is sent before its size is known. */
type Chunks = NonNullable<NonNullable<FaultSpec['framing']>['chunks']>;
export type LiveChunks = Exclude<Chunks, string>;

/** As much is held of a chunk that has begun. */
const MAX_CHUNK_BYTES = 1_048_576;

/** Why the whole answer has to be known. */
export function wholeChunks(chunks: Chunks): string | undefined {
  if (chunks === 'event') return undefined;
  if (chunks === 'whole') return 'the size of the one chunk';
  if ('bytes' in chunks) return chunks.bytes <= MAX_CHUNK_BYTES ? undefined : `chunks of ${chunks.bytes} bytes`;
  // What stands behind the last place is one chunk: only where each event has a place is that a short one.
  const all = chunks.at.every((at) => at.includes('*'));
  return all && chunks.at.some((at) => at.startsWith('event:*'))
    ? undefined
    : 'the size of the chunk behind the last place';
}

/** Where the next chunk ends. */
interface Ends {
  come(part: LivePart): void;
  /** All of the body has come. */
  end(): void;
  /** Behind `from`, where it is known. */
  next(from: number): number | undefined;
}

function endsOf(chunks: LiveChunks, protocol: Protocol): Ends {
  if ('bytes' in chunks) {
    return { come: () => {}, end: () => {}, next: (from) => from + chunks.bytes };
  }
  const places = chunks.at.map((at) => livePlace(at, protocol));
  const teller = bodyTeller({
    ...spreadSignals(places),
    onBytes: (come) => {
      for (const { onBytes } of places) onBytes?.(come);
    },
  });
  return {
    come: teller.part,
    end: teller.end,
    next: (from) => {
      for (const place of places) while ((place.at() ?? Number.POSITIVE_INFINITY) <= from) place.next();
      const known = places.flatMap(({ at }) => at() ?? []);
      const first = Math.min(...known);
      // Another one may turn out to come sooner.
      return known.length > 0 && places.every(({ at, safe }) => first <= (at() ?? safe())) ? first : undefined;
    },
  };
}

/** A part, and where it begins in the body. */
export interface PlacedPart {
  readonly part: LivePart;
  readonly start: number;
}

/** Writes a chunk of the body from `start` to `end`, which `parts` reach over. */
export type WriteChunk = (parts: readonly PlacedPart[], start: number, end: number) => void;

/** Cuts the parts of a body into chunks. */
export function chunking(
  chunks: LiveChunks,
  protocol: Protocol,
  write: WriteChunk,
  gaveUp: () => void,
): Sink<LivePart> {
  const ends = endsOf(chunks, protocol);
  let parts: PlacedPart[] = [];
  let from = 0;
  let come = 0;
  const writeTo = (end: number): void => {
    write(parts, from, end);
    from = end;
    parts = parts.filter(({ part, start }) => start + part.bytes.length > end);
  };
  const writeKnown = (): void => {
    for (let end = ends.next(from); end !== undefined && end <= come; end = ends.next(from)) writeTo(end);
  };
  const writeAll = (): void => {
    if (come > from) writeTo(come);
  };
  return {
    take: (part) => {
      parts.push({ part, start: come });
      come += part.bytes.length;
      ends.come(part);
      writeKnown();
      if (come - from <= MAX_HELD_BYTES) return;
      writeAll();
      gaveUp();
    },
    end: () => {
      ends.end();
      writeKnown();
      writeAll();
    },
    letGo: writeAll,
  };
}
