import type { IdleResults, ProbeRow, RearmRow } from '../trial/idle-results.js';
import { closesText, retriesText, spreadCells, timeText } from '../trial/idle-text.js';

/** What `wirefault idle` found, as the cells of tables. Pure. */
export const PROBE_TITLES = [
  'situation',
  'min',
  'median',
  'max',
  'closes by',
  'retries',
  'from',
  'measured by',
] as const;

/** All but the situation itself. */
export function probeCells(row: ProbeRow, maxWaitMs: number): string[] {
  const { outcome, repeats, from, measuredBy } = row;
  if (outcome === 'not_measured') {
    const because = repeats.find((one) => one.because !== null)?.because ?? 'not measured';
    return ['n/a', 'n/a', 'n/a', '-', because, from, '-'];
  }
  return [
    ...spreadCells(row, maxWaitMs),
    closesText(repeats),
    retriesText(repeats),
    from,
    measuredBy.replaceAll('_', ' '),
  ];
}

export function rearmText({ rearms, because, limitMs }: RearmRow): string {
  if (rearms === null) return `not known: ${because ?? 'it was not tried'}`;
  return `${rearms ? 'yes' : 'no'}${limitMs === null ? '' : `, against ${timeText(limitMs)}`}`;
}

/** The shortest pause between events at which it gives up, where that was looked for. */
export function gapText({ gap, maxWaitMs }: IdleResults): string | undefined {
  if (!gap) return undefined;
  const [least, , most] = spreadCells(gap, maxWaitMs);
  return gap.because ?? (least === most ? least : `${least} to ${most}`);
}
