/** A number that was measured several times. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** `share` from 0 to 1; of an even number of values the median is the upper one. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: percentile(values, 0.5), min: Math.min(...values), max: Math.max(...values) };
}

export function numeral(value: number, digits = 0): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** `12.3 (11.9..14.0)`. */
export function shown({ median, min, max }: Spread, digits = 0): string {
  return `${numeral(median, digits)} (${numeral(min, digits)}..${numeral(max, digits)})`;
}

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes?: readonly string[];
}

/** What a bench hands back: for people, and for programs. */
export interface Report {
  readonly tables: readonly Table[];
  readonly data: unknown;
}

export interface BenchOptions {
  /** Short rounds: a smoke test, no measurement. */
  readonly quick: boolean;
}

const WIDTH = 100;

/** The first column stands left, numbers right. */
export function tableText({ title, columns, rows, notes = [] }: Table): string {
  const widths = columns.map((column, n) => Math.max(column.length, ...rows.map((row) => row[n]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, n) => (n === 0 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0)))
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '─'.repeat(width)).join('  ');
  return [
    ...wrapped(title),
    '',
    line(columns),
    rule,
    ...rows.map(line),
    ...notes.flatMap((note) => ['', ...wrapped(note)]),
  ].join('\n');
}

function wrapped(text: string): string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const last = lines.length - 1;
    const longer = lines[last] ? `${lines[last]} ${word}` : word;
    if (longer.length > WIDTH) lines.push(word);
    else lines[last] = longer;
  }
  return lines;
}

/** On stderr, since it is no result. */
export function progress(text: string): void {
  process.stderr.write(`  ${text}\n`);
}
