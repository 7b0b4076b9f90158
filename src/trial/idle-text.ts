import type { Paint } from '../proof/paint.js';
import { type IdleRepeat, type IdleResults, MEASURES, type ProbeRow } from './idle-results.js';
import type { Spread } from './idle-summary.js';

/** Results of an idle measurement as a table for people. Pure. */

const HEAD = ['probe', 'situation', 'from', 'min', 'median', 'max', 'closes', 'retries'] as const;
const UNKNOWN = '-';

export function idleText(results: IdleResults, paint: Paint): string {
  const { client, clientVersion, protocol, repeats, maxWaitMs, probes } = results;
  const title = `${client}${clientVersion === null ? '' : ` (${clientVersion})`}, ${protocol}, ${repeats} ${repeats === 1 ? 'run' : 'runs'} each, at most ${timeText(maxWaitMs)}`;
  const body = [...probes.map((row) => probeCells(row, maxWaitMs)), ...gapCells(results)];
  const widths = HEAD.map((head, n) => Math.max(head.length, ...body.map((cells) => cells[n]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, n) => cell.padEnd(widths[n] ?? 0))
      .join('  ')
      .trimEnd();
  const table = [paint('bold', line(HEAD)), ...body.map(line)];
  const more = [...rearmLines(results), ...notes(probes)];
  return `${[title, '', ...table, ...(more.length > 0 ? ['', ...more] : [])].join('\n')}\n`;
}

/** `312 ms`, `3.01 s`, `62.4 s`, `10.0 min`. */
export function timeText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  const shown = (value: number, digits: number): string => String(Number(value.toFixed(digits)));
  if (seconds < 120) return `${shown(seconds, seconds < 10 ? 2 : 1)} s`;
  return `${shown(seconds / 60, 1)} min`;
}

export function spreadCells({ minMs, medianMs, maxMs }: Spread, maxWaitMs: number): string[] {
  return [minMs, medianMs, maxMs].map((ms) => (ms === null ? `> ${timeText(maxWaitMs)}` : timeText(ms)));
}

function probeCells(row: ProbeRow, maxWaitMs: number): string[] {
  const what = [row.probe, row.meaning, row.from];
  if (row.outcome === 'not_measured') return [...what, 'n/a', UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN];
  return [...what, ...spreadCells(row, maxWaitMs), closesText(row.repeats), retriesText(row.repeats)];
}

export function closesText(repeats: readonly IdleRepeat[]): string {
  const ways = new Set(repeats.flatMap(({ closed }) => (closed === 'none' ? [] : [closed.toUpperCase()])));
  return ways.size === 0 ? UNKNOWN : [...ways].join(', ');
}

/** How many in each run, and the pauses of the first: they are drawn anew each time by most clients. */
export function retriesText(repeats: readonly IdleRepeat[]): string {
  const all = repeats.flatMap(({ retries }) => retries ?? []);
  const [first] = all;
  if (!first) return UNKNOWN;
  const counts = all.map(({ count }) => count);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const count = `${least === most ? least : `${least} to ${most}`}${all.some(({ capped }) => capped) && most > 0 ? '+' : ''}`;
  const shown = first.pausesMs.slice(0, MAX_PAUSES).map(timeText).join(', ');
  const pauses = first.pausesMs.length > MAX_PAUSES ? `${shown}, …` : shown;
  return pauses === '' ? count : `${count} (after ${pauses})`;
}

const MAX_PAUSES = 5;

function gapCells({ gap, maxWaitMs }: IdleResults): string[][] {
  if (!gap) return [];
  const what = ['gap', 'the shortest pause between events that it minds', 'the event before'];
  if (gap.because !== null) return [[...what, 'n/a', UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]];
  return [[...what, ...spreadCells(gap, maxWaitMs), UNKNOWN, UNKNOWN]];
}

function rearmLines({ rearm, gap }: IdleResults): string[] {
  const lines = rearm.map(({ by, rearms, because }) => {
    const answer = rearms === null ? `n/a: ${because}` : rearms ? 'yes' : 'no';
    return `re-armed by ${by}: ${answer}`;
  });
  return gap?.because == null ? lines : [...lines, `gap: ${gap.because}`];
}

/** What keeps a row from being a number, and where its numbers come from if not from the socket. */
function notes(probes: readonly ProbeRow[]): string[] {
  return probes.flatMap(({ probe, measuredBy, outcome, repeats }) => {
    if (outcome === 'not_measured') return [`${probe}: ${repeats[0]?.because ?? 'not measured'}`];
    if (measuredBy === 'socket') return [];
    // Some HTTP clients connect again at once, long before they ask again.
    const connects = measuredBy === 'socket_table' ? '; its retries are connects' : '';
    return [`${probe}: measured by ${MEASURES[measuredBy]}${connects}`];
  });
}
