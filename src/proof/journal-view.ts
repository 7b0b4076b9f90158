import type { Ledger } from './ledger.js';
import { grouped, type Paint, plural, printable, type Style } from './paint.js';
import { atLeast, timeline } from './timeline.js';

/** Ledgers for a person: a line for each, or the whole story of one. Pure. */

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
  { title: 'path', text: ({ request }) => printable(request?.path ?? '-') },
  { title: 'behavior', text: ({ selection }) => printable(selection.behavior), style: () => 'bold' },
  { title: 'outcome', text: ({ outcome }) => printable(outcome), style: ({ outcome }) => OUTCOME_STYLE[outcome] },
  { title: 'written', right: true, text: ({ bytes }) => String(bytes.written) },
  { title: 'flushed', right: true, text: ({ bytes }) => String(bytes.flushed) },
  {
    title: 'acked',
    right: true,
    text: ({ bytes, stale }) => atLeast(bytes.acked, bytes.flushed, stale),
    style: (ledger) => (hasLost(ledger) ? 'red' : undefined),
  },
  { title: 'read', right: true, text: ({ bytes, stale }) => atLeast(bytes.read, bytes.flushed, stale) },
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
  readonly stale: boolean;
}

export function rowOf(ledger: Ledger): ListRow {
  return {
    cells: COLUMNS.map(({ text, style }) => ({ text: text(ledger), style: style?.(ledger) })),
    outcome: printable(ledger.outcome),
    lost: ledger.lost ?? 0,
    stale: ledger.stale,
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
  const most = losing.some(({ stale }) => stale) ? 'at most ' : '';
  const lost = losing.length > 0 ? `; ${most}${plural(bytes, 'byte')} lost in ${losing.length}` : '';
  return `${plural(rows.length, 'exchange')}${told && `: ${told}`}${lost}`;
}

type Section = readonly [label: string, lines: readonly string[]];

/** The whole story of one exchange. Ends with a newline. */
export function story(ledger: Ledger, paint: Paint): string {
  const outcome = paint(OUTCOME_STYLE[ledger.outcome] ?? 'white', printable(ledger.outcome));
  return [
    `${paint('bold', `exchange ${ledger.exchange}: ${printable(ledger.selection.behavior)}`)}, ${outcome}`,
    ...told(beginning(ledger), paint),
    '',
    ...timeline(ledger, paint).map((row) => `  ${row}`),
    ...eventTable(ledger, paint),
    '',
    ...told(ending(ledger), paint),
    '',
  ].join('\n');
}

/** What was asked, chosen and planned. */
function beginning(ledger: Ledger): Section[] {
  const { request, selection, plan, cut, connection, client, onConnection, lane, attempt } = ledger;
  const from = client.address === null ? '' : ` from ${client.address} port ${client.port}`;
  const { scripted, behavior, source } = selection;
  const scriptedAs = scripted === behavior ? '' : `, scripted as ${scripted}`;
  const [line, ...more] = asked(ledger);
  return [
    [
      'request',
      [
        line,
        `connection ${connection}${from}, exchange ${onConnection} on it; lane ${lane}, attempt ${attempt}`,
        ...more,
      ],
    ],
    ...(request
      ? ([['headers', Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`)]] as const)
      : []),
    ['selection', [`${behavior}${scriptedAs}, from the ${source}`]],
    ['plan', [`${plural(plan.bytes, 'byte')}, SHA-256 ${plan.sha256}`]],
    ['cut', [cut ? `at ${cut.position} = byte ${grouped(cut.offset)}, ${insideWords(cut.inside)}` : 'none']],
  ];
}

/** The request as far as it was read. */
function asked({ request, requestBytes }: Ledger): [string, ...string[]] {
  if (!request) return [`not looked at; read of it: ${plural(requestBytes, 'byte')}`];
  const by = request.userAgent === null ? '' : ` by ${request.userAgent}`;
  const marker = request.marker === null ? '' : `, marker ${request.marker}`;
  return [
    `${request.method} ${request.path} (${request.protocol}), HTTP/${request.httpVersion}${by}`,
    request.bodyBytes === null
      ? 'its body was not read'
      : `body of ${plural(request.bodyBytes, 'byte')}, SHA-256 ${request.bodySha256}${marker}`,
  ];
}

/** `event:3+17` reads better with its preposition; what isn't inside of anything says so itself. */
function insideWords(inside: string): string {
  return /\+\d+$/.test(inside) ? `inside ${inside}` : inside;
}

/** What came of it. */
function ending(ledger: Ledger): Section[] {
  const { terminal, blocks, settled, unapplied, teardown, times, evidence, stale } = ledger;
  const stalely = stale ? '; the socket went before it could be asked for the last time' : '';
  const rows: (Section | undefined)[] = [
    ['evidence', [`${evidence}${stalely}`]],
    ['lost', [lostWords(ledger)]],
    ['terminal', [terminal ? `${terminal.name}: ${terminalWords(terminal.delivered, stale)}` : 'none in the plan']],
    blocks ? ['blocks', [`${blocks.delivered} of ${plural(blocks.told, 'told paragraph')} delivered`]] : undefined,
    [
      'settle',
      [
        settled
          ? `${settled.level} ${settled.reached ? 'reached' : 'not reached'} after ${settled.waitedMs} ms`
          : 'none',
      ],
    ],
    unapplied.length > 0 ? ['unapplied', [`${unapplied.join(', ')}: the answer has no place for it`]] : undefined,
    [
      'teardown',
      [
        `${teardown.kind}; ${teardown.first ? `first to end it: ${FIRST[teardown.first]}` : 'the connection stayed open'}`,
      ],
    ],
    [
      'times',
      [
        `request at ${times.requestAt}`,
        ...[
          ['first write', times.firstWriteMs] as const,
          ['teardown', times.teardownMs] as const,
          ['end', times.endMs] as const,
        ].flatMap(([what, ms]) => (ms === null ? [] : [`${what} after ${ms} ms`])),
        ...pauses(times),
      ],
    ],
  ];
  return rows.filter((row) => row !== undefined);
}

/** What was planned of the time, where it matters. */
function pauses({ plannedWaitMs, scale }: Ledger['times']): string[] {
  if (plannedWaitMs === 0) return [];
  return [`pauses of ${plannedWaitMs} ms planned${scale === 1 ? '' : `, played ${scale} times faster`}`];
}

function lostWords({ lost, bytes, stale }: Ledger): string {
  if (lost === null) return 'unknown';
  return lost === 0
    ? `nothing: all ${grouped(bytes.written)} written bytes were acknowledged`
    : `${stale ? 'at most ' : ''}${plural(lost, 'byte')}: written, but not acknowledged when it ended`;
}

function terminalWords(delivered: boolean | null, stale: boolean): string {
  if (delivered === null) return 'unknown whether it was delivered';
  if (delivered) return 'delivered';
  return stale ? 'not proven to be delivered' : 'not delivered';
}

function told(sections: readonly Section[], paint: Paint): string[] {
  return sections.flatMap(([label, lines]) =>
    lines.map((text, n) => `  ${paint('gray', (n === 0 ? label : '').padEnd(LABEL_WIDTH))}  ${printable(text)}`),
  );
}

const LABEL_WIDTH = 'selection'.length;

function eventTable({ events, stale }: Ledger, paint: Paint): string[] {
  const entries = Object.entries(events).map(([name, counts]) => [printable(name), counts] as const);
  if (entries.length === 0) return [];
  const width = Math.max('events'.length, ...entries.map(([name]) => name.length));
  const row = (name: string, cells: readonly string[]): string =>
    `  ${name.padEnd(width)}${cells.map((cell) => cell.padStart(COUNT_WIDTH)).join('')}`;
  const rows = entries.map(([name, { planned, flushed, acked, read }]) =>
    row(name, [String(planned), String(flushed), ...[acked, read].map((count) => atLeast(count, flushed, stale))]),
  );
  return ['', paint('gray', row('events', ['planned', 'flushed', 'acked', 'read'])), ...rows];
}

/** The longest title of a level and two spaces. */
const COUNT_WIDTH = 9;
