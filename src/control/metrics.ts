import type { Outcome, ServerEvent } from '../events.js';
import type { ByteCounts } from '../proof/recorder.js';

const LEVELS = ['written', 'flushed', 'acked', 'read'] as const;

/** Counts of what a server did, told in Prometheus' text format. */
export interface Metrics {
  onEvent(event: ServerEvent): void;
  /** As `onEvent` for a `request` and a `result`, which need no event to be counted. */
  onRequest(): void;
  onResult(behavior: string, outcome: Outcome): void;
  /** Of an exchange that has settled. */
  onBytes(told: ByteCounts, lost: number | null): void;
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

/** Counts of series, by the values of their labels. What is counted for each exchange is named when it is asked for. */
type Tally = Map<string, Map<string, number>>;

function add(tally: Tally, first: string, second: string, count = 1): void {
  let series = tally.get(first);
  if (!series) {
    series = new Map();
    tally.set(first, series);
  }
  series.set(second, (series.get(second) ?? 0) + count);
}

/** Positions are without number, and so would be the series: `rst@event:3` counts as `rst@event`. */
function seriesName(behavior: string): string {
  return behavior.replace(/@([a-z_]+).*$/, '@$1');
}

/** Behaviors with a position of their own each, before they are counted together. */
const MAX_BEHAVIORS = 1000;

function joined(exchanges: Tally): Tally {
  const named: Tally = new Map();
  for (const [behavior, outcomes] of exchanges) {
    for (const [outcome, count] of outcomes) add(named, seriesName(behavior), outcome, count);
  }
  return named;
}

export function metricsOf(): Metrics {
  let exchanges: Tally = new Map();
  const bytes: Tally = new Map();
  const requests: Tally = new Map();
  let lostLines = 0;

  const onRequest = (): void => add(requests, 'scripted', '');
  const onResult = (behavior: string, outcome: Outcome): void => {
    add(exchanges, behavior, outcome);
    if (exchanges.size > MAX_BEHAVIORS) exchanges = joined(exchanges);
  };

  return {
    onRequest,
    onResult,
    onEvent: (event) => {
      switch (event.type) {
        case 'request':
          onRequest();
          break;
        case 'result':
          onResult(event.behavior, event.outcome);
          break;
        case 'auxiliary':
        case 'rejected':
        case 'control':
          add(requests, event.type, '');
          break;
        case 'journal_failed':
          lostLines = event.lostLines;
          break;
        default:
      }
    },
    onBytes: (told, lost) => {
      for (const level of LEVELS) {
        const count = told[level];
        if (count !== null) add(bytes, level, '', count);
      }
      if (lost) add(bytes, 'lost', '', lost);
    },
    text: async (now) => {
      const { Counter, Gauge, Registry } = await import('prom-client');
      const registry = new Registry();
      const counter = (name: string, help: string, labelNames: readonly string[], tally: Tally): void => {
        const made = new Counter({
          name: `wirefault_${name}`,
          help,
          labelNames: [...labelNames],
          registers: [registry],
        });
        for (const [first, series] of tally) {
          for (const [second, count] of series) {
            made.inc(Object.fromEntries(labelNames.map((label, n) => [label, n === 0 ? first : second])), count);
          }
        }
      };
      const gauge = (name: string, help: string, value: number): void => {
        new Gauge({ name: `wirefault_${name}`, help, registers: [registry] }).set(value);
      };
      counter('requests_total', 'Requests, by what they were for', ['kind'], requests);
      counter('exchanges_total', 'Exchanges that have ended', ['behavior', 'outcome'], joined(exchanges));
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
