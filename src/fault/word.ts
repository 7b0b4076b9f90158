import { unknownWord } from '../errors.js';
import {
  BEHAVIOR_NAMES,
  type BehaviorName,
  CONCRETE_BEHAVIOR_NAMES,
  type ConcreteBehaviorName,
  faultOf,
} from './catalogue.js';
import { isPosition, POSITIONS } from './position.js';
import { type AnswerFault, CUT_TEARDOWNS, type CutTeardown } from './spec.js';

/**
 * The words of a script: a behavior's name, `teardown@position` (a healthy answer that ends there), or
 * `behavior@position` (the behavior with its own cut moved).
 */
export type CutWord = `${CutTeardown | ConcreteBehaviorName}@${string}`;
export type ScriptWord = BehaviorName | CutWord;
/** A word that answers a request by itself. */
export type PlayedWord = ConcreteBehaviorName | CutWord;

/** What is wrong with a word, in one line that says what is right; `undefined` for a good one. */
export function problemWith(word: string): string | undefined {
  const at = word.indexOf('@');
  if (at < 0) {
    return BEHAVIOR_NAMES.some((name) => name === word) ? undefined : unknownWord('behavior', word, BEHAVIOR_NAMES);
  }
  const what = word.slice(0, at);
  const position = word.slice(at + 1);
  const behavior = CONCRETE_BEHAVIOR_NAMES.find((name) => name === what);
  const movable = CONCRETE_BEHAVIOR_NAMES.filter((name) => faultOf(name).cut !== undefined);
  if (!CUT_TEARDOWNS.some((teardown) => teardown === what)) {
    if (!behavior) return unknownWord('teardown or behavior', what, [...CUT_TEARDOWNS, ...movable]);
    if (!movable.includes(behavior)) {
      return `${JSON.stringify(word)}: ${behavior} has no cut that could be moved; use ${CUT_TEARDOWNS.join('@…, ')}@…`;
    }
  }
  return isPosition(position)
    ? undefined
    : unknownWord(
        'position',
        position,
        POSITIONS.map(({ form }) => form),
      );
}

export function isScriptWord(word: string): word is ScriptWord {
  return problemWith(word) === undefined;
}

/** The fault that a word means. */
export function faultOfWord(word: PlayedWord): AnswerFault {
  const [what = '', position = ''] = word.split('@');
  const behavior = CONCRETE_BEHAVIOR_NAMES.find((name) => name === what);
  // A healthy answer that has the place.
  const healthy = position.startsWith('tool_args') ? 'tool_call_success' : 'success';
  const base = faultOf(behavior ?? healthy);
  if (!isPosition(position)) return base;
  const teardown = CUT_TEARDOWNS.find((known) => known === what);
  const cut = teardown ? { teardown } : base.cut;
  return cut ? { ...base, cut: { ...cut, at: position } } : base;
}
