import type { styleText } from 'node:util';

/** Colors a text for a terminal, or leaves it as it is: `styleText` of node:util, or `plain`. */
export type Paint = (style: Style, text: string) => string;
export type Style = Parameters<typeof styleText>[0];

export const plain: Paint = (_, text) => text;

/** `4380` as `4,380`, in every locale. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

export function plural(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A client's words can hold what would steer the terminal; it is shown as an escape instead. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
