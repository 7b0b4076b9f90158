import { VERDICTS, type Verdict } from '../trial/evidence.js';
import type { MatrixTable } from '../trial/matrix-table.js';
import type { NotRun } from '../trial/results.js';
import { type Html, html } from './html.js';
import { tableHtml } from './html-parts.js';
import type { PlacedCell } from './report.js';

/** The heat map: a table whose cells are buttons, which say in words what their colors say. Pure. */
export function heatHtml({ faults, rows, notRun }: MatrixTable, cells: readonly PlacedCell[]): Html {
  const cellAt = (client: string, fault: string): Html => {
    const placed = cells.find((one) => one.client === client && one.fault === fault);
    if (!placed) return html`<td>-</td>`;
    const { text, verdict, flaky, runs } = placed.cell;
    const label = `${client} under ${fault}: ${text}, ${runs.length} ${runs.length === 1 ? 'run' : 'runs'}`;
    return html`<td><button type="button" data-cell="${placed.id}" class="v-${verdict}${flaky ? ' flaky' : ''}" aria-haspopup="dialog" aria-label="${label}">${text}</button></td>`;
  };
  return html`<div class="scroll"><table class="heat"><caption>Verdicts: what each client made of each fault</caption>
<thead><tr><th scope="col">client</th>${faults.map((fault) => html`<th scope="col">${fault}</th>`)}</tr></thead>
<tbody>${rows.map(
    ({ client }) =>
      html`<tr><th scope="row"><code>${client}</code></th>${faults.map((fault) => cellAt(client, fault))}</tr>\n`,
  )}${notRun.map(
    ({ client, because }) =>
      html`<tr><th scope="row"><code>${client}</code></th><td class="none" colspan="${Math.max(1, faults.length)}">N/A: ${because}</td></tr>\n`,
  )}</tbody></table></div>`;
}

const MEANINGS: Readonly<Record<Verdict, string>> = {
  complete: 'the healthy answer was shown whole',
  recovered: 'asked again, showed the whole answer once',
  duplicated: "whole answer, the broken one's text beside it",
  looping: 'asked again without end',
  detected: 'said that something went wrong',
  silent: 'claimed success with less than the whole answer',
  hang: 'no end within the limit',
  crash: 'ended by a fault of its own',
  invalid: 'nothing follows: a control failed, or the fault did not come',
};

/** Those that occur. */
export function legendHtml(cells: readonly PlacedCell[]): Html {
  const seen = new Set(cells.flatMap(({ cell }) => cell.runs.map(({ verdict }) => verdict)));
  return html`<div class="legend">${VERDICTS.filter((verdict) => seen.has(verdict)).map(
    (verdict) => html`<div><span class="verdict v-${verdict}">${verdict}</span><span>${MEANINGS[verdict]}</span></div>`,
  )}</div>`;
}

export function notRunHtml(notRun: readonly NotRun[]): Html | undefined {
  if (notRun.length === 0) return undefined;
  return html`<h2>Not run</h2>${tableHtml(
    'Clients that are not here',
    [{ title: 'client' }, { title: 'why' }, { title: 'how one gets it' }],
    notRun.map(({ client, because, install }) => [html`<code>${client}</code>`, because, install ?? '-']),
  )}`;
}
