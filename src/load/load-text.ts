import { grouped, type Paint, plural, printable } from '../proof/paint.js';
import { ENDS } from './ends.js';
import type { LoadProgress, LoadReport } from './load-report.js';
import type { Spread } from './spread.js';

/** A load for a terminal. Ends with a newline. Pure. */

const MEASURES: readonly (readonly [name: keyof LoadReport['ms'], title: string])[] = [
  ['head', 'to the head'],
  ['firstEvent', 'to the first event'],
  ['firstContent', 'to the first content'],
  ['gap', 'between events'],
  ['whole', 'to the end, complete'],
];

const FIGURES: readonly (readonly [name: keyof Spread, title: string])[] = [
  ['min', 'min'],
  ['mean', 'mean'],
  ['p50', '50 %'],
  ['p90', '90 %'],
  ['p99', '99 %'],
  ['p999', '99.9 %'],
  ['max', 'max'],
];

/** Above it, what this process did itself may be a good part of what was measured; a short run tells nothing of that. */
const BUSY = 0.9;
const BUSY_FROM_MS = 1000;

export function loadText(report: LoadReport, paint: Paint): string {
  const { url, protocol, stream, concurrency, readBytesPerSecond, started, ended, perSecond, stoppedBy } = report;
  const slow = readBytesPerSecond === null ? '' : `, each reads ${grouped(readBytesPerSecond)} bytes a second`;
  const early = { duration: ', stopped when the time was over', signal: ', stopped early' };
  const lines = [
    `${paint('bold', printable(url))}, ${protocol}${stream ? '' : ' without a stream'}, ${concurrency} at a time${slow}`,
    `${grouped(ended)} of ${plural(started, 'request')} ended in ${secondsText(report.elapsedMs)}${stoppedBy ? early[stoppedBy] : ''}, ` +
      `on ${plural(report.connections, 'connection')}`,
    `a second: ${rateText(perSecond.requests)} requests, ${rateText(perSecond.events)} events, ${rateText(perSecond.bodyBytes)} bytes of bodies`,
    '',
    ...endLines(report, paint),
    ...timeLines(report, paint),
  ];
  return `${[...lines, ...notes(report, paint)].join('\n')}\n`;
}

function endLines({ ends, ended }: LoadReport, paint: Paint): string[] {
  const words = Math.max(0, ...ends.map(({ kind }) => kind.length));
  const counts = ends.map(({ count }) => grouped(count));
  const digits = Math.max(0, ...counts.map(({ length }) => length));
  return [
    paint('bold', 'ends, as the client saw them'),
    ...ends.map(({ kind, count, afterTerminal, error }, n) => {
      const share = `${((count / ended) * 100).toFixed(1)} %`.padStart(7);
      const style = kind === 'complete' ? 'green' : kind === 'stopped' ? 'dim' : 'red';
      const behind = kind !== 'complete' && afterTerminal > 0 ? ` (${grouped(afterTerminal)} behind the terminal)` : '';
      const said = error === null ? '' : `; the first: ${printable(error.trim())}`;
      const meaning = isFixed(kind) ? ENDS[kind] : `status ${kind.slice('http_'.length)}`;
      return `  ${paint(style, kind.padEnd(words))}  ${(counts[n] ?? '').padStart(digits)}  ${share}  ${meaning}${behind}${said}`;
    }),
  ];
}

function isFixed(kind: string): kind is keyof typeof ENDS {
  return kind in ENDS;
}

function timeLines({ ms }: LoadReport, paint: Paint): string[] {
  const rows = MEASURES.flatMap(([name, title]) => {
    const spread = ms[name];
    return spread ? [[title, grouped(spread.count), ...FIGURES.map(([figure]) => msText(spread[figure]))]] : [];
  });
  if (rows.length === 0) return [];
  const table = [['milliseconds', 'count', ...FIGURES.map(([, title]) => title)], ...rows];
  const widths = table[0]?.map((_, n) => Math.max(...table.map((cells) => cells[n]?.length ?? 0))) ?? [];
  const line = (cells: readonly string[]): string =>
    cells.map((cell, n) => (n === 0 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0))).join('  ');
  return ['', ...table.map((cells, n) => (n === 0 ? paint('bold', line(cells)) : line(cells)))];
}

function notes({ retryAfter, keepAlives, busy, elapsedMs }: LoadReport, paint: Paint): string[] {
  const found = [
    ...(retryAfter > 0 ? [`${plural(retryAfter, 'answer')} had a Retry-After, which was not followed`] : []),
    ...(keepAlives > 0 ? [`${plural(keepAlives, 'keep-alive')}, not counted as events`] : []),
    ...(busy > BUSY && elapsedMs >= BUSY_FROM_MS
      ? [
          paint(
            'yellow',
            `this process was at work ${(busy * 100).toFixed(0)} % of the time: it may be the limit, not the server`,
          ),
        ]
      : []),
  ];
  return found.length > 0 ? ['', ...found] : [];
}

/** What is told while it goes on, behind the counts. */
export function progressText({ started, ended, failed, events, elapsedMs }: LoadProgress): string {
  const perSecond = elapsedMs > 0 ? (events / elapsedMs) * 1000 : 0;
  return `${grouped(started - ended)} open, ${grouped(failed)} failed, ${rateText(perSecond)} events/s`;
}

function msText(ms: number): string {
  if (ms >= 100) return grouped(Math.round(ms));
  return ms.toFixed(ms < 10 ? 2 : 1);
}

function rateText(perSecond: number): string {
  return perSecond >= 100 ? grouped(Math.round(perSecond)) : String(Number(perSecond.toFixed(1)));
}

const secondsText = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
