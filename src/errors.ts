import { closest, distance } from 'fastest-levenshtein';

/** The closed set of reasons why wirefault refuses something. */
export type WirefaultErrorCode =
  | 'bad_option'
  | 'bad_script'
  | 'bad_scenario'
  | 'port_in_use'
  | 'listen_failed'
  | 'plan_impossible'
  | 'journal_failed'
  /** The state that several servers share can't be used. */
  | 'state_failed'
  /** An exchange that isn't in the books, and won't be. */
  | 'no_ledger'
  /** A journal, a witness file or a capture that can't be read as one. */
  | 'bad_evidence'
  /** Recordings that can't be read as such, or a folder that can't hold any. */
  | 'bad_recording'
  /** A window of the port that this machine can't give: it isn't Linux, or lacks a right or a library. */
  | 'window_impossible'
  /** The witness had no way to connect. */
  | 'witness_failed'
  /** A client on trial that can't be run, or asks for nothing. */
  | 'client_failed';

/**
 * The one error that wirefault throws at its callers.
 * `message` is a single line that says what is wrong, where, and what is allowed.
 */
export class WirefaultError extends Error {
  readonly code: WirefaultErrorCode;

  constructor(code: WirefaultErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WirefaultError';
    this.code = code;
  }
}

/** `did you mean "x"?` for a word that isn't one of `known`, or `undefined` where nothing is near. */
export function suggestion(word: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined;
  const near = closest(word.toLowerCase(), known as string[]);
  // A third of the word may be wrong: enough for typos, not enough to suggest something unrelated.
  return distance(word.toLowerCase(), near) <= Math.max(2, Math.floor(word.length / 3))
    ? `did you mean "${near}"?`
    : undefined;
}

/** More words than one wants to read in a message. */
const MANY = 40;
const NEAREST = 8;

/** One line for `unknown behavior "x"` and its like: the word, the nearest right one, and what exists. */
export function unknownWord(what: string, word: string, known: readonly string[]): string {
  const near = suggestion(word, known);
  const from = (other: string): number => distance(word.toLowerCase(), other.toLowerCase());
  const listed =
    known.length > MANY
      ? `${known.length} are known, the nearest ${known
          .toSorted((a, b) => from(a) - from(b))
          .slice(0, NEAREST)
          .join(', ')}`
      : `known: ${known.join(', ')}`;
  return `unknown ${what} ${JSON.stringify(word)}${near ? `, ${near}` : ''} (${listed})`;
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The `code` of a Node system error (`ECONNRESET`), where there is one. */
export function errnoOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}
