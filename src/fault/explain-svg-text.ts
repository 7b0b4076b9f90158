/** Text for SVG: any bytes as XML that is well-formed, and as much of a text as there is room for. Pure. */

/** Pixels of the letters in boxes. */
export const LABEL_PX = 11;

/** Advance of a monospaced character, as a part of the font's size; so fonts that differ by reader fit the same boxes. */
const ADVANCE = 0.6;

/** Pixels that `text` takes in a monospaced font of `size` pixels. */
export function widthOf(text: string, size: number): number {
  return cellsOf(text) * size * ADVANCE;
}

/** Monospaced characters that fit. */
export function columnsIn(width: number, size: number): number {
  return Math.max(0, Math.floor(width / (size * ADVANCE)));
}

/** East Asian characters and emoji take two cells, marks that combine none. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;
const COMBINING = /[\p{Mn}\u200d]/u;

export function cellsOf(text: string): number {
  let cells = 0;
  for (const character of text) cells += COMBINING.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return cells;
}

/**
 * Control characters, lone surrogates and U+FFFE are no characters of XML 1.0 (section 2.2), even as references; what
 * turns the direction of writing or breaks a line would make the picture say something else than the bytes.
 */
const UNSHOWABLE =
  /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/gu;
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return SHORT[character] ?? (code < 0x100 ? `\\x${hex.padStart(2, '0')}` : `\\u{${hex}}`);
}

/** A text on one line, of characters that can be seen and that XML allows. */
export function visible(text: string): string {
  return text.replaceAll(UNSHOWABLE, escaped);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Up to `most` bytes as text on one line. A backslash is doubled, so that what is escaped can be told from what is not. */
export function visibleBytes(bytes: Buffer, most: number): string {
  let end = Math.min(bytes.length, most);
  // A character that the limit would cut is left out whole.
  if (end < bytes.length) while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return visible(decoded(bytes.subarray(0, end))) + (end < bytes.length ? '…' : '');
}

/** Bytes that are no UTF-8 (compressed ones) are shown one by one. */
function decoded(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes).replaceAll('\\', '\\\\');
  } catch {
    return bytes
      .toString('latin1')
      .replaceAll('\\', '\\\\')
      .replaceAll(/[^\x20-\x7e]/g, escaped);
  }
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** A text as XML's content or as an attribute's value. */
export function xml(text: string): string {
  return visible(text).replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}

/** A text that is cut where it is too long; texts can be long, so no more of it is looked at than fits. */
export function clipped(text: string, columns: number): string {
  let kept = '';
  let keptAll = '';
  let cells = 0;
  for (const character of text) {
    cells += cellsOf(character);
    if (cells > columns) return kept === '' ? '' : `${kept}…`;
    keptAll += character;
    if (cells < columns) kept = keptAll;
  }
  return text;
}

/** A name broken into lines at its dots, underscores and spaces. */
export function wrapped(name: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of name.split(/(?<=[._ ])/)) {
    const last = lines.at(-1);
    if (last !== undefined && cellsOf((last + word).trimEnd()) <= columns) lines[lines.length - 1] = last + word;
    else lines.push(word);
  }
  return lines.map((line) => line.trimEnd());
}
