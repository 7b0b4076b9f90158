import { plural } from '../proof/paint.js';
import { timeText } from '../trial/idle-text.js';
import type { RanCell } from '../trial/results.js';
import { type Html, html } from './html.js';
import { exchangesHtml } from './html-exchanges.js';
import { excerptHtml, findingsHtml, tableHtml } from './html-parts.js';
import type { PlacedCell, RunDetail } from './report.js';

/** The evidence of a cell: each of its runs. Pure. */

/** The dialog that a cell of the heat map opens. */
export function cellHtml({ id, client, fault, cell }: PlacedCell, runs: readonly Html[]): Html {
  return html`<dialog id="${id}" aria-labelledby="${id}-title">
<header><h2 id="${id}-title"><code>${client}</code> under <code>${fault}</code> <span class="verdict v-${cell.verdict}">${cell.text}</span></h2>
<button type="button" class="close">Close <kbd>Esc</kbd></button></header>
${runs}</dialog>\n`;
}

/** One run of it, with all that is known, or with what its record says. */
export function runHtml(record: RanCell, detail: RunDetail | undefined, open: boolean): Html {
  const { repeat, verdict, because, findings, dir } = record;
  return html`<details class="run"${open ? html` open` : undefined}><summary>Run ${repeat}: <span class="verdict v-${verdict}">${verdict}</span> ${because}</summary>
${factsHtml(record)}
${findingsHtml(findings)}
${detail ? detailHtml(detail, dir) : html`<p class="gap">Its evidence is not in this page, which would become too large; it is in <code>${dir}</code>.</p>`}
</details>\n`;
}

function factsHtml(record: RanCell): Html {
  const { paragraphs, requests, exitCode, signal, foreign } = record;
  const ended = signal === null ? (exitCode === null ? 'by wirefault' : `exit code ${exitCode}`) : signal;
  const facts: readonly (readonly [string, string])[] = [
    ['ended', ended],
    ['lasted', timeText(record.durationMs)],
    ['requests', `${requests.main} main, ${requests.auxiliary} other`],
    [
      'paragraphs',
      paragraphs
        ? `${paragraphs.told} told, ${paragraphs.delivered} delivered, ${paragraphs.shown} shown`
        : 'not in its answer',
    ],
    ['seed', String(record.seed)],
    ['isolation', record.isolation],
    ['date', record.date.replace('T', ' ').slice(0, 19)],
    ['other hosts', foreign.length > 0 ? foreign.join(', ') : 'none looked up'],
  ];
  return html`<dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function detailHtml(detail: RunDetail, dir: string): Html {
  if (detail.kind === 'missing') return html`<p class="gap">${detail.why}</p>`;
  const { main, auxiliary, frames, framesBefore, stdout, stderr, structuredError, notes } = detail;
  return html`
${notes.map((note) => html`<p>${note}</p>`)}
<h3>On the wire</h3>
${exchangesHtml(main, `${dir}/journal.jsonl`)}
${auxiliary.length > 0 ? auxiliaryHtml(detail) : undefined}
<h3>What it showed</h3>
${structuredError === null ? undefined : html`<p>An error in a field of its own: <q>${structuredError}</q></p>`}
${framesBefore > 0 ? html`<p class="gap">${plural(framesBefore, 'earlier screen')}: <code>${dir}/screen.jsonl</code></p>` : undefined}
${frames.map(({ ms, text }) => excerptHtml(`screen after ${timeText(ms)}`, text))}
${output('stdout', stdout, frames.length > 0)}
${output('stderr', stderr, false)}`;
}

function output(name: string, text: Parameters<typeof excerptHtml>[1], hasScreen: boolean): Html | undefined {
  if (hasScreen) return undefined;
  return text.head === '' ? html`<p class="dim">${name}: nothing</p>` : excerptHtml(name, text);
}

function auxiliaryHtml({ auxiliary }: Extract<RunDetail, { kind: 'found' }>): Html {
  const counts = new Map<string, number>();
  for (const { ledger, status } of auxiliary) {
    const key = `${ledger.request?.method ?? '?'} ${ledger.request?.path ?? 'not looked at'}: ${status ?? ledger.outcome}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const rows = [...counts].slice(0, AUXILIARY_ROWS).map(([what, times]) => [what, times]);
  const more = counts.size - rows.length;
  return html`${tableHtml('Other requests, answered whole', [{ title: 'request and answer' }, { title: 'times', right: true }], rows)}
${more > 0 ? html`<p class="gap">and ${more} more</p>` : undefined}`;
}

const AUXILIARY_ROWS = 20;
