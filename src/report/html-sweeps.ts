import { px, type Row } from '../fault/explain-svg-shapes.js';
import { xml } from '../fault/explain-svg-text.js';
import { grouped, plural } from '../proof/paint.js';
import { countsOf, worstFirst } from '../trial/sweep-ranges.js';
import type { Sweep, SweepRange, SweepTeardown } from '../trial/sweep-results.js';
import { type Html, html, raw } from './html.js';
import { moreHtml, tableHtml } from './html-parts.js';
import { markWords, offsetsOf } from './sweep-words.js';

/** A sweep as strips: what a client made of a cut, at every offset of the answer. Pure. */

/** Rows of a table of ranges. */
const MOST_RANGES = 60;
/** Of a strip, the worst ones first. */
const MOST_DRAWN = 1000;
const WIDTH = 900;
const STRIP = { top: 4, height: 26 };

export function sweepHtml(sweep: Sweep): Html {
  const { client, clientVersion, protocol, answer, positions, way, cutsPerMinute, date, seed } = sweep;
  const about = [
    clientVersion ?? 'tells no version',
    `${positions} over ${plural(answer.bytes, 'byte')}`,
    way === 'driver' ? 'many exchanges in one process' : 'a process for each cut',
    `${grouped(cutsPerMinute)} cuts a minute`,
    `seed ${seed}`,
    date.slice(0, 10),
  ];
  return html`<section class="card"><h3><code>${client}</code> ${protocol}</h3><p class="dim">${about.join(' · ')}</p>
${sweep.teardowns.map((one) => teardownHtml(sweep, one))}</section>\n`;
}

function teardownHtml(sweep: Sweep, one: SweepTeardown): Html {
  const { teardown, cuts, ranges } = one;
  const counts = countsOf(one).map(
    ([verdict, count]) => html`<span class="verdict v-${verdict}">${verdict}</span> ${grouped(count)} `,
  );
  const where = `sweeps/${sweep.client}-${sweep.protocol}.json`;
  return html`<h4>cut by <code>${teardown}</code>, ${plural(cuts, 'cut')}: ${counts}</h4>
<div class="scroll" tabindex="0" role="group" aria-label="cuts by ${teardown}">${stripOf(sweep, teardown, ranges)}</div>
${moreHtml(ranges.length - MOST_DRAWN, 'range', where)}
<details><summary>${plural(ranges.length, 'range')}</summary>
${tableHtml(
  'Neighboring cuts with one verdict; offsets are bytes that came before the cut',
  [{ title: 'bytes' }, { title: 'cuts', right: true }, { title: 'verdict' }, { title: 'where' }, { title: 'because' }],
  worstFirst(ranges)
    .slice(0, MOST_RANGES)
    .map((range) => [
      offsetsOf(range),
      grouped(range.cuts),
      html`<span class="verdict v-${range.verdict}">${range.verdict}</span>`,
      `${range.from} to ${range.to}`,
      range.because,
    ]),
)}
${moreHtml(ranges.length - MOST_RANGES, 'range', where)}</details>`;
}

function stripOf({ answer, client, positions }: Sweep, teardown: string, ranges: readonly SweepRange[]): Html {
  const isEveryByte = positions === 'every-byte';
  // A cut at the very end of the answer is one, too.
  const at = (offset: number): number => (Math.min(offset, answer.bytes + 1) / (answer.bytes + 1)) * WIDTH;
  // The worst is drawn last, so that no neighbor covers what is a byte wide.
  const rects = worstFirst(ranges)
    .slice(0, MOST_DRAWN)
    .toReversed()
    .map((range) => {
      const { first, last, verdict, because } = range;
      const title = `${verdict}: bytes ${offsetsOf(range)}, ${range.from} to ${range.to}. ${because}`;
      return `<g class="f-${verdict}"><title>${xml(title)}</title>${isEveryByte ? box(at(first), at(last + 1), STRIP) : sparse(at(first), at(last))}</g>`;
    });
  const ticks = answer.marks
    .filter(({ kind }) => kind === 'event')
    .map(({ start }) => `M${px(at(start))},${STRIP.top + STRIP.height + 2}v4`);
  const { start, end } = answer.terminal;
  const bottom = STRIP.top + STRIP.height;
  return raw(
    [
      `<svg class="wirefault strip" viewBox="0 0 ${WIDTH} ${bottom + 26}" width="${WIDTH}" height="${bottom + 26}" role="img" aria-label="${xml(`${client}, cut by ${teardown}: ${markWords(ranges)}`)}">`,
      `<rect class="lane" x="0" y="${STRIP.top}" width="${WIDTH}" height="${STRIP.height}"/>`,
      ...rects,
      `<path class="tick" fill="none" d="${ticks.join('')}"/>`,
      `<path class="cut" d="M${px(at(start))},${bottom + 2}H${px(Math.max(at(end), at(start) + 2))}v5H${px(at(start))}z"><title>${xml(`the protocol's terminal event: bytes ${grouped(start)} to ${grouped(end)}`)}</title></path>`,
      `<text class="dim" x="0" y="${bottom + 22}">byte 0, ticks where events begin</text>`,
      `<text class="dim e" x="${WIDTH}" y="${bottom + 22}">${grouped(answer.bytes)}, red below: the terminal event</text>`,
      '</svg>',
    ].join(''),
  );
}

/** Pixels: a single byte has to be seen. */
const LEAST_WIDTH = 2;
/** Of the line between cuts that have others between them. */
const BETWEEN = { top: STRIP.top + 9, height: STRIP.height - 18 };

function box(left: number, right: number, { top, height }: Row): string {
  return `<rect x="${px(left)}" y="${top}" width="${px(Math.max(LEAST_WIDTH, right - left))}" height="${height}"/>`;
}

/** The first and the last offset that was cut, and a thin line between them: not all that is there was cut. */
function sparse(first: number, last: number): string {
  return box(first, last, BETWEEN) + box(first, first, STRIP) + box(last, last, STRIP);
}
