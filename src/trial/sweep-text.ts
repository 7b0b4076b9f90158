import { grouped, type Paint, plural, printable, type Style } from '../proof/paint.js';
import type { Verdict } from './evidence.js';
import { countsOf, worstFirst } from './sweep-ranges.js';
import type { Sweep, SweepRange, SweepTeardown } from './sweep-results.js';

/** A sweep for a terminal: for each teardown its ranges, the silent ones first. Ends with a newline. Pure. */
export function sweepText(sweep: Sweep, paint: Paint): string {
  const { answer, teardowns, durationMs } = sweep;
  const cuts = teardowns.reduce((sum, one) => sum + one.cuts, 0);
  const version = sweep.clientVersion === null ? '' : ` (${printable(sweep.clientVersion)})`;
  const events = answer.marks.filter(({ kind }) => kind === 'event').length;
  const head = [
    `${paint('bold', sweep.client)}${version}, ${sweep.protocol}: ${plural(answer.bytes, 'byte')}, ${plural(events, 'event')}, ` +
      `terminal at ${answer.terminal.start} to ${answer.terminal.end}`,
    `${plural(cuts, 'cut')} at ${sweep.positions} in ${(durationMs / 1000).toFixed(1)} s, ${grouped(sweep.cutsPerMinute)} a minute`,
  ];
  return `${[...head, ...teardowns.flatMap((one) => ['', ...linesOf(one, paint)])].join('\n')}\n`;
}

function linesOf(one: SweepTeardown, paint: Paint): string[] {
  const counts = countsOf(one).map(([verdict, count]) => paint(styleOf(verdict), `${grouped(count)} ${verdict}`));
  const ranges = worstFirst(one.ranges);
  const offsets = ranges.map(({ first, last }) => (first === last ? `${first}` : `${first}..${last}`));
  const width = Math.max(0, ...offsets.map(({ length }) => length));
  const words = Math.max(0, ...ranges.map(({ verdict }) => verdict.length));
  const lines = ranges.map((range, n) => {
    const verdict = paint(styleOf(range.verdict), range.verdict.padEnd(words));
    return `  ${verdict}  ${(offsets[n] ?? '').padEnd(width)}  ${placesOf(range)}\n      ${printable(range.because)}`;
  });
  return [`${paint('bold', one.teardown)}: ${counts.join(', ') || 'no cuts'}`, ...lines];
}

function placesOf({ from, to, first, last }: SweepRange): string {
  return first === last ? from : `from ${from} to ${to}`;
}

function styleOf(verdict: Verdict): Style {
  if (['complete', 'recovered', 'detected'].includes(verdict)) return 'green';
  return verdict === 'invalid' ? 'dim' : verdict === 'duplicated' ? 'yellow' : 'red';
}
