/** The beginning and the end of a text, and how much between them was left out. Pure. */
export interface Excerpt {
  readonly head: string;
  /** Characters. */
  readonly leftOut: number;
  readonly tail: string;
}

/** @param most characters that are kept */
export function excerptOf(text: string, most: number): Excerpt {
  if (text.length <= most) return { head: text, leftOut: 0, tail: '' };
  const half = Math.floor(most / 2);
  return { head: text.slice(0, half), leftOut: text.length - 2 * half, tail: text.slice(text.length - half) };
}
