import type { Mark, Marked } from '../sse/mark.js';

/**
 * Characters of an answer and where they end in its bytes: JSON writes some of them as escapes, and UTF-8 some of them
 * as several bytes.
 */
interface Character {
  readonly start: number;
  readonly end: number;
  /** What it is once the JSON is read. */
  readonly text: string;
}

/** A JSON escape, a pair of escaped surrogates, or one code point (RFC 8259, section 7). */
const JSON_CHARACTER = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[\s\S]/gu;

/** The characters between the quotes of a JSON string. */
function charactersIn(mark: Mark, bytes: Buffer): Character[] {
  const text = bytes.toString('utf8', mark.start, mark.end);
  let at = mark.start;
  return Array.from(text.matchAll(JSON_CHARACTER), ([written]) => {
    const start = at;
    at += Buffer.byteLength(written);
    return { start, end: at, text: written.startsWith('\\') ? String(JSON.parse(`"${written}"`)) : written };
  });
}

/** Where each code point of the answer's text ends. */
export function codePointsOfText({ bytes, marks }: Marked): number[] {
  return marks
    .filter(({ kind }) => kind === 'text')
    .flatMap((mark) => charactersIn(mark, bytes))
    .map(({ end }) => end);
}

/** Where each byte of the tool calls' arguments ends; those of one escaped character end together. */
export function bytesOfArguments({ bytes, marks }: Marked): number[] {
  return marks
    .filter(({ kind }) => kind === 'tool_args')
    .flatMap((mark) => (mark.raw ? plainBytes(mark) : escapedBytes(mark, bytes)));
}

function plainBytes(mark: Pick<Mark, 'start' | 'end'>): number[] {
  return Array.from({ length: mark.end - mark.start }, (_, n) => mark.start + n + 1);
}

function escapedBytes(mark: Mark, bytes: Buffer): number[] {
  return charactersIn(mark, bytes).flatMap(({ start, end, text }) => {
    const length = Buffer.byteLength(text);
    return end - start === length ? plainBytes({ start, end }) : Array.from({ length }, () => end);
  });
}

/** The characters of several bytes behind the head, by the lead bytes of UTF-8 (RFC 3629, section 3). */
export function multiByteCharacters({ bytes, marks }: Marked): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  let at = marks.find(({ kind }) => kind === 'headers')?.end ?? 0;
  while (at < bytes.length) {
    const lead = bytes[at] ?? 0;
    const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
    if (length > 1) found.push({ start: at, end: at + length });
    at += length;
  }
  return found;
}
