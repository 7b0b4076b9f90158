import { unknownWord, WirefaultError } from '../errors.js';
import { listed } from '../trial/fail-words.js';
import { FIXED_ENDS, isGood } from './ends.js';
import type { LoadReport } from './load-report.js';

/** What `--fail-on` can name besides a status such as `http_503`. */
export const LOAD_FAIL_WORDS: readonly string[] = [...FIXED_ENDS, 'incomplete', 'http_4xx', 'http_5xx'];

/** @throws WirefaultError `bad_option` */
export function loadFailWordsOf(text: string | undefined): string[] {
  const words = listed(text) ?? [];
  for (const word of words) {
    if (LOAD_FAIL_WORDS.includes(word) || /^http_[1-9]\d\d$/.test(word)) continue;
    throw new WirefaultError('bad_option', `--fail-on: ${unknownWord('end', word, LOAD_FAIL_WORDS)}`);
  }
  return words;
}

function names(word: string, kind: string): boolean {
  if (word === 'incomplete') return !isGood(kind);
  return word === kind || (word.endsWith('xx') && kind.startsWith(word.slice(0, -2)));
}

/** A line for each thing that a run isn't allowed to have, and has. */
export function loadFailures(report: LoadReport, words: readonly string[], maxErrors: number | undefined): string[] {
  const counted = (isMeant: (kind: string) => boolean): number =>
    report.ends.reduce((sum, { kind, count }) => sum + (isMeant(kind) ? count : 0), 0);
  const met = words.flatMap((word) => {
    const count = counted((kind) => names(word, kind));
    return count > 0 ? [`--fail-on ${word}: ${count} of ${report.ended}`] : [];
  });
  const errors = counted((kind) => !isGood(kind));
  return maxErrors !== undefined && errors > maxErrors
    ? [...met, `--max-errors ${maxErrors}: ${errors} were not complete`]
    : met;
}
