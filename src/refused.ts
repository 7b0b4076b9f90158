import { WirefaultError } from './errors.js';

/** How options are named in messages: `chunkSize` in the library, `--chunk-size` on the command line. */
export type Naming = (option: string) => string;

/** A value that an option doesn't allow. */
export function refused(name: string, value: unknown, allowed: string): WirefaultError {
  // JSON has no word for NaN and Infinity.
  const shown = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return new WirefaultError('bad_option', `${name}: ${shown} is not allowed; expected ${allowed}`);
}

/** A URL as it may be shown. */
export function withoutPassword(url: string): string {
  return url.replace(/^(\w+:\/\/)[^@/]*@/, '$1');
}
