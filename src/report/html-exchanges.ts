import { grouped } from '../proof/paint.js';
import { gapMs, retries, startMs } from '../trial/answer-facts.js';
import { timeText } from '../trial/idle-text.js';
import { byteLine, deliveredLevel, deliveredText } from './byte-line.js';
import type { ReportedExchange } from './exchange.js';
import { type Html, html } from './html.js';
import { type Column, moreHtml, tableHtml } from './html-parts.js';

/** Exchanges as pictures and tables, and which of them were retries. Pure. */

/** More are told in numbers, and where they can be read. */
const EXCHANGE_LIMITS = { pictures: 4, rows: 30, retries: 30 } as const;

export interface ExchangeLimits {
  readonly pictures: number;
  readonly rows: number;
  readonly retries: number;
}

const COLUMNS: readonly Column[] = [
  { title: '#' },
  { title: 'at', right: true },
  { title: 'request' },
  { title: 'behavior' },
  { title: 'status', right: true },
  { title: 'planned', right: true },
  { title: 'written', right: true },
  { title: 'delivered', right: true },
  { title: 'lost', right: true },
  { title: 'cut' },
  { title: 'outcome' },
  { title: 'teardown' },
  { title: 'first byte', right: true },
  { title: 'end', right: true },
];

/** @param where all of them can be read */
export function exchangesHtml(
  exchanges: readonly ReportedExchange[],
  where: string,
  limits: ExchangeLimits = EXCHANGE_LIMITS,
): Html {
  const [first] = exchanges;
  if (!first) return html`<p class="dim">No exchange.</p>`;
  const pictures = exchanges.slice(0, limits.pictures);
  const zeroMs = startMs(first.ledger);
  return html`
${pictures.map(
  (exchange) =>
    html`<figure class="line"><figcaption>exchange ${exchange.ledger.exchange}: ${exchange.ledger.selection.behavior}, ${exchange.ledger.outcome}${
      exchange.moreEvents > 0 ? ` (${grouped(exchange.moreEvents)} more events are not drawn)` : ''
    }</figcaption><div class="scroll" tabindex="0" role="group" aria-label="bytes of exchange ${exchange.ledger.exchange}">${byteLine(exchange)}</div></figure>`,
)}
${moreHtml(exchanges.length - pictures.length, 'picture', where)}
${tableHtml(
  'Exchanges: bytes of the answer, times from the first request, and from each request on',
  COLUMNS,
  exchanges.slice(0, limits.rows).map((exchange) => rowOf(exchange, zeroMs)),
)}
${moreHtml(exchanges.length - limits.rows, 'exchange', where)}
${retriesHtml(exchanges, where, limits.retries)}`;
}

function rowOf({ ledger, status }: ReportedExchange, zeroMs: number) {
  const { bytes, cut, lost, request, teardown, times } = ledger;
  return [
    ledger.exchange,
    timeText(Math.max(0, startMs(ledger) - zeroMs)),
    request ? `${request.method} ${request.path}` : 'not looked at',
    ledger.selection.behavior,
    status ?? '-',
    grouped(ledger.plan.bytes),
    grouped(bytes.written),
    `${deliveredText(ledger)} ${deliveredLevel(ledger)}`,
    lost === null ? '?' : grouped(lost),
    cut ? `${cut.position} = ${grouped(cut.offset)}` : '-',
    ledger.outcome,
    `${teardown.kind}${teardown.first ? `, first: ${teardown.first.replace('_', ' ')}` : ''}`,
    times.firstWriteMs === null ? '-' : timeText(times.firstWriteMs),
    timeText(times.endMs),
  ];
}

function retriesHtml(exchanges: readonly ReportedExchange[], where: string, most: number): Html {
  const pairs = retries(exchanges.map(({ ledger }) => ledger));
  if (pairs.length === 0) return html`<p class="dim">No retries: no request came twice.</p>`;
  const told = new Map(exchanges.map(({ ledger, toldToWaitMs }) => [ledger.exchange, toldToWaitMs]));
  return html`${tableHtml(
    'Retries: the same request again, and the pause since the end of the answer before',
    [{ title: 'exchanges' }, { title: 'pause', right: true }, { title: 'told to wait', right: true }],
    pairs.slice(0, most).map(([before, after]) => {
      const waitMs = told.get(before.exchange);
      return [
        `${before.exchange} → ${after.exchange}`,
        timeText(gapMs(before, after)),
        waitMs === undefined ? '-' : timeText(waitMs),
      ];
    }),
  )}${moreHtml(pairs.length - most, 'retry', where)}`;
}
