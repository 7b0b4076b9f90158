import type { Catalogue, RandomWeights } from './catalogue.js';
import { draw, type Share } from './random.js';
import type { KeyUse } from './rule-list.js';
import type { FaultSpec } from './spec.js';
import { isDue, isPlayed, type Stage } from './stage.js';

/**
 * The script: which fault each attempt gets. A pure function of the attempt's number; the only state is the count of
 * attempts, which each lane keeps for itself.
 */

/** A fault with the name by which it is told. */
export interface Named {
  readonly name: string;
  readonly fault: FaultSpec;
}

/** What the port does for a while. */
export type ListenFault = NonNullable<FaultSpec['listen']>;

/** A word of the script that answers a request, with the windows of the port that open when its exchange ends. */
interface Entry {
  /** `undefined` for `random`. */
  readonly named: Named | undefined;
  readonly windows: readonly ListenFault[];
}

export interface Script {
  readonly entries: readonly Entry[];
  /** Windows before the first request. */
  readonly leading: readonly ListenFault[];
  readonly repeatLast: boolean;
  readonly seed: number;
  readonly shares: readonly Share<Named>[];
  /** The last word is a window of the port. */
  readonly endsInWindow: boolean;
}

export const SELECTION_SOURCES = ['query', 'header', 'rule', 'script'] as const;
export type SelectionSource = (typeof SELECTION_SOURCES)[number];

/** What one attempt gets. */
export type Selection =
  | {
      readonly kind: 'behavior';
      readonly lane: string;
      /** Counts from 1 within the lane. */
      readonly attempt: number;
      /** The word in the script, `random` perhaps. */
      readonly scripted: string;
      readonly behavior: string;
      readonly fault: FaultSpec;
      /** Who chose it. */
      readonly source: SelectionSource;
      /** The rule's label, or its number. */
      readonly rule?: string;
      /** Requests that are one by this key get the same ids and times. */
      readonly key?: KeyUse;
      /** Windows of the port that open just before this exchange ends. */
      readonly windows: readonly ListenFault[];
    }
  | { readonly kind: 'exhausted'; readonly lane: string; readonly attempt: number };

export const RANDOM = 'random';

/** `sequence` names faults; `undefined` stands for `random`. */
export function scriptOf(
  sequence: readonly (Named | undefined)[],
  options: Pick<Script, 'repeatLast' | 'seed' | 'shares'>,
): Script {
  const leading: ListenFault[] = [];
  const entries: { named: Named | undefined; windows: ListenFault[] }[] = [];
  for (const named of sequence) {
    const { listen } = named?.fault ?? {};
    if (!listen) entries.push({ named, windows: [] });
    else (entries.at(-1)?.windows ?? leading).push(listen);
  }
  return { entries, leading, endsInWindow: sequence.at(-1)?.fault.listen !== undefined, ...options };
}

/** The behaviors that `random` draws, in the order of the catalogue. */
export function sharesOf(catalogue: Catalogue, weights: RandomWeights): Share<Named>[] {
  return [...catalogue.values()].flatMap(({ name, fault }) => {
    const weight = weights[name] ?? 0;
    return weight > 0 && isPlayed(fault) ? [{ value: { name, fault }, weight }] : [];
  });
}

/** `position`: the word of the script, from 1. It falls behind the attempt where rules took requests. */
export function select(script: Script, lane: string, attempt: number, position = attempt): Selection {
  const last = script.entries.length - 1;
  const index = script.repeatLast ? Math.min(position - 1, last) : position - 1;
  const entry = script.entries[index];
  const named = entry && (entry.named ?? draw(script.seed, lane, position, script.shares));
  if (!entry || !named) return { kind: 'exhausted', lane, attempt };
  return {
    kind: 'behavior',
    lane,
    attempt,
    scripted: entry.named?.name ?? RANDOM,
    behavior: named.name,
    fault: named.fault,
    source: 'script',
    windows: entry.windows,
  };
}

/** The first attempt of a lane that gets `named`, where there is no script and no request. */
export function onlyAttempt({ name, fault }: Named, lane: string): Selection & { readonly kind: 'behavior' } {
  return { kind: 'behavior', lane, attempt: 1, scripted: name, behavior: name, fault, source: 'script', windows: [] };
}

/** Whether a script can ever tell a fault that acts at a stage before the request. */
export function tellsEarly({ entries, shares }: Script, stage: Stage): boolean {
  return entries.some(({ named }) =>
    named ? isDue(named.fault, stage) : shares.some(({ value }) => isDue(value.fault, stage)),
  );
}
