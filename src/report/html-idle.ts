import type { IdleResults } from '../trial/idle-results.js';
import { timeText } from '../trial/idle-text.js';
import { type Html, html } from './html.js';
import { tableHtml, words } from './html-parts.js';
import { gapText, PROBE_TITLES, probeCells, rearmText } from './idle-words.js';

/** How long a client waits, and for what. Pure. */
export function idleHtml(idle: IdleResults): Html {
  const { client, clientVersion, protocol, probes, rearm, maxWaitMs, repeats, date, seed } = idle;
  const about = [
    clientVersion ?? 'tells no version',
    `${repeats} ${repeats === 1 ? 'run' : 'runs'} of each`,
    `waited for up to ${timeText(maxWaitMs)}`,
    `seed ${seed}`,
    date.slice(0, 10),
  ];
  const gap = gapText(idle);
  return html`<section class="card"><h3><code>${client}</code> ${protocol}</h3><p class="dim">${about.join(' · ')}</p>
${tableHtml(
  'Patience: how long it waits in each situation',
  PROBE_TITLES.map((title) => (NUMBERS.includes(title) ? { title, right: true } : { title })),
  probes.map((row) => [html`<span title="${row.meaning}">${words(row.probe)}</span>`, ...probeCells(row, maxWaitMs)]),
)}
${
  rearm.length > 0
    ? tableHtml(
        'What sets its patience between events back to the start',
        [{ title: 'sent' }, { title: 'sets it back' }, { title: 'every', right: true }],
        rearm.map((row) => [
          html`<span title="${row.meaning}">${words(row.by)}</span>`,
          rearmText(row),
          row.everyMs === null ? '-' : timeText(row.everyMs),
        ]),
      )
    : undefined
}
${gap === undefined ? undefined : html`<p>Shortest pause between events at which it gives up: ${gap}</p>`}</section>\n`;
}

const NUMBERS: readonly string[] = ['min', 'median', 'max'];
