import type { Mark } from '../sse/mark.js';
import { count, type Lane, type Layers, marksOf, type Range, type RangeShape, shapeOver } from './explain-svg-lane.js';
import { hover, px, type Row, rect, type Shape, written } from './explain-svg-shapes.js';
import { clipped, visibleBytes } from './explain-svg-text.js';

/** The lane of HTTP: status line, headers, and the body as it is framed. Pure. */

/** What no mark speaks of. */
function unmarked(what: 'body' | 'stray bytes', words: string, bytes: number): RangeShape {
  const told = `${what}, ${count(bytes, 'byte')}`;
  const variants = [...[70, 50, 30].map((columns) => [told, clipped(words, columns)]), [told], [what]];
  return { what, group: what, style: what === 'body' ? 'data' : 'mixed', label: { kind: 'lines', variants } };
}

export function httpLane(layers: Layers): Lane {
  const { plan } = layers;
  const marks = marksOf(plan, ['informational', 'status_line', 'headers', 'chunk', 'last_chunk']);
  const insides = new Map(
    marksOf(plan, ['chunk_size', 'chunk_data']).map((mark) => [`${mark.kind} ${mark.index}`, mark]),
  );
  const chunked = marks.some(({ kind }) => kind === 'last_chunk' || kind === 'chunk');
  const shapes: Shape[] = [];
  let at = 0;
  let headEnded = marks.length === 0;
  const fill = (end: number): void => {
    const what = headEnded && !chunked ? 'body' : 'stray bytes';
    if (end > at)
      shapes.push(shapeOver(layers, { start: at, end }, unmarked(what, lineOf(layers, { start: at, end }), end - at)));
    at = Math.max(at, end);
  };
  for (const mark of marks) {
    fill(mark.start);
    at = mark.end;
    headEnded ||= mark.kind === 'headers';
    for (const shape of shapesOf(layers, mark, insides)) shapes.push(shape);
  }
  fill(plan.bytes.length);
  const chunks = marks.filter(({ kind }) => kind === 'chunk').length;
  return { name: 'HTTP', note: chunked ? count(chunks, 'chunk') : 'no chunks', height: 34, shapes };
}

function shapesOf(layers: Layers, mark: Mark, insides: ReadonlyMap<string, Mark>): Shape[] {
  switch (mark.kind) {
    case 'informational':
      return [
        shapeOver(layers, mark, {
          what: 'interim answer',
          group: 'interim answer',
          style: 'head',
          label: line(statusOf(lineOf(layers, mark))),
        }),
      ];
    case 'status_line': {
      const words = lineOf(layers, mark);
      // The status alone, where the version has no room beside it.
      const variants = [[words], words.split(/ (.*)/s).slice(0, 2)];
      const label = { kind: 'lines', variants } as const;
      return [shapeOver(layers, mark, { what: 'status line', group: 'status line', style: 'head', label })];
    }
    case 'headers':
      return [headersShape(layers, mark)];
    case 'last_chunk':
      return [shapeOver(layers, mark, { what: 'last chunk', group: 'last chunk', style: 'size', label: line('0') })];
    default:
      return chunkShapes(layers, mark, insides);
  }
}

function statusOf(words: string): string {
  return /^HTTP\/\S+ (\d+)/.exec(words)?.[1] ?? '1xx';
}

function line(text: string): Shape['label'] & object {
  return { kind: 'name', variants: [text] };
}

function lineOf({ plan }: Layers, { start, end }: Range): string {
  return visibleBytes(plan.bytes.subarray(start, end), 80).replace(/\\r\\n$/, '');
}

/** Pixels: narrower chunks are drawn as one box, without size line and CRLF. */
const WHOLE_CHUNK_PX = 8;

function chunkShapes(layers: Layers, mark: Mark, insides: ReadonlyMap<string, Mark>): Shape[] {
  const what = `chunk ${mark.index}`;
  const size = insides.get(`chunk_size ${mark.index}`);
  const data = insides.get(`chunk_data ${mark.index}`);
  const width = layers.axis.at(mark.end) - layers.axis.at(mark.start);
  if (!size || !data || width < WHOLE_CHUNK_PX) {
    return [shapeOver(layers, mark, { what, group: 'chunk', style: 'data' })];
  }
  const variants = [[what, count(data.end - data.start, 'byte')], [what], [String(mark.index)]];
  const crlf = { start: data.end, end: mark.end };
  return [
    shapeOver(layers, size, {
      what: `${what}, size line`,
      group: 'size line',
      style: 'size',
      label: line(lineOf(layers, size)),
    }),
    shapeOver(layers, data, {
      what: `${what}, data`,
      group: 'chunk',
      style: 'data',
      label: { kind: 'lines', variants },
    }),
    shapeOver(layers, crlf, { what: `${what}, CRLF`, group: 'CRLF', style: 'size' }),
  ];
}

/** Pixels of a header that can be hovered. */
const LEAST_HEADER_PX = 2;
/** Pixels of the headers' lines at the foot of their box. */
const HEADER_FOOT = 7;

/** Behind any line end: a head may have those that it shouldn't. */
const LINE_END = /(?<=\n|\r(?!\n))/;

/** The headers as one box, with each of them at its foot. */
function headersShape(layers: Layers, mark: Mark): Shape {
  const { plan, axis } = layers;
  const lines = plan.bytes.toString('latin1', mark.start, mark.end).split(LINE_END);
  const headers = lines.filter((text) => text.trim() !== '').length;
  const variants = [
    [`${count(headers, 'header')}, ${count(mark.end - mark.start, 'byte')}`],
    [count(headers, 'header')],
  ];
  const label = { kind: 'lines', variants } as const;

  function drawn(shape: Shape, { top, height }: Row): string {
    const box = rect(shape, { top, height }) + written(label, shape, { top, height: height - HEADER_FOOT });
    if (shape.right - shape.left < LEAST_HEADER_PX * lines.length) return box;
    let at = mark.start;
    const feet = lines.map((text) => {
      const sides = { left: axis.at(at), right: axis.at(at + text.length) };
      const title = `header: bytes ${at} to ${at + text.length}\n${visibleBytes(Buffer.from(text, 'latin1'), 300)}`;
      at += text.length;
      const x = px(sides.left);
      const width = px(Math.max(1, sides.right - sides.left - 1));
      const place = `x="${x}" y="${px(top + height - HEADER_FOOT)}" width="${width}" height="${HEADER_FOOT}"`;
      return `<g>${hover(title)}<rect ${place} class="foot"/></g>`;
    });
    return box + feet.join('');
  }

  return shapeOver(layers, mark, { what: count(headers, 'header'), group: 'headers', style: 'head', label, drawn });
}
