import { plural } from '../proof/paint.js';
import { type Html, html } from './html.js';
import { exchangesHtml } from './html-exchanges.js';
import { findingsHtml } from './html-parts.js';
import { JOURNAL_LIMITS } from './load-journal.js';
import type { ReportedJournal } from './report.js';

const LIMITS = { pictures: 24, rows: JOURNAL_LIMITS.exchanges, retries: 200 } as const;

/** What one run of a server has seen. Pure. */
export function journalHtml({ source, ledgers, findings, exchanges, leftOut }: ReportedJournal): Html {
  const older = ledgers.length - exchanges.length;
  return html`<h2>Journal</h2><section class="card">
<h3><code>${source}</code>, ${plural(ledgers.length, 'exchange')}</h3>
${leftOut.map((one) => html`<p class="gap">Left out: ${one}</p>`)}
<h3>Findings</h3>
${findings.length > 0 ? findingsHtml(findings) : html`<p class="dim">None.</p>`}
<h3>Exchanges</h3>
${older > 0 ? html`<p class="gap">The last ${exchanges.length} are shown. The ${older} before them count for the findings.</p>` : undefined}
${exchangesHtml(exchanges, source, LIMITS)}
</section>\n`;
}
