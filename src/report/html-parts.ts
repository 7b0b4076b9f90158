import { grouped, plural } from '../proof/paint.js';
import type { Finding } from '../trial/findings.js';
import type { Excerpt } from './excerpt.js';
import { type Html, type HtmlValue, html } from './html.js';

/** What several parts of the page are made of. Pure. */

export interface Column {
  readonly title: string;
  /** A number, set to the right. */
  readonly right?: true;
}

/** The first cell of a row is its head. Wide tables scroll by themselves. */
export function tableHtml(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly HtmlValue[])[],
  style = '',
): Html {
  const right = (n: number): string => (columns[n]?.right ? 'right' : '');
  return html`<div class="scroll"><table class="${style}"><caption>${caption}</caption>
<thead><tr>${columns.map(({ title }, n) => html`<th scope="col" class="${right(n)}">${title}</th>`)}</tr></thead>
<tbody>${rows.map(
    (cells) =>
      html`<tr>${cells.map((cell, n) =>
        n === 0 ? html`<th scope="row">${cell}</th>` : html`<td class="${right(n)}">${cell}</td>`,
      )}</tr>\n`,
  )}</tbody></table></div>`;
}

/** Text as it was, with what was left out between its beginning and its end. */
export function excerptHtml(title: string, { head, leftOut, tail }: Excerpt): Html {
  const gap = leftOut > 0 ? html`<span class="gap">… ${grouped(leftOut)} characters left out …</span>` : undefined;
  return html`<figure><figcaption>${title}</figcaption><pre tabindex="0">${head}${gap}${tail}</pre></figure>`;
}

/** More of one run are told in a number. */
export const MOST_FINDINGS = 100;

export function findingsHtml(findings: readonly Finding[]): Html {
  if (findings.length === 0) return html``;
  const more = findings.length - MOST_FINDINGS;
  return html`<ul class="findings">${findings
    .slice(0, MOST_FINDINGS)
    .map(
      ({ kind, evidence, advice }) =>
        html`<li><strong>${words(kind)}</strong>: ${evidence.join('; ')}<br><span class="dim">${advice}</span></li>`,
    )}</ul>${more > 0 ? html`<p class="gap">${plural(more, 'more finding')} not shown; --json prints them all</p>` : undefined}`;
}

export function words(kind: string): string {
  return kind.replaceAll('_', ' ');
}

/** `3 more exchanges are not shown`, or nothing. */
export function moreHtml(count: number, noun: string, where: string): Html | undefined {
  if (count <= 0) return undefined;
  return html`<p class="gap">${plural(count, `more ${noun}`)} not shown; all of them: <code>${where}</code></p>`;
}
