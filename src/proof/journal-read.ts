import { createReadStream } from 'node:fs';
import { messageOf, WirefaultError } from '../errors.js';
import { type Ledger, ledgerSchema } from './ledger.js';

/** Reads a journal, line by line. */
export type JournalLine =
  /** `text` is the line as it stands in the file, with fields that this version doesn't know. */
  | { readonly kind: 'ledger'; readonly ledger: Ledger; readonly text: string }
  /** `number` counts lines from 1; `reason` says on one line what is wrong. */
  | { readonly kind: 'bad'; readonly number: number; readonly reason: string };

/** Issues told of one line; the others are counted. */
const MAX_ISSUES = 3;

/** @throws WirefaultError `bad_evidence` where the file can't be read */
export async function* readJournal(path: string): AsyncGenerator<JournalLine> {
  let number = 0;
  for await (const text of linesOf(path)) {
    number++;
    if (text.trim() === '') continue;
    yield judge(text, number);
  }
}

function judge(text: string, number: number): JournalLine {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    return { kind: 'bad', number, reason: `not JSON: ${messageOf(thrown).replace(/\s+/g, ' ')}` };
  }
  const parsed = ledgerSchema.safeParse(value);
  if (parsed.success) return { kind: 'ledger', ledger: parsed.data, text };
  const { issues } = parsed.error;
  const told = issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message));
  const more = issues.length > MAX_ISSUES ? `; and ${issues.length - MAX_ISSUES} more` : '';
  return { kind: 'bad', number, reason: `${told.join('; ')}${more}` };
}

/** Not `node:readline`, which also ends a line at U+2028: a character that JSON strings may hold. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const piece of createReadStream(path, 'utf8')) {
      const lines = `${rest}${piece}`.split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (thrown) {
    throw new WirefaultError('bad_evidence', `journal: can't read ${path}: ${messageOf(thrown)}`, { cause: thrown });
  }
  if (rest !== '') yield rest;
}
