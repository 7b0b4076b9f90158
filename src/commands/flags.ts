import { type Command, Option } from 'commander';
import { OPTION_ROWS, type SimpleOptionName } from '../option-rows.js';
import { DEFAULTS, type GivenOptions } from '../options.js';

/** The simple options of the library as flags: the same names in kebab-case. */

/** Flags that aren't called as the library's options are. */
const FLAG_NAMES: Readonly<Record<string, string>> = { randomSeed: 'seed' };

/** Where the command line's default is another than the library's. */
export const CLI_DEFAULTS = { ...DEFAULTS, port: 8000 } as const;

export function flagOf(option: string): string {
  const name = FLAG_NAMES[option] ?? option;
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Adds a flag for each of `names`, with its meaning and default. */
export function addSimpleFlags(command: Command, names: readonly SimpleOptionName[]): void {
  for (const name of names) {
    const row = OPTION_ROWS[name];
    const value = CLI_DEFAULTS[name];
    const shown = value === undefined ? '' : ` (default: ${value})`;
    command.addOption(new Option(`${flagOf(name)} ${row.argument}`, `${row.meaning}${shown}`));
  }
}

/** What was given by flags; values that can't be understood are left for the library to refuse. */
export function simpleOptionsOf(flags: Readonly<Record<string, unknown>>): GivenOptions {
  const given = Object.entries(OPTION_ROWS).flatMap(([name, row]) => {
    const text = flags[name];
    return typeof text === 'string' ? [[name, row.parse(text)]] : [];
  });
  return Object.fromEntries(given);
}

/** A whole number as text, or the text itself for the library to refuse. */
export function numberOf(text: string): number {
  return OPTION_ROWS.port.parse(text) as number;
}
