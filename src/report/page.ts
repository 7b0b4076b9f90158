import { createHash } from 'node:crypto';
import type { Verdict } from '../trial/evidence.js';
import { findingGroups } from '../trial/finding-groups.js';
import { type MatrixTable, tableOf } from '../trial/matrix-table.js';
import type { RanCell } from '../trial/results.js';
import { VERSION } from '../version.js';
import { type Html, html, raw, textOf } from './html.js';
import { idleHtml } from './html-idle.js';
import { journalHtml } from './html-journal.js';
import { heatHtml, legendHtml, notRunHtml } from './html-matrix.js';
import { tableHtml, words } from './html-parts.js';
import { cellHtml, runHtml } from './html-run.js';
import { sweepHtml } from './html-sweeps.js';
import { PAGE_SCRIPT } from './page-script.js';
import { PAGE_STYLE } from './page-style.js';
import { type PlacedCell, type Report, runsOf } from './report.js';

/**
 * A report as one page that needs no network and could reach none: its policy allows its own style and its own script,
 * by their hashes, and nothing else. What clients and servers have written is escaped, and could not run if it weren't.
 * Pure.
 */

/**
 * Characters of the evidence of runs. Runs for which there is no room keep their verdict, facts and findings, and say
 * where their evidence is. A run of an SDK takes about 7,000 (measured over 48), so that 400 fit.
 */
export const PAGE_LIMIT = 6_000_000;

export function reportPage(report: Report, limit = PAGE_LIMIT): string {
  const table = tableOf(report.records);
  const cells = cellsIn(table);
  const fragments = runFragments(report, cells, limit);
  const title = `wirefault: ${report.sources.join(', ')}`;
  const policy = `default-src 'none'; style-src '${hashOf(PAGE_STYLE)}'; script-src '${hashOf(PAGE_SCRIPT)}'; base-uri 'none'; form-action 'none'`;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${raw(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${raw(PAGE_STYLE)}</style>
</head>
<body>
<header><h1>What clients make of broken streams</h1><p class="dim">${report.sources.map((source) => html`<code>${source}</code> `)}</p></header>
<main>
${report.records.length > 0 ? matrixHtml(report, table, cells) : undefined}
${report.sweeps.length > 0 ? html`<h2>Sweeps: a cut at every offset</h2>${report.sweeps.map(sweepHtml)}` : undefined}
${report.idle.length > 0 ? html`<h2>Patience: how long a client waits</h2>${report.idle.map(idleHtml)}` : undefined}
${report.journals.map(journalHtml)}
</main>
<footer>Written by wirefault ${VERSION}.${fragments.brief > 0 ? ` The evidence of ${fragments.brief} of ${fragments.runs.size} runs is not in this page, which would have become larger than ${limit / 1e6} MB: their cells say where it is.` : ''}</footer>
${cells.map((cell) =>
  cellHtml(
    cell,
    cell.cell.runs.map((run) => fragments.runs.get(run) ?? html``),
  ),
)}
<script>${raw(PAGE_SCRIPT)}</script>
</body>
</html>
`;
  return textOf(page);
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** Ids are numbers: names can hold anything. */
function cellsIn({ rows }: MatrixTable): PlacedCell[] {
  const all = rows.flatMap(({ client, cells }) => [...cells].map(([fault, cell]) => ({ client, fault, cell })));
  return all.map((one, n) => ({ id: `cell-${n + 1}`, ...one }));
}

interface Fragments {
  readonly runs: ReadonlyMap<RanCell, Html>;
  /** How many are without their evidence. */
  readonly brief: number;
}

const WELL: readonly Verdict[] = ['complete', 'recovered', 'detected'];

/** Evidence of what went wrong has the first claim to the room, then each cell's first run. */
function runFragments({ evidence }: Report, cells: readonly PlacedCell[], limit: number): Fragments {
  const claim = ({ verdict, repeat }: RanCell): number => repeat + (WELL.includes(verdict) ? 1_000_000 : 0);
  const inOrder = cells.flatMap(({ cell }) => cell.runs).toSorted((a, b) => claim(a) - claim(b));
  const runs = new Map<RanCell, Html>();
  let [used, brief] = [0, 0];
  for (const run of inOrder) {
    const open = run === cells.find(({ cell }) => cell.runs.includes(run))?.cell.runs[0];
    const whole = runHtml(run, evidence.get(run), open);
    const fits = used + textOf(whole).length <= limit;
    if (fits) used += textOf(whole).length;
    else brief++;
    runs.set(run, fits ? whole : runHtml(run, undefined, open));
  }
  return { runs, brief };
}

function matrixHtml(report: Report, table: MatrixTable, cells: readonly PlacedCell[]): Html {
  const runs = runsOf(report);
  return html`<h2 id="matrix">Clients × faults</h2>
<p class="dim">${cells.length > 0 ? html`Each cell opens its evidence. <kbd>←</kbd> <kbd>↑</kbd> <kbd>→</kbd> <kbd>↓</kbd> move, <kbd>Enter</kbd> opens, <kbd>Esc</kbd> closes.` : 'Nothing was run.'}</p>
${heatHtml(table, cells)}
${legendHtml(cells)}
${findingsSection(runs, cells)}
${versionsHtml(runs)}
${controlsHtml(runs)}
${notRunHtml(table.notRun)}`;
}

function findingsSection(runs: readonly RanCell[], cells: readonly PlacedCell[]): Html {
  const groups = findingGroups(runs);
  if (groups.length === 0) return html`<h2>Findings</h2><p class="dim">None.</p>`;
  const links = (of: readonly RanCell[]): Html[] => {
    const faults = [...new Set(of.map(({ fault }) => fault))];
    return faults.map((fault) => {
      const own = of.filter((run) => run.fault === fault);
      const cell = cells.find(({ cell: { runs: all } }) => own.some((run) => all.includes(run)));
      const text = `${fault}${own.length > 1 ? ` × ${own.length}` : ''}`;
      return cell
        ? html`<a class="nowrap" href="#${cell.id}">${text}</a> `
        : html`<span class="nowrap">${text}</span> `;
    });
  };
  return html`<h2>Findings</h2>${tableHtml(
    'Manners that the journals tell of, by client',
    [{ title: 'client' }, { title: 'finding' }, { title: 'seen under' }, { title: 'seen first' }, { title: 'advice' }],
    groups.map(({ client, kind, runs: of, first }) => [
      html`<code>${client}</code>`,
      words(kind),
      links(of),
      first.evidence.join('; '),
      first.advice,
    ]),
  )}`;
}

function versionsHtml(runs: readonly RanCell[]): Html {
  const clients = [...new Set(runs.map(({ client }) => client))];
  const some = (of: readonly RanCell[], value: (run: RanCell) => string): string =>
    [...new Set(of.map(value))].toSorted().join(', ');
  return html`<h2>Versions</h2>${tableHtml(
    'What was run, with what',
    [
      { title: 'client' },
      { title: 'version' },
      { title: 'protocol' },
      { title: 'date' },
      { title: 'platform' },
      { title: 'Node' },
      { title: 'wirefault' },
      { title: 'isolation' },
      { title: 'runs', right: true },
    ],
    clients.map((client) => {
      const own = runs.filter((run) => run.client === client);
      return [
        html`<code>${client}</code>`,
        some(own, ({ clientVersion }) => clientVersion ?? 'tells none'),
        some(own, ({ protocol }) => protocol),
        some(own, ({ date }) => date.slice(0, 10)),
        some(own, ({ platform }) => platform),
        some(own, ({ node }) => node),
        some(own, ({ wirefault }) => wirefault),
        some(own, ({ isolation }) => isolation),
        own.length,
      ];
    }),
  )}`;
}

function controlsHtml(runs: readonly RanCell[]): Html | undefined {
  const controls = runs.filter(({ control }) => control);
  if (controls.length === 0) return undefined;
  return html`<details><summary>Positive controls: faults that anybody has to notice (${controls.length})</summary>${tableHtml(
    'They prove that a fault reaches the client, and are no cells',
    [{ title: 'client' }, { title: 'control' }, { title: 'verdict' }, { title: 'because' }],
    controls.map(({ client, fault, verdict, because }) => [
      html`<code>${client}</code>`,
      fault,
      html`<span class="verdict v-${verdict}">${verdict}</span>`,
      because,
    ]),
  )}</details>`;
}
