import { plural } from '../proof/paint.js';
import { type FindingGroup, findingGroups } from './finding-groups.js';
import { escaped, row } from './markdown-table.js';
import { tableOf } from './matrix-table.js';
import type { CellRecord, RanCell } from './results.js';

/** A matrix as Markdown: the table, what was run with what, why each cell is what it is, and what was not run. Pure. */
export function matrixMarkdown(records: readonly CellRecord[]): string {
  const { faults, rows, notRun } = tableOf(records);
  const runs = records.filter((record): record is RanCell => record.kind === 'run');
  const table = [
    row(['client', ...faults]),
    row(['---', ...faults.map(() => '---')]),
    ...rows.map(({ client, cells }) =>
      row([`\`${client}\``, ...faults.map((fault) => strong(cells.get(fault)?.text ?? '-'))]),
    ),
    ...notRun.map(({ client }) => row([`\`${client}\``, ...faults.map(() => 'N/A')])),
  ];
  const versions = rows.map(({ client, version }) => {
    const own = runs.filter((record) => record.client === client);
    return row([`\`${client}\``, escaped(version ?? 'tells none'), span(own), isolationOf(own), foreignOf(own)]);
  });
  const reasons = rows.flatMap(({ client, cells }) =>
    [...cells].map(([fault, { text, runs: of }]) =>
      row([
        `\`${client}\``,
        fault,
        text,
        requests(of),
        escaped([...new Set(of.map(({ because }) => because))].join(' / ')),
      ]),
    ),
  );
  const found = findingGroups(runs).map(findingRow);
  return [
    '## Verdicts',
    '',
    ...table,
    '',
    summary(runs),
    '',
    '## Versions',
    '',
    row(['client', 'version', 'date', 'isolation', 'other hosts looked up']),
    row(['---', '---', '---', '---', '---']),
    ...versions,
    '',
    ...(notRun.length > 0
      ? [
          '## Not run',
          '',
          row(['client', 'why']),
          row(['---', '---']),
          ...notRun.map(({ client, because }) => row([`\`${client}\``, escaped(because)])),
          '',
        ]
      : []),
    '## Why',
    '',
    row(['client', 'fault', 'verdict', 'main requests', 'because']),
    row(['---', '---', '---', '---', '---']),
    ...reasons,
    '',
    ...(found.length > 0
      ? [
          '## Findings',
          '',
          row(['client', 'finding', 'runs', 'seen first']),
          row(['---', '---', '---', '---']),
          ...found,
          '',
        ]
      : []),
  ].join('\n');
}

function summary(runs: readonly RanCell[]): string {
  const [first] = runs;
  if (!first) return 'Nothing was run.';
  const nodes = [...new Set(runs.map(({ node }) => node))].join(', ');
  const platforms = [...new Set(runs.map(({ platform }) => platform))].join(', ');
  const cells = runs.filter(({ control }) => !control).length;
  const controls = runs.length - cells;
  return `${plural(cells, 'run')} and ${plural(controls, 'control')}, ${span(runs)}, ${platforms}, Node ${nodes}, wirefault ${first.wirefault}.`;
}

/** What one has to look at stands out. */
function strong(text: string): string {
  return /silent|duplicated|looping|hang|crash/.test(text) ? `**${text}**` : text;
}

function span(runs: readonly RanCell[]): string {
  const days = [...new Set(runs.map(({ date }) => date.slice(0, 10)))].toSorted();
  return days.length > 1 ? `${days[0]} to ${days.at(-1)}` : (days[0] ?? '');
}

function isolationOf(runs: readonly RanCell[]): string {
  return [...new Set(runs.map(({ isolation }) => isolation))].join(', ');
}

function foreignOf(runs: readonly RanCell[]): string {
  return [...new Set(runs.flatMap(({ foreign }) => foreign))].toSorted().join(', ') || 'none';
}

function requests(runs: readonly RanCell[]): string {
  return [...new Set(runs.map(({ requests: { main } }) => main))].toSorted((a, b) => a - b).join(', ');
}

function findingRow({ client, kind, runs, first }: FindingGroup): string {
  const faults = [...new Set(runs.map(({ fault }) => fault))].join(', ');
  return row([
    `\`${client}\``,
    kind.replaceAll('_', ' '),
    `${runs.length} (${faults})`,
    escaped(first.evidence.join('; ')),
  ]);
}
