import { createHash } from 'node:crypto';
import type { Mark } from '../sse/mark.js';
import { type Step, type WirePlan, writtenUpTo } from './wire-plan.js';

/** What a plan would send, for people: every mark with its bytes, where the cut falls, and the time line. Pure. */

/** Colors a text, or leaves it as it is. */
type Paint = (style: 'bold' | 'gray' | 'cyan' | 'green' | 'red' | 'yellow', text: string) => string;

export interface Explained {
  /** The word that is explained, with what it is explained for. */
  readonly title: string;
  readonly plan: WirePlan;
  /** Columns of the terminal. */
  readonly columns: number;
  readonly paint: Paint;
}

export function planSha256(plan: WirePlan): string {
  return createHash('sha256').update(plan.bytes).digest('hex');
}

/** A stretch of the answer that gets a line of its own; together they are all of it. */
interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly label: string;
}

/** The innermost marks that tile the answer; what lies between them is framing. */
function stretchesOf({ bytes, marks }: WirePlan): Stretch[] {
  const tiles = marks
    .filter(({ kind }) => kind !== 'chunk' && kind !== 'chunk_data' && !CONTENT.has(kind))
    .toSorted((a, b) => a.start - b.start);
  const stretches: Stretch[] = [];
  let at = 0;
  for (const tile of tiles) {
    if (tile.start > at) stretches.push({ start: at, end: tile.start, label: 'framing' });
    if (tile.start < at) continue;
    stretches.push({ start: tile.start, end: tile.end, label: labelOf(tile) });
    at = tile.end;
  }
  if (at < bytes.length) stretches.push({ start: at, end: bytes.length, label: at === 0 ? 'answer' : 'framing' });
  return stretches;
}

const CONTENT: ReadonlySet<string> = new Set(['text', 'reasoning', 'refusal', 'tool_args']);

function labelOf(mark: Mark): string {
  switch (mark.kind) {
    case 'chunk_size':
      return `chunk:${mark.index}.size`;
    case 'event':
      return `event:${mark.index} ${mark.name ?? ''}`;
    case 'part':
      return `part:${mark.index} ${mark.role ?? ''}`;
    default:
      return mark.kind;
  }
}

/** Control characters and quotes as JSON writes them, without the quotes around. */
function shown(bytes: Buffer): string {
  return JSON.stringify(bytes.toString('utf8')).slice(1, -1).replaceAll('\\"', '"');
}

function clipped(text: string, columns: number): string {
  return text.length > columns ? `${text.slice(0, Math.max(1, columns - 1))}…` : text;
}

/** One line for each stretch, headers one below the other, and the cut where it falls. */
export function explainText({ title, plan, columns, paint }: Explained): string {
  const end = writtenUpTo(plan);
  const stretches = stretchesOf(plan);
  const offsetWidth = String(plan.bytes.length).length;
  const labelWidth = Math.min(36, Math.max(...stretches.map(({ label }) => label.length)));
  const room = columns - offsetWidth - labelWidth - 6;
  const line = (at: number, label: string, text: string, sent: boolean): string => {
    const row = `  ${String(at).padStart(offsetWidth)}  ${clipped(label, labelWidth).padEnd(labelWidth)}  ${clipped(text, room)}`;
    return sent ? row : paint('gray', row);
  };
  const cutLine = plan.cut
    ? paint(
        'red',
        `  ${'─'.repeat(offsetWidth)}✂ ${plan.cut.position} = byte ${plan.cut.offset}; what is below is not sent`,
      )
    : '';
  const lines: string[] = [];
  for (const { start, end: stop, label } of stretches) {
    if (label === 'headers') {
      lines.push(
        ...headerLines(plan, start, stop).map((header) => line(header.at, 'headers', header.text, header.at < end)),
      );
      if (end === stop && end < plan.bytes.length) lines.push(cutLine);
      continue;
    }
    const inside = end > start && end < stop;
    lines.push(line(start, label, shown(plan.bytes.subarray(start, inside ? end : stop)), start < end));
    if (inside || (end === stop && end < plan.bytes.length)) lines.push(cutLine);
    if (inside) lines.push(line(end, label, shown(plan.bytes.subarray(end, stop)), false));
  }
  if (end === 0) lines.unshift(cutLine);
  return [
    `${paint('bold', title)}: ${plan.bytes.length} bytes, SHA-256 ${planSha256(plan)}`,
    '',
    ...lines,
    '',
    paint('bold', 'time line'),
    ...timeLine(plan.steps).map((text) => `  ${text}`),
    '',
  ].join('\n');
}

function headerLines(plan: WirePlan, start: number, end: number): { at: number; text: string }[] {
  let at = start;
  return plan.bytes
    .toString('latin1', start, end)
    .split(/(?<=\r\n)/)
    .map((text) => {
      const header = { at, text: shown(Buffer.from(text, 'latin1')) };
      at += text.length;
      return header;
    });
}

/** The steps with the moment at which each comes, where nothing but pauses takes time. */
function timeLine(steps: readonly Step[]): string[] {
  let atMs = 0;
  return steps.map((step) => {
    const at = `${String(atMs).padStart(6)} ms  `;
    switch (step.op) {
      case 'write':
        return `${at}write bytes ${step.start} to ${step.end}`;
      case 'wait':
        atMs += step.ms;
        return `${at}wait ${step.ms} ms`;
      case 'pulse': {
        const times = step.times === Number.POSITIVE_INFINITY ? 'for ever' : `${step.times} times`;
        return `${at}write bytes ${step.start} to ${step.end} again every ${step.everyMs} ms, ${times}`;
      }
      case 'gate':
        return `${at}wait for the gate ${step.name}`;
      case 'settle':
        return `${at}settle until the client has ${step.until === 'read' ? 'read' : step.until} it all, ${step.timeoutMs} ms at most`;
      case 'teardown':
        return `${at}${step.kind}${step.unread ? ', with the rest of the request unread' : ''}`;
      default:
        return step satisfies never;
    }
  });
}

const HEX_COLUMNS = 16;

/** Sixteen bytes a line, with the marks that begin there; `│` stands where the cut is. */
export function explainHex({ plan, paint }: Explained): string {
  const end = writtenUpTo(plan);
  const begins = new Map<number, string[]>();
  for (const mark of plan.marks) begins.set(mark.start, [...(begins.get(mark.start) ?? []), labelOf(mark)]);
  const lines: string[] = [];
  for (let at = 0; at < plan.bytes.length; at += HEX_COLUMNS) {
    const row = plan.bytes.subarray(at, at + HEX_COLUMNS);
    const cells = Array.from(row, (byte, n) => `${at + n === end ? '│' : ' '}${byte.toString(16).padStart(2, '0')}`);
    const text = row.toString('latin1').replaceAll(/[^\x20-\x7e]/g, '.');
    const labels = Array.from(row, (_, n) => begins.get(at + n) ?? []).flat();
    const line = `${at.toString(16).padStart(6, '0')} ${cells.join('').padEnd(HEX_COLUMNS * 3)}  ${text.padEnd(HEX_COLUMNS)}`;
    lines.push(`${at < end ? line : paint('gray', line)}  ${paint('cyan', labels.join(', '))}`.trimEnd());
  }
  return `${lines.join('\n')}\n`;
}
