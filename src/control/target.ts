import type { Rule } from '../fault/rule-list.js';
import type { RuleSpec } from '../fault/rules.js';
import type { Ledger } from '../proof/ledger.js';

/** What the control plane drives: the same calls as the library's methods. */
export interface ControlTarget {
  readonly rules: readonly Rule[];
  /** Rules that were used up. */
  readonly spentRules: readonly Rule[];
  /** @throws WirefaultError `bad_script` */
  inject(rule: RuleSpec): Rule;
  /** Whether there was such a rule. */
  remove(id: number): boolean;
  clear(): void;
  /** Starts all scripts anew; answers in flight keep theirs. Returns the number of the new generation. */
  reset(): number;
  readonly gates: ReadonlyMap<string, number>;
  release(gate: string, count?: number): void;
  refuse(ms: number): void;
  readonly ledgers: readonly Ledger[];
  followLedgers(): AsyncIterableIterator<Ledger>;
  /** Bytes as they were on the wire, of the newest exchanges. */
  bytesOf(exchange: number, of: 'request' | 'response'): Buffer | undefined;
  metrics(): Promise<string>;
}

/** A rule as it is shown. */
export function shownRule({ id, spec, named, hits, left, misses }: Rule): object {
  return { id, ...spec, behavior: named.name, hits, left, misses };
}
