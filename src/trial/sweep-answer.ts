import { bodyOf, headEnd } from '../fault/body-bytes.js';
import type { Position } from '../fault/position.js';
import type { CutTeardown } from '../fault/spec.js';
import type { Mark, Marked } from '../sse/mark.js';
import type { SweepPositions } from './sweep-results.js';

/** Where an answer that is known is cut, and what stands there. Pure. */
export interface Cut {
  readonly teardown: CutTeardown;
  /** Bytes of the whole answer before the cut. */
  readonly offset: number;
  readonly position: Position;
}

/** The cuts of one teardown, by rising offset. */
export function cutsOf(answer: Marked, positions: SweepPositions, teardown: CutTeardown): Cut[] {
  const offsets = [...new Set(OFFSETS[positions](answer))]
    .filter((offset) => offset >= 0 && offset <= answer.bytes.length)
    .toSorted((a, b) => a - b);
  if (teardown === 'eof') return bodyCuts(answer, offsets);
  return offsets.map((offset): Cut => ({ teardown, offset, position: `byte:${offset}` }));
}

const OFFSETS: Readonly<Record<SweepPositions, (answer: Marked) => number[]>> = {
  'every-byte': ({ bytes }) => Array.from({ length: bytes.length + 1 }, (_, offset) => offset),
  'every-event': ({ marks }) =>
    marks.flatMap(({ kind, start, end }) =>
      kind === 'event' ? [start, start + Math.floor((end - start) / 2), end] : [],
    ),
  marks: ({ marks }) => marks.flatMap(({ start, end }) => [start - 1, start, start + 1, end - 1, end, end + 1]),
};

/** A correct end needs a place in the body: offsets in the framing between the same two of its bytes are one. */
function bodyCuts(answer: Marked, offsets: readonly number[]): Cut[] {
  const head = headEnd(answer.marks);
  const body = bodyOf(answer);
  const ends = [head, ...Array.from(body.bytes, (_, n) => body.after(n + 1))];
  const cuts: Cut[] = [];
  let count = 0;
  let last = -1;
  for (const offset of offsets) {
    if (offset < head) continue;
    while ((ends[count + 1] ?? Number.POSITIVE_INFINITY) <= offset) count++;
    if (count === last) continue;
    last = count;
    cuts.push({ teardown: 'eof', offset: ends[count] ?? head, position: `body:${count}` });
  }
  return cuts;
}

/** A mark as positions call it. */
export function labelOf({ kind, index }: Mark): string {
  return SINGLE.has(kind) ? kind : `${kind}:${index}`;
}

const SINGLE: ReadonlySet<string> = new Set(['status_line', 'headers', 'last_chunk']);

/** The terminal event of an answer that streams. */
export function terminalOf({ marks }: Marked): Mark | undefined {
  return marks.find(({ kind, role }) => kind === 'event' && role === 'terminal');
}

/** Where a cut is, in words: against what an answer is made of, without the framing of single events. */
export function placeOf({ bytes, marks }: Marked, offset: number): string {
  if (offset === 0) return 'before the answer';
  if (offset === bytes.length) return 'behind the answer';
  const parts = marks.filter(({ kind }) => PARTS.has(kind)).toSorted((a, b) => a.start - b.start);
  const inside = parts.find(({ start, end }) => start < offset && offset < end);
  if (inside) return `${offset - inside.start} bytes into ${nameOf(inside)}`.replace(/^1 bytes/, '1 byte');
  const behind = parts.findLast(({ end }) => end <= offset);
  if (behind?.end === offset) return `behind ${nameOf(behind)}`;
  const before = parts.find(({ start }) => start === offset);
  if (before) return `before ${nameOf(before)}`;
  return `in the framing behind ${behind ? nameOf(behind) : 'nothing'}`;
}

const PARTS: ReadonlySet<string> = new Set(['status_line', 'headers', 'event', 'last_chunk']);

function nameOf(mark: Mark): string {
  if (mark.kind !== 'event') return `the ${mark.kind.replace('_', ' ')}`;
  if (mark.role === 'terminal') return `the terminal (${mark.name ?? labelOf(mark)})`;
  return `${labelOf(mark)} (${mark.name ?? mark.role ?? '?'})`;
}
