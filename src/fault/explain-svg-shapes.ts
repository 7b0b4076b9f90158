import { cellsOf, clipped, columnsIn, LABEL_PX, wrapped, xml } from './explain-svg-text.js';

/** What stands in a lane: boxes with labels and hover titles; those too narrow to be seen are joined. Pure. */

/** A box over a stretch of an axis. */
export interface Shape {
  readonly left: number;
  readonly right: number;
  /** What it is one of, for those that are joined: `content`, `write`. */
  readonly group: string;
  /** What is joined to one box where it's narrow; by itself, what is of one group. */
  readonly family?: string;
  /** Its class in the style sheet. */
  readonly style: string;
  /** The hover title; its first line says what this is. */
  readonly title: () => string;
  /** What is written on it. */
  readonly label?: Label;
  /** SVG in place of the plain box. */
  readonly drawn?: (shape: Shape, row: Row) => string;
}

export type Label =
  /** The first variant that fits once it's broken into lines; where none does, as much of the last as there's room for. */
  | { readonly kind: 'name'; readonly variants: readonly string[] }
  /** The first variant of which all lines fit, or nothing. */
  | { readonly kind: 'lines'; readonly variants: readonly (readonly string[])[] };

/** The vertical place of a lane. */
export interface Row {
  readonly top: number;
  readonly height: number;
}

/** Pixels: what is narrower can't be told from its neighbors. */
const NARROW = 2.5;
const LINE_PX = 12;
const PADDING = 4;
/** Names need less, since their lines are seldom full. */
const NAME_PADDING = 2;

/** Rounded, so that the picture is small. */
export function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** Narrow boxes of one group become one box; what is narrow even then is joined with its neighbors of other groups. */
function joined(shapes: readonly Shape[]): Shape[] {
  const single = shapes.map((shape) => [shape]);
  const runs = gathered(
    single,
    (run, next) => narrow(run.slice(-1)) && narrow(next) && familyOf(run) === familyOf(next),
  );
  return gathered(runs, (band, next) => narrow(band) && narrow(next)).flatMap(bandOf);
}

type Run = readonly Shape[];

function gathered(runs: readonly Run[], joins: (run: Run, next: Run) => boolean): Shape[][] {
  const all: Shape[][] = [];
  for (const next of runs) {
    const last = all.at(-1);
    if (last && (next[0]?.left ?? 0) - rightOf(last) < NARROW && joins(last, next)) {
      for (const shape of next) last.push(shape);
    } else {
      all.push([...next]);
    }
  }
  return all;
}

function familyOf([first]: Run): string | undefined {
  return first?.family ?? first?.group;
}

function rightOf(run: Run): number {
  return run.at(-1)?.right ?? 0;
}

function narrow(run: Run): boolean {
  return rightOf(run) - (run[0]?.left ?? 0) < NARROW;
}

function bandOf(run: readonly Shape[]): Shape[] {
  const [first, last] = [run[0], run.at(-1)];
  if (!first || !last || run.length === 1) return [...run];
  const counts = new Map<string, number>();
  for (const { group } of run) counts.set(group, (counts.get(group) ?? 0) + 1);
  const all = [...counts].map(([group, count]) => `${count.toLocaleString('en-US')} × ${group}`);
  const firstLine = (shape: Shape): string => shape.title().split('\n', 1)[0] ?? '';
  return [
    {
      left: first.left,
      right: last.right,
      group: first.group,
      style: `${run.every((shape) => familyOf([shape]) === familyOf(run)) ? first.style : 'mixed'} band`,
      title: () => `${all.join(', ')}\nfirst: ${firstLine(first)}\nlast: ${firstLine(last)}`,
      label: { kind: 'name', variants: [all.join(', '), all[0] ?? ''] },
      drawn: stacked,
    },
  ];
}

/** A lane's boxes as SVG. */
export function drawn(shapes: readonly Shape[], row: Row): string {
  return joined(shapes)
    .map((shape) => {
      const body =
        shape.drawn?.(shape, row) ?? rect(shape, row) + (shape.label ? written(shape.label, shape, row) : '');
      return `<g class="${shape.style}">${hover(shape.title())}${body}</g>`;
    })
    .join('\n');
}

/** What is shown where the mouse is; its line breaks stay, all other control characters are shown. */
export function hover(title: string): string {
  return `<title>${title.split('\n').map(xml).join('\n')}</title>`;
}

type Sides = Pick<Shape, 'left' | 'right'>;

export function rect({ left, right }: Sides, { top, height }: Row): string {
  // A pixel between neighbors, where there is one to spare.
  const width = right - left > 4 ? right - left - 1 : Math.max(right - left, 0.8);
  return `<rect x="${px(left)}" y="${px(top)}" width="${px(width)}" height="${px(height)}"${width > 8 ? ' rx="2"' : ''}/>`;
}

/** Several boxes as one: with edges one behind the other. */
function stacked(shape: Shape, row: Row): string {
  const { left, right } = shape;
  const edges = right - left > STACKED_PX ? [left + 3, left + 6, right - 7, right - 4] : [];
  const path = edges.map((x) => `M${px(x)},${px(row.top)}v${px(row.height)}`).join('');
  const inside = { left: left + 6, right: right - 6 };
  return (
    rect(shape, row) + (path ? `<path d="${path}"/>` : '') + (shape.label ? written(shape.label, inside, row) : '')
  );
}

const STACKED_PX = 40;

/** The label in the middle of the box. */
export function written(label: Label, sides: Sides, row: Row): string {
  const padding = label.kind === 'name' ? NAME_PADDING : PADDING;
  const columns = columnsIn(sides.right - sides.left - 1 - 2 * padding, LABEL_PX);
  const rows = Math.floor(row.height / LINE_PX);
  const fits = (lines: readonly string[]): boolean =>
    lines.length <= rows && lines.every((line) => cellsOf(line) <= columns);
  if (label.kind === 'lines') return textLines(label.variants.find(fits) ?? [], sides, row);
  const broken = label.variants.map((text) => (rows > 1 ? wrapped(text, columns) : [text]));
  const whole = broken.find(fits);
  if (whole) return textLines(whole, sides, row);
  const last = broken.at(-1) ?? [];
  if (columns < LEAST_COLUMNS) return turned(label.variants.at(-1) ?? '', sides, row);
  return textLines(
    last.slice(0, rows).map((line) => clipped(line, columns)),
    sides,
    row,
  );
}

/** Fewer letters say nothing. */
const LEAST_COLUMNS = 5;

function textLines(lines: readonly string[], { left, right }: Sides, { top, height }: Row): string {
  const middle = px((left + right - 1) / 2);
  const first = top + height / 2 - ((lines.length - 1) * LINE_PX) / 2 + LABEL_PX * 0.35;
  return lines
    .map((line, n) => `<text x="${middle}" y="${px(first + n * LINE_PX)}" class="m">${xml(line)}</text>`)
    .join('');
}

/** One line from below to above. */
function turned(text: string, { left, right }: Sides, { top, height }: Row): string {
  const columns = columnsIn(height - 2 * PADDING, LABEL_PX);
  if (right - left < LINE_PX || columns < LEAST_COLUMNS) return '';
  const at = `${px((left + right - 1) / 2 + LABEL_PX * 0.35)} ${px(top + height / 2)}`;
  return `<text transform="translate(${at}) rotate(-90)" class="m">${xml(clipped(text, columns))}</text>`;
}
