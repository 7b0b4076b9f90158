import type { ServerEvent } from '../events.js';
import type { Ledger } from '../proof/ledger.js';

/** Counts of what a server did, told in Prometheus' text format. */
export interface Metrics {
  onEvent(event: ServerEvent): void;
  onLedger(ledger: Ledger): void;
  text(now: Gauges): Promise<string>;
}

/** What is counted elsewhere, now. */
export interface Gauges {
  readonly openConnections: number;
  readonly rules: number;
  readonly waitingAtGates: number;
  readonly droppedRequests: number;
  readonly droppedLanes: number;
}

/** Labels of one series, as text in a fixed order, so that they can be keys. */
type Tally = Map<string, { readonly labels: Readonly<Record<string, string>>; count: number }>;

function add(tally: Tally, labels: Readonly<Record<string, string>>, count = 1): void {
  const key = Object.values(labels).join('\0');
  const known = tally.get(key) ?? { labels, count: 0 };
  known.count += count;
  tally.set(key, known);
}

/** Positions are without number, and so would be the series: `rst@event:3` counts as `rst@event`. */
function seriesName(behavior: string): string {
  return behavior.replace(/@([a-z_]+).*$/, '@$1');
}

export function metricsOf(): Metrics {
  const exchanges: Tally = new Map();
  const bytes: Tally = new Map();
  const requests: Tally = new Map();
  let lostLines = 0;

  return {
    onEvent: (event) => {
      if (event.type === 'result') add(exchanges, { behavior: seriesName(event.behavior), outcome: event.outcome });
      if (event.type === 'request') add(requests, { kind: 'scripted' });
      if (event.type === 'auxiliary' || event.type === 'rejected' || event.type === 'control') {
        add(requests, { kind: event.type });
      }
      if (event.type === 'journal_failed') lostLines = event.lostLines;
    },
    onLedger: (ledger) => {
      for (const [level, count] of Object.entries(ledger.bytes)) {
        if (typeof count === 'number') add(bytes, { level }, count);
      }
      if (ledger.lost) add(bytes, { level: 'lost' }, ledger.lost);
    },
    text: async (now) => {
      const { Counter, Gauge, Registry } = await import('prom-client');
      const registry = new Registry();
      const counter = (name: string, help: string, labelNames: string[], tally: Tally): void => {
        const made = new Counter({ name: `wirefault_${name}`, help, labelNames, registers: [registry] });
        for (const { labels, count } of tally.values()) made.inc(labels, count);
      };
      const gauge = (name: string, help: string, value: number): void => {
        new Gauge({ name: `wirefault_${name}`, help, registers: [registry] }).set(value);
      };
      counter('requests_total', 'Requests, by what they were for', ['kind'], requests);
      counter('exchanges_total', 'Exchanges that have ended', ['behavior', 'outcome'], exchanges);
      counter('answer_bytes_total', 'Bytes of answers, by how sure they are', ['level'], bytes);
      gauge('open_connections', 'Connections that are open', now.openConnections);
      gauge('rules', 'Rules in force', now.rules);
      gauge('waiting_at_gates', 'Exchanges that wait at a gate', now.waitingAtGates);
      gauge('dropped_request_records', 'Request records that are no longer kept', now.droppedRequests);
      gauge('dropped_lanes', 'Lanes that were forgotten', now.droppedLanes);
      gauge('lost_journal_lines', 'Ledgers that the journal could not take', lostLines);
      return registry.metrics();
    },
  };
}
