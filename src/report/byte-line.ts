import { drawn, px, type Shape } from '../fault/explain-svg-shapes.js';
import { LABEL_PX, widthOf, xml } from '../fault/explain-svg-text.js';
import type { Ledger } from '../proof/ledger.js';
import { grouped, plural } from '../proof/paint.js';
import type { ReportedExchange } from './exchange.js';
import { type Html, raw } from './html.js';

/**
 * An exchange over one byte axis: its events as they lie on the wire, below them how much was planned, written and
 * delivered, and the cut through all of it. In the colors of `explain --svg`, whose rules the page has. Pure.
 */
const WIDTH = 900;
const LEFT = 70;
const RIGHT = WIDTH - 20;
const EVENTS = { top: 20, height: 22 };
const BAR = { height: 9, gap: 4 };
const BARS_TOP = EVENTS.top + EVENTS.height + 8;

/** What the client has for certain: the best level that is known. */
function deliveredBytes({ bytes }: Ledger): number {
  return bytes.read ?? bytes.acked ?? bytes.flushed;
}

/** How it is known. */
export function deliveredLevel({ bytes }: Ledger): 'read' | 'acked' | 'flushed' {
  return bytes.read !== null ? 'read' : bytes.acked !== null ? 'acked' : 'flushed';
}

/** In words; it says so where it can be more. */
export function deliveredText(ledger: Ledger): string {
  const delivered = deliveredBytes(ledger);
  return `${ledger.stale && delivered < ledger.bytes.flushed ? '≥' : ''}${grouped(delivered)}`;
}

export function byteLine({ ledger, events, headEnd }: ReportedExchange): Html {
  const { plan, bytes, cut } = ledger;
  const level = deliveredLevel(ledger);
  // Keep-alives that are repeated for ever can be more than the whole plan.
  const most = Math.max(1, plan.bytes, bytes.written);
  const at = (offset: number): number => LEFT + (Math.min(offset, most) / most) * (RIGHT - LEFT);
  const shapes: Shape[] = [
    ...(headEnd === undefined ? [] : [shape('head', 'head', 0, headEnd, at)]),
    ...events.map(({ name, role, start, end }) => shape(name, `r-${role}`, start, end, at)),
  ];
  const bars = [
    ['planned', plan.bytes, 'unsent'],
    ['written', bytes.written, 'data'],
    [level, deliveredBytes(ledger), 'write'],
  ] as const;
  const axisTop = BARS_TOP + bars.length * (BAR.height + BAR.gap) + 3;
  const height = axisTop + 22;
  return raw(
    [
      `<svg class="wirefault" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${xml(inWords(ledger))}">`,
      `<rect class="lane" x="${LEFT}" y="${EVENTS.top}" width="${RIGHT - LEFT}" height="${EVENTS.height}"/>`,
      `<text class="dim s" x="0" y="${EVENTS.top + 15}">events</text>`,
      drawn(shapes, EVENTS),
      ...bars.map(([label, count, style], n) => barOf(label, count, { style, top: BARS_TOP + n * 13, at })),
      axisOf(ledger, axisTop, at),
      cut ? cutOf(cut, axisTop, at) : '',
      '</svg>',
    ].join(''),
  );
}

type At = (offset: number) => number;

function shape(name: string, style: string, start: number, end: number, at: At): Shape {
  return {
    left: at(start),
    right: at(end),
    group: name,
    family: style,
    style,
    title: () => `${name}: bytes ${grouped(start)} to ${grouped(end)}`,
    label: { kind: 'lines', variants: [[name]] },
  };
}

function barOf(label: string, count: number, { style, top, at }: { style: string; top: number; at: At }): string {
  const text = `<text class="dim s" x="0" y="${top + 8}">${label}</text>`;
  if (count === 0) return text;
  const width = Math.max(0.8, at(count) - LEFT);
  return `${text}<g class="${style}"><rect x="${LEFT}" y="${top}" width="${px(width)}" height="${BAR.height}" rx="1"/></g>`;
}

/** Its ends, and how far it came where there is room for it. */
function axisOf(ledger: Ledger, top: number, at: At): string {
  const taken: { from: number; to: number }[] = [];
  const offsets = [0, ledger.plan.bytes, deliveredBytes(ledger), ledger.bytes.written];
  const marks = [...new Set(offsets)].flatMap((offset) => {
    const text = grouped(offset);
    const width = widthOf(text, LABEL_PX);
    const x = at(offset);
    const from = Math.min(Math.max(LEFT, x - width / 2), RIGHT - width);
    if (taken.some((other) => from < other.to + 8 && from + width > other.from - 8)) return [];
    taken.push({ from, to: from + width });
    return [
      `<path class="tick" d="M${px(x)},${top}v4"/><text class="dim" x="${px(from)}" y="${top + 16}">${text}</text>`,
    ];
  });
  return [
    `<text class="dim s" x="0" y="${top + 15}">byte</text>`,
    `<path class="tick" fill="none" d="M${LEFT},${top}H${RIGHT}"/>`,
    ...marks,
  ].join('');
}

function cutOf(cut: NonNullable<Ledger['cut']>, bottom: number, at: At): string {
  const x = at(cut.offset);
  const words = `cut at ${cut.position}, byte ${grouped(cut.offset)}`;
  const width = widthOf(words, LABEL_PX) + 12;
  const left = Math.min(Math.max(LEFT, x - 1), RIGHT - width);
  return [
    `<g class="cut"><title>${xml(`${words}: ${cut.inside}`)}</title>`,
    `<rect x="${px(x - 1)}" y="2" width="2" height="${bottom + 2}"/>`,
    `<g class="flag"><rect x="${px(left)}" y="0" width="${px(width)}" height="16" rx="2"/>`,
    `<text x="${px(left + 6)}" y="12">${xml(words)}</text></g></g>`,
  ].join('');
}

/** The picture for who can't see it. */
function inWords(ledger: Ledger): string {
  const { plan, bytes, cut } = ledger;
  const cutWords = cut ? `; cut at ${cut.position}, byte ${grouped(cut.offset)}, ${cut.inside}` : '';
  return `exchange ${ledger.exchange}: ${plural(plan.bytes, 'byte')} planned, ${grouped(bytes.written)} written, ${deliveredText(ledger)} ${deliveredLevel(ledger)}${cutWords}`;
}
