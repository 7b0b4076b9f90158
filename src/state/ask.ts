import type { RuleSpec } from '../fault/rules.js';

/**
 * What one process asks a state that several share, and what it gets: plain data, so that it can go to another process
 * or to a script inside Redis. The process looks at the request, the state counts and takes, in one step. So the state
 * needs no request, no catalogue and no chance: what depends on a number that only the state knows is told for a range
 * of numbers, and asked again where the number lies outside.
 */
export interface Ask {
  readonly lane: string;
  readonly connection: number;
  /** Of the rule list by which `rules` were tested. */
  readonly version: number;
  /** The request asks for a fault itself: whether that is due, by attempt. */
  readonly asked?: Due;
  /** What it asks for, where that isn't left to chance, and how. */
  readonly word?: string;
  readonly source?: 'query' | 'header';
  /** Rules in the order of the list, to the first that the request is sure to meet. */
  readonly rules: readonly (Candidate | MissedRule)[];
  /** A rule behind them can't be tested yet: nothing is taken then. */
  readonly unsure: boolean;
  /** Whether the word of the script is due, by its position. */
  readonly script: Due;
  /** What its misses tell of the request; they are kept of whole ones. */
  readonly path: string;
  readonly whole: boolean;
}

/** `bits`: '1' where it is due, for `from` and the numbers behind it; `rest` for those behind them all. */
export interface Due {
  readonly from: number;
  readonly bits: string;
  readonly rest?: '0' | '1';
}

export interface Candidate {
  readonly id: number;
  readonly why?: undefined;
  /** The value at the rule's key. */
  readonly key?: string;
  /** Whether its fault is due, and that of later requests with the same key. */
  readonly due: boolean;
  readonly dueLater: boolean;
  /** Met where the number that was drawn for the attempt is below. */
  readonly below?: number;
  /** Drawn for the attempt `from` and those behind it. */
  readonly from?: number;
  readonly drawn?: readonly number[];
}

/** One that the request does not meet. */
export interface MissedRule {
  readonly id: number;
  readonly why: string;
}

export type Took =
  /** The rules have changed since. */
  | { readonly kind: 'stale'; readonly book: RuleBook }
  /** A number lay outside what was told. */
  | { readonly kind: 'again'; readonly attempts: number; readonly position: number }
  /** Nothing is due; nothing was taken. */
  | { readonly kind: 'none'; readonly attempts: number; readonly position: number }
  | Taken;

export interface Taken {
  readonly kind: 'taken';
  readonly by: 'asked' | 'script' | 'rule';
  /** The rule's number; of one with a key, its value, which request with it this is, and when the first came. */
  readonly rule?: number;
  readonly key?: string;
  readonly nth?: number;
  readonly sinceMs?: number;
  /** Of the lane, before this request. */
  readonly attempts: number;
  readonly position: number;
  readonly generation: number;
  readonly droppedLanes: number;
  /** Counts all that was ever taken. */
  readonly exchange: number;
}

/** The rules in force. */
export interface RuleBook {
  readonly version: number;
  /** In the order in which they are tested. */
  readonly rules: readonly SharedRule[];
}

/** A rule as it is kept: what its fault means is each process's own knowledge. */
export interface SharedRule {
  readonly id: number;
  readonly spec: RuleSpec;
  readonly hits: number;
  readonly left: number | null;
}

export interface MetRule extends SharedRule {
  readonly misses: readonly {
    readonly lane: string;
    readonly attempt: number;
    readonly path: string;
    readonly why: string;
  }[];
}

/** The rules with all that is told of them. */
export interface WholeBook {
  readonly version: number;
  readonly rules: readonly MetRule[];
  readonly spent: readonly MetRule[];
}

/** The state can't be asked. */
export class StateAway extends Error {}

/** Lane cursors, rules and generations of several processes. All reject with `StateAway` where nobody answers. */
export interface SharedState {
  take(ask: Ask): Promise<Took>;
  book(): Promise<WholeBook>;
  /** The rule was checked. */
  inject(spec: RuleSpec): Promise<MetRule>;
  remove(id: number): Promise<boolean>;
  /** How many rules there were. */
  clear(): Promise<number>;
  /** The new generation. */
  reset(): Promise<number>;
  /** Calls `changed` when the rules may have changed, by whomever. */
  watch(changed: () => void): void;
  /** Why it can't be asked now; `undefined` where it can. */
  readonly away: string | undefined;
  close(): Promise<void>;
}
