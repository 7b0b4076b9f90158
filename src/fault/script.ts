import type { RandomWeights } from './catalogue.js';
import { draw } from './random.js';
import type { PlayedWord, ScriptWord } from './word.js';

/**
 * The script: which behavior each attempt gets. A pure function of the attempt's number; the only state is the
 * count of attempts, which each lane keeps for itself.
 */
export interface Script {
  /** The entries that answer requests, each with the refusal windows that open when its exchange ends. */
  readonly entries: readonly {
    readonly name: Exclude<ScriptWord, 'connection_refused'>;
    readonly refusals: number;
  }[];
  /** Refusal windows before the first request. */
  readonly leadingRefusals: number;
  readonly repeatLast: boolean;
  readonly seed: number;
  readonly weights: RandomWeights;
}

/** What one attempt gets. */
export type Selection =
  | {
      readonly kind: 'behavior';
      readonly lane: string;
      /** Counts from 1 within the lane. */
      readonly attempt: number;
      /** The word in the script, `random` perhaps. */
      readonly scripted: ScriptWord;
      readonly behavior: PlayedWord;
      /** Refusal windows that open just before this exchange ends. */
      readonly refusals: number;
    }
  | { readonly kind: 'exhausted'; readonly lane: string; readonly attempt: number };

export function scriptOf(
  sequence: readonly ScriptWord[],
  options: { readonly repeatLast: boolean; readonly seed: number; readonly weights: RandomWeights },
): Script {
  let leadingRefusals = 0;
  const entries: { name: Exclude<ScriptWord, 'connection_refused'>; refusals: number }[] = [];
  for (const name of sequence) {
    const before = entries.at(-1);
    if (name !== 'connection_refused') entries.push({ name, refusals: 0 });
    else if (before) before.refusals++;
    else leadingRefusals++;
  }
  return { entries, leadingRefusals, ...options };
}

export function select(script: Script, lane: string, attempt: number): Selection {
  const last = script.entries.length - 1;
  const index = script.repeatLast ? Math.min(attempt - 1, last) : attempt - 1;
  const entry = script.entries[index];
  if (!entry) return { kind: 'exhausted', lane, attempt };
  const behavior = entry.name === 'random' ? draw(script.seed, lane, attempt, script.weights) : entry.name;
  return { kind: 'behavior', lane, attempt, scripted: entry.name, behavior, refusals: entry.refusals };
}
