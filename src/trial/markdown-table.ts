import { printable } from '../proof/paint.js';

/** Tables of Markdown (GitHub's). Pure. */

/** @param cells are Markdown already */
export function row(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** The lines of a table, and an empty one behind it. */
export function tableLines(titles: readonly string[], rows: readonly string[]): string[] {
  return [row(titles), row(titles.map(() => '---')), ...rows, ''];
}

/** Any text on one line of a cell: no HTML, no picture that would be fetched, nothing that steers a terminal. */
export function escaped(text: string): string {
  return printable(text.replaceAll(/[\n\t]/g, ' '))
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll('![', '!\\[');
}
