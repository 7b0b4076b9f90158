import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { svgOf } from './chart.js';
import { type Machine, type Saved, saved } from './results.js';
import { barsTable, type Table } from './stats.js';

/** Makes `docs/performance.md` and its charts from the saved results: `<!-- name -->` in the template becomes that bench's. */
const TEMPLATE = fileURLToPath(new URL('../performance.template.md', import.meta.url));
const PAGE = fileURLToPath(new URL('../../docs/performance.md', import.meta.url));
const CHARTS = fileURLToPath(new URL('../../docs/performance/', import.meta.url));

function tableOf({ title, columns, rows, notes = [] }: Table): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = columns.map((_, n) => (n === 0 ? '---' : '---:'));
  const table = [line(columns), line(rule), ...rows.map(line)].join('\n');
  return [`**${title}**`, table, ...notes].join('\n\n');
}

function machineOf({ cpu, cores, platform, arch, node }: Machine): string {
  return `${cores} × ${cpu}, ${platform} ${arch}, Node ${node}`;
}

function sectionOf(one: Saved): string {
  const { bench, at, machine, quick, seconds, tables, bars, charts } = one;
  const how = `\`npm run bench -- ${bench}${quick ? ' --quick' : ''}\`, ${at.slice(0, 10)}, ${machineOf(machine)}, ${seconds} s`;
  return [
    `${how}${quick ? ' (quick rounds: a smoke test, no measurement)' : ''}`,
    ...(bars.length > 0 ? [tableOf(barsTable(bars))] : []),
    ...charts.map(({ name, title }) => `![${title}](performance/${name}.svg)`),
    ...tables.map(tableOf),
  ].join('\n\n');
}

function overview(all: readonly Saved[]): string {
  const rows = all.flatMap(({ bench, bars }) => barsTable(bars).rows.map((row) => [...row, `\`${bench}\``]));
  return tableOf({ title: 'All bars', columns: [...barsTable([]).columns, 'bench'], rows });
}

/** The page, of the benches by name. */
export function pageOf(results: ReadonlyMap<string, Saved>): string {
  return readFileSync(TEMPLATE, 'utf8').replace(/<!-- ([\w-]+) -->/g, (_, name: string) => {
    if (name === 'bars') return overview([...results.values()]);
    const one = results.get(name);
    return one ? sectionOf(one) : `Not measured yet: \`npm run bench -- ${name} --save\`.`;
  });
}

export async function writePage(): Promise<void> {
  const results = saved();
  rmSync(CHARTS, { recursive: true, force: true });
  mkdirSync(CHARTS, { recursive: true });
  for (const chart of [...results.values()].flatMap(({ charts }) => charts)) {
    writeFileSync(`${CHARTS}${chart.name}.svg`, await svgOf(chart));
  }
  writeFileSync(PAGE, pageOf(results));
}
