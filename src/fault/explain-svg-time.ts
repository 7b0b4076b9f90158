import { spread } from './explain-svg-axis.js';
import { count } from './explain-svg-lane.js';
import { px, type Row, rect, type Shape, written } from './explain-svg-shapes.js';
import { clipped, LABEL_PX, visible, visibleBytes, widthOf } from './explain-svg-text.js';
import type { Teardown } from './spec.js';
import type { IdlePlan, Step, WirePlan } from './wire-plan.js';

/** The steps as boxes on a time axis, each as wide as its words need. Pure. */

export interface TimeLine {
  readonly shapes: readonly Shape[];
  /** Moments, in milliseconds. */
  readonly ticks: readonly { readonly x: number; readonly text: string }[];
}

/** A step before it has a place. */
interface Slot {
  readonly style: string;
  readonly group: string;
  readonly title: string;
  readonly lines: readonly string[];
  /** Pixels beyond what the lines need. */
  readonly more?: number;
  /** How long it takes, at least and at most; nothing where it has no end. */
  readonly takesMs: readonly [least: number, most: number] | undefined;
  readonly drawn?: Shape['drawn'];
}

const ENDS: Readonly<Record<Teardown, { style: string; lines: readonly string[]; title: string; open?: true }>> = {
  rst: { style: 'end-hard', lines: ['RST'], title: 'the connection is reset' },
  rst_now: { style: 'end-hard', lines: ['RST', 'at once'], title: 'the connection is reset at once; loss allowed' },
  fin: { style: 'end-soft', lines: ['FIN'], title: 'the connection is closed; the HTTP framing does not end' },
  half_close: {
    style: 'end-soft',
    lines: ['half-close'],
    title: 'the sending side is shut; the other is still read',
    open: true,
  },
  eof: {
    style: 'end-soft',
    lines: ['eof', 'reusable'],
    title: 'the HTTP framing has ended correctly, the protocol has not; the connection stays usable',
    open: true,
  },
  stall: {
    style: 'end-stall',
    lines: ['stall', 'open, silent'],
    title: 'the connection stays open and silent until the client goes or the server stops',
    open: true,
  },
  keep_alive: {
    style: 'end-fine',
    lines: ['keep-alive'],
    title: 'the answer was complete; the next request is waited for',
    open: true,
  },
};

/** Names are the user's. */
const MOST_NAME_COLUMNS = 24;

/** A new kind of step gets its box here. */
function slotOf(step: Step, writes: number): Slot {
  switch (step.op) {
    case 'write':
      return {
        style: 'write',
        group: 'write',
        title: `write ${writes}: bytes ${step.start} to ${step.end} (${count(step.end - step.start, 'byte')})`,
        lines: [`write ${writes}`, `${step.start}–${step.end}`],
        takesMs: [0, 0],
      };
    case 'wait':
      return {
        style: 'wait',
        group: 'wait',
        title: `wait ${step.ms} ms`,
        lines: [`${step.ms} ms`],
        // Longer waits look longer; in proportion, nothing else would be seen.
        more: 10 * Math.min(12, Math.log10(1 + step.ms) ** 2),
        takesMs: [step.ms, step.ms],
      };
    case 'pulse': {
      const forEver = step.times === Number.POSITIVE_INFINITY;
      const times = forEver ? 'for ever' : count(step.times, 'time');
      return {
        style: 'pulse',
        group: 'pulse',
        title: `bytes ${step.start} to ${step.end} (${count(step.end - step.start, 'byte')}) again every ${step.everyMs} ms, ${times}`,
        lines: [`${step.start}–${step.end} again`, `every ${step.everyMs} ms, ${times}`],
        more: 30,
        takesMs: forEver ? undefined : [step.everyMs * step.times, step.everyMs * step.times],
        drawn: pulsing(Math.min(step.times, MOST_BEATS), forEver),
      };
    }
    case 'gate':
      return {
        style: 'gate',
        group: 'gate',
        title: `gate ${step.name}: until it is released`,
        lines: [`gate ${clipped(visible(step.name), MOST_NAME_COLUMNS)}`, 'until released'],
        more: 8,
        takesMs: [0, Number.POSITIVE_INFINITY],
      };
    case 'settle':
      return {
        style: 'settle',
        group: 'settle',
        title: `settle: until the client has ${step.until} it all, ${step.timeoutMs} ms at most`,
        lines: [`settle: ${step.until}`, `≤ ${step.timeoutMs} ms`],
        more: 8,
        takesMs: [0, step.timeoutMs],
      };
    case 'teardown': {
      const { open, ...end } = ENDS[step.kind];
      return {
        ...end,
        title: `${step.kind}: ${end.title}${step.unread ? '; a part of the request was not read' : ''}`,
        group: step.kind,
        more: open ? 26 : 10,
        takesMs: [0, 0],
        ...(open ? { drawn: arrow } : {}),
      };
    }
    default:
      return step satisfies never;
  }
}

/** What becomes of the connection behind the answer. */
function idleSlots({ stray, teardown, afterMs = 0, onRequest }: IdlePlan): Slot[] {
  const slots: Slot[] = [];
  if (stray) {
    const bytes = count(stray.bytes.length, 'byte');
    slots.push({
      style: 'pulse',
      group: 'stray bytes',
      title: `stray bytes ${stray.afterMs} ms after the answer: ${visibleBytes(stray.bytes, 100)}`,
      lines: [`stray: ${bytes}`, `after ${stray.afterMs} ms`],
      takesMs: [stray.afterMs, stray.afterMs],
    });
  }
  if (teardown) {
    const when = onRequest === undefined ? `after ${afterMs} ms` : `at request +${onRequest}`;
    slots.push({
      style: ENDS[teardown].style,
      group: teardown,
      title: `idle connection, ${when}: ${ENDS[teardown].title}`,
      lines: [`idle: ${teardown.toUpperCase()}`, when],
      takesMs: [afterMs, afterMs],
    });
  }
  return slots;
}

/** Beats of a pulse that are drawn. */
const MOST_BEATS = 12;
const BEAT = { width: 4, height: 9 };

/** A box with beats at its foot, which fade where they have no end. */
function pulsing(beats: number, forEver: boolean): NonNullable<Shape['drawn']> {
  return (shape, row) => {
    const step = (shape.right - shape.left - 12) / Math.max(1, beats);
    const bars = Array.from({ length: beats }, (_, n) => {
      const x = px(shape.left + 6 + n * step);
      const y = px(row.top + row.height - BEAT.height - 4);
      const faded = forEver ? ` opacity="${px(1 - n / (beats + 1))}"` : '';
      return `<rect x="${x}" y="${y}" width="${BEAT.width}" height="${BEAT.height}" class="beat"${faded}/>`;
    });
    return rect(shape, row) + labelOf(shape, { top: row.top, height: row.height - BEAT.height - 2 }) + bars.join('');
  };
}

/** A box that is open to the right: the connection goes on. */
function arrow(shape: Shape, row: Row): string {
  const { left, right } = shape;
  const { top, height } = row;
  const tip = Math.min(12, (right - left) / 2);
  const points = [
    [left, top],
    [right - tip, top],
    [right, top + height / 2],
    [right - tip, top + height],
    [left, top + height],
  ];
  const path = points.map((point) => point.map(px).join(',')).join(' ');
  return `<polygon points="${path}"/>${labelOf({ ...shape, right: right - tip / 2 }, row)}`;
}

function labelOf(shape: Shape, row: Row): string {
  return shape.label ? written(shape.label, shape, row) : '';
}

/** Steps at both ends of a long time line that keep their width: how it begins, and how it ends. */
const KEPT_AT_START = 4;
const KEPT_AT_END = 6;
/** Pixels around a step's words. */
const ROOM = 16;
const LEAST_ROOM = 18;

function widthOfLines(lines: readonly string[]): number {
  return Math.max(...lines.map((line) => widthOf(line, LABEL_PX)));
}

function momentText({ from, to }: { readonly from: number; readonly to: number }): string {
  if (from === to) return `${from} ms`;
  return to === Number.POSITIVE_INFINITY ? `from ${from} ms on` : `${from} to ${to} ms`;
}

export function timeLine({ steps, idle }: WirePlan, left: number, width: number): TimeLine {
  let writes = 0;
  const slots = [
    ...steps.map((step) => slotOf(step, step.op === 'write' ? ++writes : writes)),
    ...(idle ? idleSlots(idle) : []),
  ];
  const wishes = slots.map(({ lines, more = 0 }, n) => ({
    width: widthOfLines(lines) + ROOM + more,
    least: widthOfLines(lines) + LEAST_ROOM,
    kept: n < KEPT_AT_START || n >= slots.length - KEPT_AT_END,
  }));
  const widths = spread(wishes, { min: width, max: width, stretch: 1.2 });
  const ticks: { x: number; text: string }[] = [];
  let at = left;
  /** When a step comes at the earliest and at the latest; no more where it never comes. */
  let moment: { readonly from: number; readonly to: number } | undefined = { from: 0, to: 0 };
  const shapes = slots.map((slot, n): Shape => {
    const x = at;
    at += widths[n] ?? 0;
    const never = moment === undefined;
    const text = moment ? momentText(moment) : '';
    if (moment && ticks.at(-1)?.text !== text) ticks.push({ x, text });
    moment =
      moment && slot.takesMs ? { from: moment.from + slot.takesMs[0], to: moment.to + slot.takesMs[1] } : undefined;
    return {
      left: x,
      right: at,
      group: slot.group,
      // The pauses between writes belong to them, where both are too narrow to be seen.
      family: slot.group === 'wait' ? 'write' : slot.group,
      style: never ? `${slot.style} never` : slot.style,
      title: () => (never ? `${slot.title}; not reached as long as the pulses go on` : `${text}: ${slot.title}`),
      label: { kind: 'lines', variants: [slot.lines, slot.lines.slice(0, 1)] },
      ...(slot.drawn ? { drawn: slot.drawn } : {}),
    };
  });
  return { shapes, ticks };
}
