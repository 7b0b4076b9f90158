import type { Rule } from '../fault/rule-list.js';
import type { Later } from '../later.js';
import type { Ledger } from '../proof/ledger.js';
import type { ServerRules } from '../server-state.js';

/** What the control plane drives: the same calls as the library's methods. */
export interface ControlTarget {
  readonly rules: ServerRules;
  /** Whether faults can be chosen: `away` where the state that is shared with others can't be asked. */
  health(): { readonly state: 'own' | 'shared' | 'away'; readonly reason?: string };
  readonly gates: Later<ReadonlyMap<string, number>>;
  release(gate: string, count?: number): Later<unknown>;
  refuse(ms: number): void;
  /** Why the port can't be closed for a while; `undefined` where it can. */
  readonly noRefusal?: string;
  readonly ledgers: Later<readonly Ledger[]>;
  followLedgers(): AsyncIterableIterator<Ledger>;
  /** Bytes as they were on the wire, of the newest exchanges. */
  bytesOf(exchange: number, of: 'request' | 'response'): Later<Buffer | undefined>;
  /** Connections that are open. */
  connections(): number;
  metrics(): Promise<string>;
}

/** A rule as it is shown. */
export function shownRule({ id, spec, named, hits, left, misses }: Rule): object {
  return { id, ...spec, behavior: named.name, hits, left, misses };
}
