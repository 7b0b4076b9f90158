import type { Ledger } from './ledger.js';
import { grouped, type Paint, printable } from './paint.js';

/** A named byte of an answer. */
interface Landmark {
  readonly offset: number;
  readonly name: string;
}

/** Cells of the picture. A point at its very end has one more, so that it stands behind the last byte. */
const WIDTH = 48;

interface Row {
  readonly label: string;
  readonly drawn: string;
  /** Right-aligned; empty where the number is not known. */
  readonly count: string;
  readonly note: string;
}

/**
 * A count of what the client has. It says so where it can be too low: where the kernel could no more be asked for the
 * last time. As many as were flushed can't be too low.
 */
export function atLeast(count: number | null, flushed: number, stale: boolean): string {
  if (count === null) return '?';
  return `${stale && count < flushed ? '≥' : ''}${count}`;
}

/**
 * The answer as a line, with how far each level came, and where the cut is, one row for each. Pure.
 *
 *   plan     ━━━━━━━━━━━━━━━━  4,679
 *   written  ██████████████··  4,380
 *   acked    ████████········  2,340  2,040 lost
 *   cut                    ▲   4,380  after event:30 (content_block_delta)
 */
export function timeline(ledger: Ledger, paint: Paint): string[] {
  const { plan, cut, bytes } = ledger;
  // Keep-alives that are repeated for ever can be more than the whole plan.
  const scale = Math.max(1, plan.bytes, bytes.written);
  const rows: Row[] = [
    row('plan', bar(plan.bytes, scale, '━', ' '), grouped(plan.bytes), ''),
    row('written', bar(bytes.written, scale), grouped(bytes.written), repeatedNote(ledger)),
    row(
      'flushed',
      bar(bytes.flushed, scale),
      grouped(bytes.flushed),
      shortOf(bytes.written, bytes.flushed, 'not taken by the kernel'),
    ),
    levelRow(ledger, 'acked', scale),
    levelRow(ledger, 'read', scale),
    ...landmarksOf(ledger).map(({ offset, name }) => row('mark', point(offset, scale, '┊'), grouped(offset), name)),
    ...(cut ? [row('cut', point(cut.offset, scale, '▲'), grouped(cut.offset), cut.inside)] : []),
  ];
  const labels = Math.max(...rows.map(({ label }) => label.length));
  const counts = Math.max(...rows.map(({ count }) => count.length));
  return rows.map(({ label, drawn, count, note }) =>
    [paint('gray', label.padEnd(labels)), drawn, count.padStart(counts), paint('gray', printable(note))]
      .join('  ')
      .trimEnd(),
  );
}

/** Marks that the ledger tells of: the start of what the cut is inside of. */
function landmarksOf({ cut }: Ledger): Landmark[] {
  const [, name, into] = /^(.+)\+(\d+)$/.exec(cut?.inside ?? '') ?? [];
  if (!cut || name === undefined) return [];
  return [{ offset: cut.offset - Number(into), name: `start of ${name}` }];
}

const row = (label: string, drawn: string, count: string, note: string): Row => ({ label, drawn, count, note });

function levelRow(ledger: Ledger, level: 'acked' | 'read', scale: number): Row {
  const { bytes, evidence, stale } = ledger;
  const count = bytes[level];
  if (count === null) return row(level, ' '.repeat(WIDTH + 1), '?', `unknown: ${evidence} can't tell`);
  const least = stale && count < bytes.flushed;
  // What a higher level lacks already isn't said again.
  const [before, what] =
    level === 'acked' ? [bytes.written, 'not acknowledged'] : [bytes.acked ?? bytes.flushed, 'not read'];
  const short = shortOf(before, count, what);
  const note = least ? 'last known: the socket went before it could be asked again' : short;
  return row(level, bar(count, scale), `${least ? '≥' : ''}${grouped(count)}`, note);
}

function shortOf(whole: number, part: number, what: string): string {
  return part < whole ? `${grouped(whole - part)} ${what}` : '';
}

function repeatedNote({ plan, cut, bytes }: Ledger): string {
  const planned = cut?.offset ?? plan.bytes;
  return bytes.written > planned ? `${grouped(bytes.written - planned)} of them repeated keep-alives` : '';
}

/** Filled cells: none only for nothing, and all only for everything, so that a single byte still shows. */
function cells(count: number, scale: number): number {
  if (count <= 0) return 0;
  return count >= scale ? WIDTH : Math.min(WIDTH - 1, Math.max(1, Math.round((count / scale) * WIDTH)));
}

function bar(count: number, scale: number, full = '█', empty = '·'): string {
  const filled = cells(count, scale);
  return `${full.repeat(filled)}${empty.repeat(WIDTH - filled)} `;
}

function point(offset: number, scale: number, sign: string): string {
  return `${' '.repeat(cells(offset, scale))}${sign}`.padEnd(WIDTH + 1);
}
