import {
  AXIS_HEIGHT,
  byteTicks,
  FLAG_HEIGHT,
  LANE_GAP,
  LEGEND,
  laneOf,
  PAGE,
  type Placed,
  text,
} from '../fault/explain-svg.js';
import { type ByteAxis, byteAxis } from '../fault/explain-svg-axis.js';
import { lanesOf } from '../fault/explain-svg-lanes.js';
import { hover, px, type Row, rect, written } from '../fault/explain-svg-shapes.js';
import { STYLE } from '../fault/explain-svg-style.js';
import { clipped, columnsIn, LABEL_PX, widthOf, xml } from '../fault/explain-svg-text.js';
import type { WirePlan } from '../fault/wire-plan.js';
import { grouped, plural } from '../proof/paint.js';
import type { Verdict } from './evidence.js';
import { cutsOf } from './sweep-answer.js';
import { BY_INTEREST, countsOf } from './sweep-ranges.js';
import type { Sweep, SweepRange, SweepTeardown } from './sweep-results.js';

/**
 * A sweep as a picture: a strip for each teardown, in which the color over a byte is the verdict of the cut right before
 * it, above the layers of the answer on the same axis. One SVG file without scripts, fonts or links. Pure.
 */

/** Verdicts in the colors of the style sheet. */
const STYLES: Readonly<Record<Verdict, string>> = {
  silent: 'end-hard',
  hang: 'end-stall',
  crash: 'r-finish',
  looping: 'r-malformed',
  duplicated: 'end-soft',
  detected: 'write',
  recovered: 'r-start',
  complete: 'end-fine',
  invalid: 'unsent',
};

const MEANINGS: Readonly<Record<Verdict, string>> = {
  silent: 'silent: success claimed, no terminal',
  hang: 'hang',
  crash: 'crash',
  looping: 'looping',
  duplicated: 'duplicated',
  detected: 'detected',
  recovered: 'recovered',
  complete: 'complete',
  invalid: 'invalid: nothing follows',
};

const HEAD_HEIGHT = 92;
const STRIP_HEIGHT = 30;
/** Of the content, the events and the HTTP framing; what TCP carries is another for each cut. */
const LAYERS = 3;
/** Pixels: a single byte has to be seen. */
const LEAST_WIDTH = 3;
/** Of the line between cuts that have others between them. */
const BETWEEN_HEIGHT = 8;

export function sweepSvg(sweep: Sweep, plan: WirePlan): string {
  const left = PAGE.padding + PAGE.gutter;
  const axis = byteAxis(plan, left, { min: PAGE.least, max: PAGE.most });
  const width = axis.right + PAGE.right;
  const stripsTop = HEAD_HEIGHT + FLAG_HEIGHT + 6;
  let top = stripsTop;
  const strips = sweep.teardowns.map((one) => {
    const strip = stripOf(one, { sweep, plan, axis, top });
    top += STRIP_HEIGHT + LANE_GAP;
    return strip;
  });
  top += LANE_GAP;
  const lanes = lanesOf({ plan, axis })
    .slice(0, LAYERS)
    .map((lane): Placed => {
      const placed = { lane, top };
      top += lane.height + LANE_GAP;
      return placed;
    });
  const legend = legendOf(sweep, top + AXIS_HEIGHT + 10, axis);
  const size = `width="${px(width)}" height="${px(legend.bottom + PAGE.padding)}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="wirefault" viewBox="0 0 ${px(width)} ${px(legend.bottom + PAGE.padding)}" ${size} role="img" xml:space="preserve">`,
    `<title>${xml(titleOf(sweep))}</title>`,
    `<desc>${xml(inWords(sweep))}</desc>`,
    STYLE,
    `<rect class="page" ${size}/>`,
    headOf(sweep, width),
    ...strips,
    ...lanes.map((placed) => laneOf(placed, axis)),
    byteTicks(plan, axis, top),
    terminalLine(sweep, axis, stripsTop, top),
    legend.svg,
    '</svg>',
    '',
  ].join('\n');
}

function titleOf({ client, protocol, positions }: Sweep): string {
  return `${client}, ${protocol}: one answer cut at ${positions.replace('-', ' ')}`;
}

/** For those who don't see the picture: the silent ranges, or that there are none. */
function inWords({ teardowns }: Sweep): string {
  return teardowns
    .map((one) => {
      const counts = countsOf(one).map(([verdict, count]) => `${grouped(count)} ${verdict}`);
      const silent = one.ranges.filter(({ verdict }) => verdict === 'silent').map(rangeText);
      return `${one.teardown}: ${counts.join(', ')}${silent.length > 0 ? `; ${silent.join('; ')}` : ''}.`;
    })
    .join(' ');
}

function rangeText({ verdict, first, last, from, to }: SweepRange): string {
  return first === last
    ? `${verdict} at byte ${first}, ${from}`
    : `${verdict} at bytes ${first} to ${last}, ${from} to ${to}`;
}

function headOf(sweep: Sweep, width: number): string {
  const { answer, clientVersion, wirefault, node, date } = sweep;
  const room = width - PAGE.padding - PAGE.right;
  const cuts = sweep.teardowns.reduce((sum, one) => sum + one.cuts, 0);
  const facts = [
    plural(answer.bytes, 'byte'),
    plural(answer.marks.filter(({ kind }) => kind === 'event').length, 'event'),
    `${plural(cuts, 'cut')}, ${grouped(sweep.cutsPerMinute)} a minute`,
    ...(clientVersion === null ? [] : [clientVersion]),
    `wirefault ${wirefault}, node ${node}`,
    date.slice(0, 10),
  ].join(' · ');
  return [
    text(PAGE.padding, 42, clipped(titleOf(sweep), columnsIn(room, 18)), 'title'),
    text(PAGE.padding, 66, clipped(facts, columnsIn(room, LABEL_PX)), 'dim'),
  ].join('\n');
}

interface Place {
  readonly sweep: Sweep;
  readonly plan: WirePlan;
  readonly axis: ByteAxis;
  readonly top: number;
}

function stripOf(one: SweepTeardown, { sweep, plan, axis, top }: Place): string {
  const [most] = countsOf(one);
  const note = most ? `${grouped(most[1])} ${most[0]}` : 'no cuts';
  const lane = { name: one.teardown, note, height: STRIP_HEIGHT, shapes: [] };
  const row = { top, height: STRIP_HEIGHT };
  const offsets = cutsOf(plan, sweep.positions, one.teardown).map(({ offset }) => offset);
  const isEveryByte = sweep.positions === 'every-byte';
  // The worst is drawn last, so that no neighbor covers what is a byte wide.
  const order = countsOf(one).map(([verdict]) => verdict);
  const boxes = one.ranges
    .toSorted((a, b) => order.indexOf(b.verdict) - order.indexOf(a.verdict))
    .map((range) => {
      const behind = offsets.find((offset) => offset > range.last) ?? plan.bytes.length;
      const within = offsets.filter((offset) => offset >= range.first && offset <= range.last);
      const body = isEveryByte
        ? boxOf(range, { left: axis.at(range.first), right: axis.at(behind) }, row)
        : sparse(within.map(axis.at), row);
      return `<g class="${STYLES[range.verdict]}">${hover(hoverText(range))}${body}</g>`;
    });
  return [laneOf({ lane, top }, axis), ...boxes].filter((part) => part !== '').join('\n');
}

function hoverText(range: SweepRange): string {
  return `${rangeText(range)}\n${plural(range.cuts, 'cut')}: ${range.because}`;
}

function boxOf({ verdict, cuts }: SweepRange, { left, right }: { left: number; right: number }, row: Row): string {
  const sides = { left, right: Math.max(right, left + LEAST_WIDTH) };
  const label = { kind: 'lines', variants: [[`${grouped(cuts)} ${verdict}`], [verdict]] } as const;
  return rect(sides, row) + written(label, sides, row);
}

/** Offsets that were cut, and a thin line from the first to the last, since nobody knows what is between them. */
function sparse(places: readonly number[], row: Row): string {
  const [left = 0, right = left] = [places[0], places.at(-1)];
  const thin = { top: row.top + (row.height - BETWEEN_HEIGHT) / 2, height: BETWEEN_HEIGHT };
  const line = right > left ? rect({ left, right }, thin) : '';
  return line + places.map((x) => rect({ left: x + 1, right: x + 1 + LEAST_WIDTH }, row)).join('');
}

function terminalLine({ answer }: Sweep, axis: ByteAxis, top: number, axisTop: number): string {
  const { end } = answer.terminal;
  const words = `the terminal is whole from byte ${end}`;
  const x = axis.at(end);
  const width = widthOf(words, LABEL_PX) + 14;
  const flagLeft = Math.max(axis.left, Math.min(x - 1, axis.right - width));
  const flagTop = top - FLAG_HEIGHT - 4;
  return [
    `<g class="cut">${hover(words)}`,
    `<rect x="${px(x - 1)}" y="${px(flagTop)}" width="2" height="${px(axisTop + 8 - flagTop)}"/>`,
    `<g class="flag"><rect x="${px(flagLeft)}" y="${px(flagTop)}" width="${px(width)}" height="${FLAG_HEIGHT}" rx="2"/>`,
    `${text(flagLeft + 7, flagTop + 13, words)}</g>`,
    '</g>',
  ].join('\n');
}

const NOTES = [
  'A color begins where the cut was: that byte is the first one that did not come.',
  'The byte axis is stretched so that short stretches can be seen; offsets are exact.',
];

function legendOf({ teardowns }: Sweep, top: number, { left }: ByteAxis): { svg: string; bottom: number } {
  const present = new Set(teardowns.flatMap(({ ranges }) => ranges.map(({ verdict }) => verdict)));
  let x = left;
  const items = BY_INTEREST.filter((verdict) => present.has(verdict)).map((verdict) => {
    const words = MEANINGS[verdict];
    const swatch = `<rect x="${px(x)}" y="${px(top)}" width="${LEGEND.swatch}" height="${LEGEND.swatch}" rx="2"/>`;
    const item = `<g class="${STYLES[verdict]}">${swatch}${text(x + LEGEND.swatch + 5, top + 9.5, words, 'dim')}</g>`;
    x += LEGEND.swatch + 5 + widthOf(words, LABEL_PX) + LEGEND.gap;
    return item;
  });
  const notes = NOTES.map((note, n) => text(left, top + 9.5 + (n + 1) * LEGEND.line, note, 'dim s'));
  return { svg: [...items, ...notes].join('\n'), bottom: top + (NOTES.length + 1) * LEGEND.line };
}
