import { unknownWord } from '../errors.js';
import { type BehaviorName, BUILT_IN, type Catalogue } from './catalogue.js';
import { problemsOf } from './contradictions.js';
import { isPosition, POSITION_FORMS, type Position } from './position.js';
import { CUT_TEARDOWNS, type CutTeardown, type FaultSpec } from './spec.js';

/**
 * The words of a script: a behavior's name, `teardown@position` (a healthy answer that ends there), or
 * `behavior@position` (the behavior with its own cut moved).
 */
export type CutWord = `${string}@${string}`;
/** A built-in behavior, `random`, a cut, or a behavior of one's own. */
export type ScriptWord = BehaviorName | 'random' | CutWord | (string & {});

/** What a word means: a fault with the name by which it is told, or one line that says what is wrong with the word. */
export type Meaning = { readonly name: string; readonly fault: FaultSpec } | { readonly problem: string };

/** A healthy answer that has the place. */
function healthyAnswer(position: string): FaultSpec {
  return BUILT_IN.get(position.startsWith('tool_args') ? 'tool_call_success' : 'success')?.fault ?? {};
}

function moved(fault: FaultSpec, teardown: CutTeardown | undefined, at: Position): FaultSpec | undefined {
  const cut = teardown ? { teardown } : fault.cut;
  return cut ? { ...fault, cut: { ...cut, at } } : undefined;
}

/** The fault that a word means, in a catalogue. `random` has none of its own. */
export function meaningOf(word: string, catalogue: Catalogue = BUILT_IN): Meaning {
  const at = word.indexOf('@');
  if (at < 0) {
    const behavior = catalogue.get(word);
    if (behavior) return { name: word, fault: behavior.fault };
    return { problem: unknownWord('behavior', word, [...catalogue.keys(), 'random']) };
  }
  const what = word.slice(0, at);
  const position = word.slice(at + 1);
  const teardown = CUT_TEARDOWNS.find((known) => known === what);
  const behavior = catalogue.get(what);
  if (!teardown && !behavior) {
    const movable = [...catalogue.values()].filter(({ fault }) => fault.cut).map(({ name }) => name);
    return { problem: unknownWord('teardown or behavior', what, [...CUT_TEARDOWNS, ...movable]) };
  }
  // A behavior that is called as a teardown has that teardown, so that both mean the same.
  const base = teardown || !behavior ? healthyAnswer(position) : behavior.fault;
  if (!teardown && !base.cut) {
    const message = `${JSON.stringify(word)}: ${what} has no cut that could be moved; use ${CUT_TEARDOWNS.join('@…, ')}@…`;
    return { problem: message };
  }
  if (!isPosition(position)) return { problem: unknownWord('position', position, POSITION_FORMS) };
  const fault = moved(base, teardown, position);
  const [problem] = fault ? problemsOf(fault) : [];
  if (!fault || problem) return { problem: `${JSON.stringify(word)}: ${problem?.message ?? 'it has no cut'}` };
  return { name: word, fault };
}

/** What is wrong with a word, in one line that says what is right; `undefined` for a good one. */
export function problemWith(word: string, catalogue: Catalogue = BUILT_IN): string | undefined {
  if (word === 'random') return undefined;
  const meaning = meaningOf(word, catalogue);
  return 'problem' in meaning ? meaning.problem : undefined;
}
