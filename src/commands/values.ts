import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { messageOf, WirefaultError } from '../errors.js';
import { SECRET_HEADERS } from '../http/secret-headers.js';

/**
 * The value of a flag that counts something; `undefined` where it wasn't given.
 * @throws WirefaultError `bad_option`
 */
export function wholeNumber(flag: string, text: string | undefined, min: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min) return value;
  const message = `${flag}: ${JSON.stringify(text)} is not allowed; expected a whole number of at least ${min}`;
  throw new WirefaultError('bad_option', message);
}

/**
 * The bytes of a file, or of stdin for `-`.
 * @throws WirefaultError with `code` where it can't be read
 */
export async function bytesOf(
  flag: string,
  path: string,
  code: 'bad_option' | 'bad_evidence' = 'bad_option',
): Promise<Buffer> {
  try {
    return path === '-' ? await buffer(process.stdin) : await readFile(path);
  } catch (thrown) {
    throw new WirefaultError(code, `${flag}: can't read ${path}: ${messageOf(thrown)}`, { cause: thrown });
  }
}

/** Of an option that may be given again: all of its values. */
export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];

/**
 * A header as it is given on the command line, `Name: value`.
 * @throws WirefaultError `bad_option`
 */
export function headerOf(text: string): readonly [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  const [word = ''] = /^[^:\s]*/.exec(text) ?? [];
  const shown = JSON.stringify(SECRET_HEADERS.has(word.toLowerCase()) ? `${word} (hidden)` : text);
  throw new WirefaultError('bad_option', `--header: ${shown} is not allowed; expected "Name: value"`);
}
