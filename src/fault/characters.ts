import type { Mark, Marked } from '../sse/mark.js';
import { bodyOf, contentOf, type Stretches, stretchesOf } from './body-bytes.js';

/**
 * Characters of an answer and where they end in its bytes: JSON writes some of them as escapes, and UTF-8 some of them
 * as several bytes.
 */
interface Character {
  readonly bytes: number;
  /** What it is once the JSON is read. */
  readonly text: string;
  readonly written: string;
}

/** A JSON escape, a pair of escaped surrogates, or one code point (RFC 8259, section 7). */
const JSON_CHARACTER = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[\s\S]/gu;

/** The characters between the quotes of a JSON string, a marked one or several in a row. */
function charactersIn(content: Stretches): Character[] {
  return Array.from(content.bytes.toString('utf8').matchAll(JSON_CHARACTER), ([written]) => ({
    written,
    bytes: Buffer.byteLength(written),
    text: written.startsWith('\\') ? String(JSON.parse(`"${written}"`)) : written,
  }));
}

/** Where each code point of the answer's text ends. */
export function codePointsOfText(answer: Marked): number[] {
  const content = contentOf(answer, 'text');
  let at = 0;
  return charactersIn(content).map(({ bytes }) => {
    at += bytes;
    return content.after(at);
  });
}

/** The text that is in the first `length` bytes of the answer, in marks that end there at the latest. */
export function textWithin({ bytes, marks }: Marked, length: number): string {
  const whole = stretchesOf(
    bytes,
    marks.filter((mark) => mark.kind === 'text' && mark.end <= length),
  );
  return charactersIn(whole)
    .map(({ text }) => text)
    .join('');
}

/** Where each byte of the tool calls' arguments ends; those of one escaped character end together. */
export function bytesOfArguments({ bytes, marks }: Marked): number[] {
  const calls = marks.filter(({ kind }) => kind === 'tool_args');
  return calls.some(({ raw }) => raw) ? calls.flatMap(plainBytes) : escapedBytes(stretchesOf(bytes, calls));
}

function plainBytes(mark: Pick<Mark, 'start' | 'end'>): number[] {
  return Array.from({ length: mark.end - mark.start }, (_, n) => mark.start + n + 1);
}

function escapedBytes(content: Stretches): number[] {
  let at = 0;
  return charactersIn(content).flatMap(({ bytes, text }) => {
    const length = Buffer.byteLength(text);
    const start = at;
    at += bytes;
    return Array.from({ length }, (_, n) => content.after(bytes === length ? start + n + 1 : at));
  });
}

/** The places between the bytes of each character of several bytes, by the lead bytes of UTF-8 (RFC 3629, section 3). */
export function insidesOfCharacters(answer: Marked): number[][] {
  const body = bodyOf(answer);
  const found: number[][] = [];
  let at = 0;
  while (at < body.bytes.length) {
    const lead = body.bytes[at] ?? 0;
    const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
    const start = at;
    if (length > 1) found.push(Array.from({ length: length - 1 }, (_, n) => body.after(start + n + 1)));
    at += length;
  }
  return found;
}

/** Where the characters of several bytes are cut in half. */
export function middlesOfCharacters(answer: Marked): number[] {
  return insidesOfCharacters(answer).flatMap((inside) => inside[Math.floor((inside.length + 1) / 2) - 1] ?? []);
}

/** The places between CR and LF in the body. */
export function middlesOfLineEnds(answer: Marked): number[] {
  const body = bodyOf(answer);
  const found: number[] = [];
  for (let at = body.bytes.indexOf('\r\n'); at >= 0; at = body.bytes.indexOf('\r\n', at + 2))
    found.push(body.after(at + 1));
  return found;
}
