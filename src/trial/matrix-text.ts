import { type Paint, printable, type Style } from '../proof/paint.js';
import { FLAKY, type MatrixTable } from './matrix-table.js';

/** The table of a matrix for a terminal: clients × faults. Ends with a newline. Pure. */
export function matrixText({ faults, rows, notRun }: MatrixTable, paint: Paint): string {
  const body = [
    ...rows.map(({ client, cells }) => [client, ...faults.map((fault) => cells.get(fault)?.text ?? '-')]),
    ...notRun.map(({ client, because }) => [client, `N/A: ${because}`]),
  ].map((cells) => cells.map(printable));
  const widths = ['client', ...faults].map((head, n) =>
    Math.max(head.length, ...body.map((cells) => (cells[1]?.startsWith('N/A') && n > 0 ? 0 : (cells[n] ?? '').length))),
  );
  const padded = (text: string, n: number): string => text.padEnd(widths[n] ?? 0);
  const head = ['client', ...faults]
    .map((text, n) => paint('bold', padded(text, n)))
    .join('  ')
    .trimEnd();
  const lines = body.map((cells) =>
    cells
      .map((text, n) =>
        n === 0 ? padded(text, n) : paint(styleOf(text.slice(0, 3) === 'N/A' ? 'N/A' : text), padded(text, n)),
      )
      .join('  ')
      .trimEnd(),
  );
  return `${[head, ...lines].join('\n')}\n`;
}

function styleOf(verdict: string): Style {
  if (verdict.startsWith(FLAKY)) return 'magenta';
  if (['complete', 'recovered', 'detected'].includes(verdict)) return 'green';
  return ['invalid', 'N/A', '-'].includes(verdict) ? 'dim' : verdict === 'duplicated' ? 'yellow' : 'red';
}
