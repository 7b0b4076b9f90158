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

/** What was hoped for, and what came of it. */
export interface Bar {
  /** What is measured, and against what. */
  readonly what: string;
  readonly measured: Spread;
  /** What the median has to be. */
  readonly bar: { readonly atLeast: number } | { readonly atMost: number };
  /** Behind the numbers: `ms`, `%`, `×`. */
  readonly unit: string;
  readonly digits: number;
}

/** Contenders beside each other, as bars with their spread. */
export interface Chart {
  /** Of the file, without `.svg`. */
  readonly name: string;
  readonly title: string;
  /** What the bars are long by, with its unit. */
  readonly axis: string;
  readonly scale?: 'log';
  readonly rows: readonly { readonly name: string; readonly group?: string; readonly value: Spread }[];
}

/** What a bench hands back: for people, and for programs. */
export interface Report {
  readonly tables: readonly Table[];
  /** None where nothing was hoped for, and in quick rounds, which are no measurement. */
  readonly bars?: readonly Bar[];
  readonly charts?: readonly Chart[];
  readonly data: unknown;
}

export interface BenchOptions {
  /** Short rounds: a smoke test, no measurement. */
  readonly quick: boolean;
  /** Rounds of a full run, where a bench has another number of its own. */
  readonly rounds?: number | undefined;
}

/** Of each round the one over the other, then the median of those: what the machine does in a round hits both. */
export function ratioOf(of: readonly number[], to: readonly number[]): Spread {
  return spreadOf(of.map((value, round) => value / (to[round] ?? Number.NaN)));
}

export function scaled({ median, min, max }: Spread, by: number): Spread {
  return { median: median * by, min: min * by, max: max * by };
}

function isReached({ measured: { median }, bar }: Bar): boolean {
  return 'atLeast' in bar ? median >= bar.atLeast : median <= bar.atMost;
}

export function barsTable(bars: readonly Bar[]): Table {
  return {
    title: 'Bars: medians against what was hoped for',
    columns: ['', 'measured', 'bar', 'reached', 'measured ÷ bar'],
    rows: bars.map((one) => {
      const { what, measured, bar, unit, digits } = one;
      const [sign, limit] = 'atLeast' in bar ? ['≥', bar.atLeast] : ['≤', bar.atMost];
      return [
        what,
        `${shown(measured, digits)} ${unit}`,
        `${sign} ${numeral(limit, Number.isInteger(limit) ? 0 : digits)} ${unit}`,
        isReached(one) ? 'yes' : 'no',
        limit === 0 ? '' : numeral(measured.median / limit, 2),
      ];
    }),
  };
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
