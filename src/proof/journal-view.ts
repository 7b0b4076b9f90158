import type { Ledger } from './ledger.js';
import { counted, grouped, type Paint, timeline } from './timeline.js';

/** Ledgers for a person: a line for each, or the whole story of one. Pure. */

type Style = Parameters<Paint>[0];

const OUTCOME_STYLE: Readonly<Record<string, Style>> = {
  completed: 'green',
  reset: 'red',
  stalled: 'yellow',
  client_closed: 'magenta',
  server_closed: 'magenta',
  server_error: 'red',
};

const FIRST: Readonly<Record<NonNullable<Ledger['teardown']['first']>, string>> = {
  server: 'server',
  client_fin: 'client FIN',
  client_rst: 'client RST',
};

interface Column {
  readonly title: string;
  readonly right?: true;
  readonly text: (ledger: Ledger) => string;
  readonly style?: (ledger: Ledger) => Style | undefined;
}

const hasLost = ({ lost }: Ledger): boolean => lost !== null && lost > 0;

/** The line of an exchange, from left to right. */
const COLUMNS: readonly Column[] = [
  { title: '#', right: true, text: ({ exchange }) => String(exchange), style: () => 'gray' },
  // UTC, as in the journal.
  { title: 'time', text: ({ times }) => times.requestAt.slice(11, 23), style: () => 'gray' },
  { title: 'path', text: ({ request }) => printable(request.path) },
  { title: 'behavior', text: ({ selection }) => printable(selection.behavior), style: () => 'bold' },
  { title: 'outcome', text: ({ outcome }) => printable(outcome), style: ({ outcome }) => OUTCOME_STYLE[outcome] },
  { title: 'written', right: true, text: ({ bytes }) => String(bytes.written) },
  { title: 'flushed', right: true, text: ({ bytes }) => String(bytes.flushed) },
  {
    title: 'acked',
    right: true,
    text: (ledger) => counted(ledger, 'acked'),
    style: (ledger) => (hasLost(ledger) ? 'red' : undefined),
  },
  { title: 'read', right: true, text: (ledger) => counted(ledger, 'read') },
  { title: 'cut', text: ({ cut }) => (cut ? `${printable(cut.position)} = ${cut.offset}` : '-') },
  { title: 'teardown', text: ({ teardown }) => printable(teardown.kind) },
  { title: 'first', text: ({ teardown }) => (teardown.first ? FIRST[teardown.first] : '-') },
];

/** What is kept of a ledger for its line: a journal can be larger than memory. */
export interface ListRow {
  readonly cells: readonly { readonly text: string; readonly style: Style | undefined }[];
  readonly outcome: string;
  /** Bytes; 0 where it is not known. */
  readonly lost: number;
}

export function rowOf(ledger: Ledger): ListRow {
  return {
    cells: COLUMNS.map(({ text, style }) => ({ text: text(ledger), style: style?.(ledger) })),
    outcome: printable(ledger.outcome),
    lost: ledger.lost ?? 0,
  };
}

/** One aligned line for each exchange under a line of titles, and what became of all of them. Ends with a newline. */
export function listing(rows: readonly ListRow[], paint: Paint): string {
  const widths = COLUMNS.map(({ title }, n) =>
    rows.reduce((widest, { cells }) => Math.max(widest, cells[n]?.text.length ?? 0), title.length),
  );
  const lines = rows.map(({ cells }) => line(cells, widths, paint));
  const titles = COLUMNS.map(({ title }) => ({ text: title, style: 'gray' as const }));
  return [line(titles, widths, paint), ...lines, paint('gray', summary(rows)), ''].join('\n');
}

function line(cells: ListRow['cells'], widths: readonly number[], paint: Paint): string {
  const last = cells.length - 1;
  return cells
    .map(({ text, style }, n) => {
      const space = ' '.repeat(Math.max(0, (widths[n] ?? 0) - text.length));
      const painted = style ? paint(style, text) : text;
      if (COLUMNS[n]?.right) return `${space}${painted}`;
      return n === last ? painted : `${painted}${space}`;
    })
    .join('  ');
}

function summary(rows: readonly ListRow[]): string {
  const outcomes = new Map<string, number>();
  for (const { outcome } of rows) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  const told = [...outcomes].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
  const losing = rows.filter(({ lost }) => lost > 0);
  const bytes = losing.reduce((sum, { lost }) => sum + lost, 0);
  const lost = losing.length > 0 ? `; ${grouped(bytes)} bytes lost in ${losing.length}` : '';
  return `${plural(rows.length, 'exchange')}${told && `: ${told}`}${lost}`;
}

/** The whole story of one exchange. Ends with a newline. */
export function story(ledger: Ledger, paint: Paint): string {
  const { selection, outcome, exchange } = ledger;
  const title = `${paint('bold', `exchange ${exchange}: ${printable(selection.behavior)}`)}, ${paint(OUTCOME_STYLE[outcome] ?? 'white', printable(outcome))}`;
  const sections = FACTS.map(([label, tell]) => [label, tell(ledger)] as const).filter(([, lines]) => lines.length > 0);
  const [before, after] = [sections.slice(0, FACTS_BEFORE_PICTURE), sections.slice(FACTS_BEFORE_PICTURE)];
  return [
    title,
    ...before.flatMap((section) => block(section, paint)),
    '',
    ...timeline(ledger, paint).map(printable).map((row) => `  ${row}`),
    ...eventTable(ledger, paint),
    '',
    ...after.flatMap((section) => block(section, paint)),
    '',
  ].join('\n');
}
