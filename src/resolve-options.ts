import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { unknownWord, WirefaultError } from './errors.js';
import {
  BEHAVIOR_NAMES,
  CONCRETE_BEHAVIOR_NAMES,
  DEFAULT_RANDOM_WEIGHTS,
  type RandomWeights,
} from './fault/catalogue.js';
import { type Script, scriptOf } from './fault/script.js';
import { problemWith } from './fault/word.js';
import {
  DEFAULTS,
  type GivenOptions,
  OPTION_ROWS,
  type ResolvedOptions,
  type ScriptOptions,
  type SimpleOptionName,
  type SimpleOptions,
} from './options.js';

/** Checks options and fills in the defaults; every refusal is one line with the option, the value and what is allowed. */

/** Options of the library that are checked where they are used. */
const OTHER_OPTION_NAMES = ['onEvent', 'requestHistory', 'ledgerHistory', 'redact'];

const SCRIPT_OPTION_NAMES = ['sequence', 'repeatLast', 'randomSeed', 'randomWeights'] as const;

/** How options are named in messages: `chunkSize` in the library, `--chunk-size` on the command line. */
export type Naming = (option: string) => string;

function refused(name: string, value: unknown, allowed: string): WirefaultError {
  // JSON has no word for NaN and Infinity.
  const shown = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return new WirefaultError('bad_option', `${name}: ${shown} is not allowed; expected ${allowed}`);
}

/**
 * Checks every option and fills in the defaults.
 * @throws WirefaultError `bad_option` or `bad_script`: one line with the option, the value and what is allowed
 */
export function resolveOptions(given: GivenOptions, naming: Naming): ResolvedOptions {
  const known: readonly string[] = [...Object.keys(OPTION_ROWS), ...SCRIPT_OPTION_NAMES, ...OTHER_OPTION_NAMES];
  for (const name of Object.keys(given)) {
    if (!known.includes(name)) throw new WirefaultError('bad_option', unknownWord('option', name, known));
  }
  const simple = Object.fromEntries(
    Object.entries(OPTION_ROWS).map(([name, row]) => {
      const value: unknown = given[name as SimpleOptionName];
      if (value === undefined) return [name, DEFAULTS[name as SimpleOptionName]];
      // A key that is refused is a secret all the same.
      const shown = name === 'apiKey' ? '(hidden)' : value;
      if (!row.schema.safeParse(value).success) throw refused(naming(name), shown, row.allowed);
      return [name, value];
    }),
  ) as { -readonly [K in SimpleOptionName]: SimpleOptions[K] } & Pick<
    ResolvedOptions,
    'apiKey' | 'requestId' | 'journal' | 'capture'
  >;
  if (simple.contentBlocks > 0 && given.successText !== undefined) {
    const message = `${naming('contentBlocks')}: can't be set together with ${naming('successText')}; both are the text of an answer`;
    throw new WirefaultError('bad_option', message);
  }
  return {
    ...simple,
    partialText: simple.contentBlocks > 0 ? given.partialText : simple.partialText,
    script: resolveScript(given, naming),
  };
}

function resolveScript(given: ScriptOptions, naming: Naming): Script {
  const { sequence = ['success'], repeatLast = given.sequence === undefined, randomSeed, randomWeights } = given;
  if (!Array.isArray(sequence) || sequence.length === 0) {
    throw refused(naming('sequence'), sequence, `a list of at least one behavior (${BEHAVIOR_NAMES.join(', ')})`);
  }
  for (const word of sequence) {
    const problem = problemWith(String(word));
    if (problem) throw new WirefaultError('bad_script', `${naming('sequence')}: ${problem}`);
  }
  if (typeof repeatLast !== 'boolean') throw refused(naming('repeatLast'), repeatLast, 'true or false');
  if (!sequence.includes('random')) {
    for (const [name, value] of Object.entries({ randomSeed, randomWeights })) {
      if (value === undefined) continue;
      throw new WirefaultError('bad_option', `${naming(name)}: has no meaning without random in ${naming('sequence')}`);
    }
  }
  if (randomSeed !== undefined && !z.int().min(0).max(0xffff_ffff).safeParse(randomSeed).success) {
    throw refused(naming('randomSeed'), randomSeed, 'a whole number from 0 to 4294967295');
  }
  if (repeatLast && sequence.at(-1) === 'connection_refused') {
    const message =
      `${naming('sequence')}: connection_refused can't be the last entry with ${naming('repeatLast')}, since no request ` +
      'could ever use it up; end the sequence with a behavior that answers';
    throw new WirefaultError('bad_script', message);
  }
  return scriptOf(sequence, {
    repeatLast,
    seed: randomSeed ?? randomInt(0x1_0000_0000),
    weights:
      randomWeights === undefined ? DEFAULT_RANDOM_WEIGHTS : checkedWeights(randomWeights, naming('randomWeights')),
  });
}

function checkedWeights(weights: RandomWeights, name: string): RandomWeights {
  for (const [behavior, weight] of Object.entries(weights)) {
    if (!CONCRETE_BEHAVIOR_NAMES.some((known) => known === behavior)) {
      throw new WirefaultError('bad_option', `${name}: ${unknownWord('behavior', behavior, CONCRETE_BEHAVIOR_NAMES)}`);
    }
    if (typeof weight !== 'number' || !Number.isFinite(weight) || weight < 0) {
      throw refused(`${name} ${behavior}`, weight, 'a number of at least 0');
    }
  }
  if (!Object.values(weights).some((weight) => weight > 0)) {
    throw refused(name, weights, 'at least one weight above 0');
  }
  return weights;
}
