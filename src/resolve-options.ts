import { unknownWord, WirefaultError } from './errors.js';
import { OPTION_ROWS, type SimpleOptionName, type SimpleOptions } from './option-rows.js';
import { DEFAULTS, type GivenOptions, type ResolvedOptions } from './options.js';
import { type Naming, refused, withoutPassword } from './refused.js';
import { resolveScripts } from './resolve-script.js';

/** Checks options and fills in the defaults; every refusal is one line with the option, the value and what is allowed. */

/** Options of the library that are checked where they are used. */
const OTHER_OPTION_NAMES = ['onEvent', 'requestHistory', 'ledgerHistory', 'redact'];

const SCRIPT_OPTION_NAMES = [
  'behaviors',
  'sequence',
  'repeatLast',
  'randomSeed',
  'randomWeights',
  'laneBy',
  'laneIgnore',
  'lanes',
  'rules',
  'control',
] as const;

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
      const shown =
        name === 'apiKey' || name === 'controlToken'
          ? '(hidden)'
          : name === 'state' && typeof value === 'string'
            ? withoutPassword(value)
            : value;
      if (!row.schema.safeParse(value).success) throw refused(naming(name), shown, row.allowed);
      return [name, value];
    }),
  ) as { -readonly [K in SimpleOptionName]: SimpleOptions[K] } & Pick<
    ResolvedOptions,
    | 'apiKey'
    | 'requestId'
    | 'journal'
    | 'capture'
    | 'replay'
    | 'controlPort'
    | 'controlToken'
    | 'state'
    | 'journalStream'
  >;
  if (simple.contentBlocks > 0 && given.successText !== undefined) {
    const message = `${naming('contentBlocks')}: can't be set together with ${naming('successText')}; both are the text of an answer`;
    throw new WirefaultError('bad_option', message);
  }
  if (simple.journalStream !== undefined && simple.state === undefined) {
    const message = `${naming('journalStream')}: has no meaning without ${naming('state')}`;
    throw new WirefaultError('bad_option', message);
  }
  const { control = true } = given;
  if (typeof control !== 'boolean') throw refused(naming('control'), control, 'true or false');
  return {
    ...simple,
    control,
    partialText: simple.contentBlocks > 0 ? given.partialText : simple.partialText,
    ...resolveScripts(given, naming),
  };
}
