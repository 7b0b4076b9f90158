import { unknownWord, WirefaultError } from '../errors.js';
import { VERDICTS } from './evidence.js';
import { FINDING_KINDS } from './finding-rules.js';
import { FLAKY } from './matrix-table.js';

/** All that `--fail-on` can name. */
const FAIL_WORDS: readonly string[] = [...VERDICTS, FLAKY, ...FINDING_KINDS];

/**
 * The words of `--fail-on`, with commas; none where it wasn't given.
 * @throws WirefaultError `bad_option`
 */
export function failWordsOf(text: string | undefined): string[] {
  const words = listed(text) ?? [];
  for (const word of words) {
    if (FAIL_WORDS.includes(word)) continue;
    throw new WirefaultError('bad_option', `--fail-on: ${unknownWord('verdict', word, FAIL_WORDS)}`);
  }
  return words;
}

/** Words with commas between them; `undefined` where there is none. */
export function listed(text: string | undefined): string[] | undefined {
  const words = text
    ?.split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  return words && words.length > 0 ? words : undefined;
}
