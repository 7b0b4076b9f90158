import type { ContentKind } from '../sse/dialect.js';
import type { Mark } from '../sse/mark.js';
import { httpLane } from './explain-svg-http.js';
import { count, type Lane, type Layers, marksOf, shapeOver } from './explain-svg-lane.js';
import { clipped, visible } from './explain-svg-text.js';
import { type WirePlan, writtenUpTo } from './wire-plan.js';

/** The layers of an answer, from what the model says down to what TCP carries. Pure. */

export function lanesOf(layers: Layers): Lane[] {
  return [contentLane(layers), eventLane(layers), httpLane(layers), ...tcpLanes(layers)];
}

const CONTENT_NAMES: Readonly<Record<ContentKind, string>> = {
  text: 'text',
  reasoning: 'reasoning',
  refusal: 'refusal',
  tool_args: 'tool args',
};
const CONTENT_KINDS = Object.keys(CONTENT_NAMES) as readonly ContentKind[];

function contentLane(layers: Layers): Lane {
  const marks = marksOf(layers.plan, CONTENT_KINDS);
  const kinds = CONTENT_KINDS.filter((kind) => marks.some((mark) => mark.kind === kind));
  return {
    name: 'content',
    note: kinds.map((kind) => CONTENT_NAMES[kind]).join(', ') || 'none marked',
    height: 22,
    shapes: marks.map((mark) =>
      shapeOver(layers, mark, {
        what: `${mark.kind} ${mark.index}`,
        group: mark.kind,
        style: `c-${mark.kind}`,
        label: { kind: 'name', variants: [visible(clipped(wordsOf(layers.plan, mark), MOST_COLUMNS))] },
      }),
    ),
  };
}

/** No box has room for more. */
const MOST_COLUMNS = 200;

/** What the model says there: the words of a JSON string, or JSON itself. */
function wordsOf({ bytes }: WirePlan, { start, end, raw }: Mark): string {
  const text = bytes.toString('utf8', start, end);
  if (raw) return text;
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}

/** A name that is too long loses its first words: what tells `response.output_text.delta` from others stands at its end. */
function namesOf(index: number, name: string): string[] {
  const words = name.split(/(?<=[._])/);
  return [`${index} ${name}`, ...words.slice(1).map((_, n) => `${index} …${words.slice(n + 1).join('')}`)];
}

function eventLane(layers: Layers): Lane {
  const parts = marksOf(layers.plan, ['part']);
  const marks = parts.length > 0 ? parts : marksOf(layers.plan, ['event']);
  const shapes = marks.map((mark) => {
    const name = mark.name ?? mark.role ?? '';
    return shapeOver(layers, mark, {
      what: `${mark.kind} ${mark.index} ${name}${mark.name && mark.role ? ` (${mark.role})` : ''}`,
      group: name,
      style: `r-${mark.role ?? 'none'}`,
      label: { kind: 'name', variants: namesOf(mark.index, visible(clipped(name, MOST_COLUMNS))) },
    });
  });
  return parts.length > 0
    ? { name: 'JSON', note: count(parts.length, 'part'), height: 64, shapes }
    : {
        name: 'SSE',
        note: marks.length > 0 ? count(marks.length, 'event') : 'no events',
        height: marks.length > 0 ? 64 : 22,
        shapes,
      };
}

/** The writes, and below them what is written again. */
function tcpLanes(layers: Layers): Lane[] {
  const { plan } = layers;
  const writes = plan.steps.filter((step) => step.op === 'write');
  const pulses = plan.steps.filter((step) => step.op === 'pulse');
  const shapes = writes.map((step, n) =>
    shapeOver(layers, step, {
      what: `write ${n + 1}`,
      group: 'write',
      style: 'write',
      label: {
        kind: 'lines',
        variants: [[`write ${n + 1}: ${count(step.end - step.start, 'byte')}`], [`write ${n + 1}`], [String(n + 1)]],
      },
    }),
  );
  const sent = writtenUpTo(plan);
  const unsent = plan.bytes.length - sent;
  if (unsent > 0) {
    shapes.push(
      shapeOver(
        layers,
        { start: sent, end: plan.bytes.length },
        {
          what: 'not sent',
          group: 'not sent',
          style: 'unsent',
          label: { kind: 'lines', variants: [[`${count(unsent, 'byte')} not sent`], ['not sent']] },
        },
      ),
    );
  }
  const note = writes.length > 0 ? count(writes.length, 'write') : 'nothing sent';
  const lane = { name: 'TCP', note, height: 28, shapes };
  if (pulses.length === 0) return [lane];
  const again = pulses.map((step) =>
    shapeOver(layers, step, {
      what: 'written again and again',
      group: 'pulse',
      style: 'pulse',
      label: { kind: 'lines', variants: [['again and again'], ['again']] },
    }),
  );
  return [lane, { name: '', note: 'pulse', height: 18, shapes: again }];
}
