import type { Chunk } from '../http/response-scanner.js';
import { contentMarks, onWire } from '../sse/content-marks.js';
import type { Protocol } from '../sse/dialect.js';
import type { Mark } from '../sse/mark.js';
import type { AnswerSignals } from './answer-scan.js';

/**
 * Keeps the marks of a passing answer: all of them where the answer is kept whole, or as many as a ledger needs of one
 * of any length, which is its head, its events up to a limit, and the chunks around where it is now.
 */
export interface MarkKeeper extends AnswerSignals {
  /** In the order of the wire, a mark before those inside it; what has begun reaches as far as is known. */
  marks(): Mark[];
  /** Events that came, and those of them that have no mark. */
  readonly events: number;
  readonly unmarked: number;
}

export interface MarkKeeperOptions {
  readonly maxEvents: number;
  /** Keep all chunks, and find content. */
  readonly all?: { readonly protocol: Protocol };
}

/** An event or a head that has begun: its end isn't known. */
const BEYOND = Number.MAX_SAFE_INTEGER;

const CRLF_BYTES = 2;

function chunkMarks({ index, start, dataStart, dataEnd }: Chunk): Mark[] {
  return [
    { kind: 'chunk', index, start, end: dataEnd + CRLF_BYTES },
    { kind: 'chunk_size', index, start, end: dataStart },
    { kind: 'chunk_data', index, start: dataStart, end: dataEnd },
  ];
}

export function markKeeper({ maxEvents, all }: MarkKeeperOptions): MarkKeeper {
  const heads: Mark[] = [];
  const events: Mark[] = [];
  const contents: Mark[] = [];
  let chunks: Chunk[] = [];
  let lastChunk: { start: number; end: number } | undefined;
  let opened: number | undefined;
  let count = 0;

  const keeper: Omit<MarkKeeper, 'events' | 'unmarked'> = {
    onInformational: (start, end) => {
      heads.push({ kind: 'informational', index: heads.length + 1, start, end });
    },
    onHead: ({ start, statusLineEnd, end }) => {
      heads.push({ kind: 'status_line', index: 1, start, end: statusLineEnd });
      heads.push({ kind: 'headers', index: 1, start: statusLineEnd, end });
    },
    onChunk: (chunk) => {
      // An event may end together with the chunk before.
      chunks = all ? chunks : chunks.slice(-1);
      chunks.push(chunk);
    },
    onLastChunk: (start) => {
      lastChunk = { start, end: BEYOND };
    },
    onEventStart: (start) => {
      opened = start;
    },
    onEvent: (event) => {
      opened = undefined;
      count++;
      const { index, name, role, start, end } = event;
      if (events.length >= maxEvents) return;
      events.push({ kind: 'event', index, name, role, start, end });
      if (all) contents.push(...onWire(event, contentMarks(all.protocol, event, event.fields)));
    },
    onEnd: (end) => {
      if (lastChunk) lastChunk.end = end;
    },
    marks: () => {
      const marks = [
        ...heads,
        ...chunks.flatMap(chunkMarks),
        ...events,
        ...(opened === undefined ? [] : [{ kind: 'event', index: count + 1, start: opened, end: BEYOND } as const]),
        ...numbered(contents),
        ...(lastChunk ? [{ kind: 'last_chunk', index: 1, ...lastChunk } as const] : []),
      ];
      return marks.toSorted((a, b) => a.start - b.start || b.end - a.end);
    },
  };
  return Object.defineProperties(keeper, {
    events: { get: () => count },
    unmarked: { get: () => count - events.length },
  }) as MarkKeeper;
}

/** Marks of each kind, counted from 1. */
function numbered(marks: readonly Mark[]): Mark[] {
  const counts = new Map<string, number>();
  return marks.map((mark) => {
    const index = (counts.get(mark.kind) ?? 0) + 1;
    counts.set(mark.kind, index);
    return { ...mark, index };
  });
}
