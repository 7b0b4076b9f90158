import type { Metrics } from '../control/metrics.js';
import type { ControlTarget } from '../control/target.js';
import type { Gates } from '../gates.js';
import type { Ledger } from '../proof/ledger.js';
import type { ServerRules } from '../server-state.js';
import type { SharedState } from '../state/ask.js';
import type { Channel, ExchangeBytes } from './channel.js';
import type { Feed } from './feed.js';
import { NO_REFUSAL } from './refused.js';

/** The control plane of all workers: what the primary has, and what it has to ask them for. */
export interface PrimaryTargetDeps {
  readonly rules: ServerRules;
  readonly state: SharedState;
  readonly gates: Gates;
  /** The newest ledgers, as they are written. */
  readonly lines: readonly string[];
  readonly followed: Feed<string>;
  readonly metrics: Metrics;
  workers(): readonly Channel[];
  /** Requests that were accepted, of which no records are kept. */
  requests(): number;
}

export function primaryTarget(deps: PrimaryTargetDeps): ControlTarget {
  const { rules, state, gates, lines, followed, metrics, workers, requests } = deps;
  return {
    rules,
    health: () => (state.away === undefined ? { state: 'shared' } : { state: 'away', reason: state.away }),
    get gates() {
      return gates.held;
    },
    release: gates.release,
    refuse: () => {},
    noRefusal: NO_REFUSAL,
    get ledgers() {
      return lines.map((line): Ledger => JSON.parse(line));
    },
    followLedgers: () => followed.follow((line): Ledger => JSON.parse(line)),
    bytesOf: async (exchange, of) => {
      const bytes = await keptBytes(workers(), { exchange, of });
      return bytes && Buffer.from(bytes);
    },
    connections: () => 0,
    metrics: async () => {
      const open = await Promise.all(workers().map((to) => to.call('connections').catch(() => 0)));
      return metrics.text({
        ...rules.counts(),
        openConnections: sum(open),
        waitingAtGates: sum(gates.held.values()),
        droppedRequests: requests(),
      });
    },
  };
}

/** Bytes of an exchange, which the worker has that played it. */
export async function keptBytes(workers: readonly Channel[], of: ExchangeBytes): Promise<Uint8Array | undefined> {
  const kept = await Promise.all(workers.map((to) => to.call('keptBytes', of).catch(() => undefined)));
  return kept.find((bytes) => bytes !== undefined);
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, number) => total + number, 0);
}
