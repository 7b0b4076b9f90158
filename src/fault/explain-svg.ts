import { ROLES, type Role } from '../sse/dialect.js';
import { planSha256 } from './explain.js';
import { type ByteAxis, byteAxis } from './explain-svg-axis.js';
import { count, type Lane } from './explain-svg-lane.js';
import { lanesOf } from './explain-svg-lanes.js';
import { drawn, px } from './explain-svg-shapes.js';
import { STYLE } from './explain-svg-style.js';
import { clipped, columnsIn, LABEL_PX, widthOf, xml } from './explain-svg-text.js';
import { type TimeLine, timeLine } from './explain-svg-time.js';
import { type WirePlan, writtenUpTo } from './wire-plan.js';

/**
 * What a plan would send, as a picture: the layers of the answer over one byte axis, the cut through all of them, and
 * the time line below. One SVG file without scripts, fonts or links. Pure.
 */

export interface Pictured {
  /** The word that is explained, with what it is explained for. */
  readonly title: string;
  readonly plan: WirePlan;
}

export const PAGE = { padding: 24, right: 36, gutter: 84, least: 860, most: 1500 };
const HEAD_HEIGHT = 92;
export const FLAG_HEIGHT = 18;
export const LANE_GAP = 7;
export const AXIS_HEIGHT = 34;
const TIME_HEIGHT = 46;

export interface Placed {
  readonly lane: Lane;
  readonly top: number;
}

export function explainSvg({ title, plan }: Pictured): string {
  const left = PAGE.padding + PAGE.gutter;
  const axis = byteAxis(plan, left, { min: PAGE.least, max: PAGE.most });
  const width = axis.right + PAGE.right;
  const lanesTop = HEAD_HEIGHT + (plan.cut ? FLAG_HEIGHT + 6 : 0);
  const lanes: Placed[] = [];
  let top = lanesTop;
  for (const lane of lanesOf({ plan, axis })) {
    lanes.push({ lane, top });
    top += lane.height + LANE_GAP;
  }
  const axisTop = top;
  const timeTop = axisTop + AXIS_HEIGHT + 20;
  const legendTop = timeTop + TIME_HEIGHT + 46;
  const legend = legendOf(plan, legendTop, left, axis.right);
  const height = legend.bottom + PAGE.padding;
  const times = timeLine(plan, left, axis.right - left);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" class="wirefault" viewBox="0 0 ${px(width)} ${px(height)}" width="${px(width)}" height="${px(height)}" role="img" xml:space="preserve">`,
    `<title>${xml(title)}</title>`,
    STYLE,
    `<rect class="page" width="${px(width)}" height="${px(height)}"/>`,
    headOf(title, plan, width),
    ...lanes.map((placed) => laneOf(placed, axis)),
    veilOf(plan, axis, lanes),
    byteTicks(plan, axis, axisTop),
    cutOf(plan, axis, lanesTop, axisTop),
    timeOf(times, left, axis.right, timeTop),
    legend.svg,
    '</svg>',
    '',
  ];
  return parts.filter((part, n) => part !== '' || n === parts.length - 1).join('\n');
}

export function text(x: number, y: number, words: string, style = ''): string {
  return `<text x="${px(x)}" y="${px(y)}"${style ? ` class="${style}"` : ''}>${xml(words)}</text>`;
}

function headOf(title: string, plan: WirePlan, width: number): string {
  const room = width - PAGE.padding - PAGE.right;
  const events = plan.marks.filter(({ kind }) => kind === 'event').length;
  const sent = writtenUpTo(plan);
  const total = plan.bytes.length;
  const facts = [
    count(total, 'byte'),
    ...(events > 0 ? [count(events, 'event')] : []),
    sent === total ? 'all sent' : `${sent.toLocaleString('en-US')} sent, ${(total - sent).toLocaleString('en-US')} not`,
    ...(plan.unapplied.length > 0 ? [`no place for ${plan.unapplied.join(', ')}`] : []),
    `SHA-256 ${planSha256(plan)}`,
  ];
  return [
    text(PAGE.padding, 42, clipped(title, columnsIn(room, 18)), 'title'),
    text(PAGE.padding, 66, facts.join(' · '), 'dim'),
  ].join('\n');
}

export function laneOf({ lane, top }: Placed, { left, right }: ByteAxis): string {
  const middle = top + lane.height / 2;
  const name = lane.name === '' ? middle + 4 : middle - 1;
  const clippedNote = clipped(lane.note, columnsIn(PAGE.gutter - 6, 10));
  return [
    `<rect class="lane" x="${px(left)}" y="${px(top)}" width="${px(right - left)}" height="${px(lane.height)}"/>`,
    ...(lane.name === '' ? [] : [text(PAGE.padding, name, lane.name, 'name')]),
    text(PAGE.padding, lane.name === '' ? name : middle + 10, clippedNote, 'dim s'),
    drawn(lane.shapes, { top, height: lane.height }),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

/** What isn't sent is grayed out; TCP doesn't have it at all. */
function veilOf(plan: WirePlan, axis: ByteAxis, lanes: readonly Placed[]): string {
  const sent = writtenUpTo(plan);
  const [first, tcp] = [lanes[0], lanes.find(({ lane }) => lane.name === 'TCP')];
  if (sent >= plan.bytes.length || !first || !tcp) return '';
  const x = axis.at(sent);
  return `<rect class="veil" x="${px(x)}" y="${px(first.top)}" width="${px(axis.right - x)}" height="${px(tcp.top - LANE_GAP - first.top)}"/>`;
}

/** Pixels between the labels of an axis. */
const TICK_GAP = 9;
/** Pixels between ticks without labels. */
const LEAST_TICK_PX = 3;

export function byteTicks(plan: WirePlan, axis: ByteAxis, top: number): string {
  const { left, right, borders } = axis;
  const events = plan.marks.filter(({ kind }) => kind === 'event' || kind === 'part' || kind === 'chunk');
  const cut = plan.cut ? [plan.cut.offset] : [];
  // The ends, then where events begin, then what there's room for.
  const wanted = new Set([...cut, 0, plan.bytes.length, ...events.map(({ start }) => start), ...borders]);
  const taken: { left: number; right: number; offset: number }[] = [];
  for (const offset of wanted) {
    const half = widthOf(String(offset), LABEL_PX) / 2 + TICK_GAP / 2;
    const x = axis.at(offset);
    const place = { left: x - half, right: x + half, offset };
    if (taken.every((other) => place.right <= other.left || place.left >= other.right)) taken.push(place);
  }
  let last = Number.NEGATIVE_INFINITY;
  const small = borders.map((offset) => {
    const x = axis.at(offset);
    if (x - last < LEAST_TICK_PX) return '';
    last = x;
    return `M${px(x)},${px(top)}v4`;
  });
  const large = taken.map(({ offset }) => `M${px(axis.at(offset))},${px(top)}v7`);
  const path = `M${px(left)},${px(top)}H${px(right)}${small.join('')}${large.join('')}`;
  const labels = taken.filter(({ offset }) => offset !== plan.cut?.offset);
  return [
    text(PAGE.padding, top + 18, 'byte', 'dim s'),
    `<path class="tick" fill="none" d="${path}"/>`,
    ...labels.map(({ offset }) => text(axis.at(offset), top + 19, String(offset), 'dim m')),
  ].join('\n');
}

function cutOf({ cut, steps }: WirePlan, axis: ByteAxis, top: number, axisTop: number): string {
  if (!cut) return '';
  const end = steps.findLast((step) => step.op === 'teardown');
  const words = `${end ? `${end.kind} at ` : ''}${cut.position}, byte ${cut.offset}`;
  const x = axis.at(cut.offset);
  const width = widthOf(words, LABEL_PX) + 14;
  const flagLeft = Math.max(axis.left, Math.min(x - 1, axis.right - width));
  const flagTop = top - FLAG_HEIGHT - 4;
  return [
    `<g class="cut"><title>${xml(`the cut: ${words}`)}</title>`,
    `<rect x="${px(x - 1)}" y="${px(flagTop)}" width="2" height="${px(axisTop + 8 - flagTop)}"/>`,
    `<g class="flag"><rect x="${px(flagLeft)}" y="${px(flagTop)}" width="${px(width)}" height="${FLAG_HEIGHT}" rx="2"/>`,
    `${text(flagLeft + 7, flagTop + 13, words)}</g>`,
    text(x, axisTop + 19, String(cut.offset), 'm'),
    '</g>',
  ].join('\n');
}

function timeOf({ shapes, ticks }: TimeLine, left: number, right: number, top: number): string {
  const bottom = top + TIME_HEIGHT + 5;
  let free = Number.NEGATIVE_INFINITY;
  const labeled = ticks.filter(({ x, text: words }) => {
    if (x < free) return false;
    free = x + widthOf(words, LABEL_PX) + TICK_GAP;
    return true;
  });
  return [
    `<rect class="lane" x="${px(left)}" y="${px(top)}" width="${px(right - left)}" height="${px(TIME_HEIGHT)}"/>`,
    text(PAGE.padding, top + TIME_HEIGHT / 2 - 1, 'time', 'name'),
    text(PAGE.padding, top + TIME_HEIGHT / 2 + 11, count(shapes.length, 'step'), 'dim s'),
    drawn(shapes, { top, height: TIME_HEIGHT }),
    `<path class="tick" fill="none" d="M${px(left)},${px(bottom)}H${px(right)}${labeled.map(({ x }) => `M${px(x)},${px(bottom)}v6`).join('')}"/>`,
    ...labeled.map(({ x, text: words }) => text(x, bottom + 18, words, 'dim')),
  ].join('\n');
}

const ROLE_MEANINGS: Readonly<Record<Role, string>> = {
  open: 'opens the stream',
  start: 'starts an item',
  delta: 'delta',
  done: 'ends an item',
  finish: 'finish',
  usage: 'usage',
  terminal: 'terminal',
  keepalive: 'keep-alive',
  error: 'error',
  malformed: 'malformed',
  extra: 'extra',
};

export const LEGEND = { line: 20, swatch: 11, gap: 18 };

/** The roles that occur, and what the axis is; in as many lines as they need. */
function legendOf(plan: WirePlan, top: number, left: number, right: number): { svg: string; bottom: number } {
  const present = new Set(plan.marks.flatMap(({ role }) => (role ? [role] : [])));
  let [x, y] = [left, top];
  const place = (width: number): void => {
    if (x === left || x + width <= right) return;
    x = left;
    y += LEGEND.line;
  };
  const items = ROLES.filter((role) => present.has(role)).map((role) => {
    const words = ROLE_MEANINGS[role];
    const width = LEGEND.swatch + 5 + widthOf(words, LABEL_PX);
    place(width);
    const swatch = `<rect x="${px(x)}" y="${px(y)}" width="${LEGEND.swatch}" height="${LEGEND.swatch}" rx="2"/>`;
    const item = `<g class="r-${role}">${swatch}${text(x + LEGEND.swatch + 5, y + 9.5, words, 'dim')}</g>`;
    x += width + LEGEND.gap;
    return item;
  });
  place(widthOf(AXIS_NOTE, 10));
  return { svg: [...items, text(right, y + 9.5, AXIS_NOTE, 'dim s e')].join('\n'), bottom: y + LEGEND.line };
}

const AXIS_NOTE = 'The byte axis is stretched so that short stretches can be seen; offsets are exact.';
