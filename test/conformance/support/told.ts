import { createHash } from 'node:crypto';
import type { Told } from './stream-case.js';

/** Outcomes in words, for tables that are compared and for people. */

const LONGEST = 120;

/** Text as it is written in JSON. Of a long one its beginning, and what tells it from any other. */
export function quoted(text: string): string {
  if (text.length <= LONGEST) {
    return JSON.stringify(text).replaceAll(/[\u007f-\u009f\u2028\u2029\ufeff]/g, escaped);
  }
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 8);
  return `${JSON.stringify(`${text.slice(0, 12)}…`)} (${text.length} characters, ${digest})`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function one(told: Told): string {
  if ('comment' in told) return `comment ${quoted(told.comment)}`;
  if ('retry' in told) return `retry ${told.retry}`;
  const { data, type = 'message', id = '' } = told;
  return `${type === 'message' ? '' : `${quoted(type)}: `}${quoted(data)}${id === '' ? '' : ` with id ${quoted(id)}`}`;
}

/** As few words as tell everything: runs of like items are counted. */
function inWords(all: readonly Told[]): string {
  if (all.length === 0) return 'nothing';
  if (all.length <= 8) return all.map(one).join(', ');
  const words = all.map(one);
  const digest = createHash('sha256').update(words.join(', ')).digest('hex').slice(0, 8);
  return `${words.slice(0, 2).join(', ')} … ${words.at(-1)} (${all.length} in all, ${digest})`;
}

/** One connection after the other. */
export function connectionsInWords(all: readonly (readonly Told[])[]): string {
  return all.map(inWords).join('; then ');
}
