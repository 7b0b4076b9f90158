import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { svgOf } from '../../bench/harness/chart.js';
import { pageOf } from '../../bench/harness/page.js';
import { saved } from '../../bench/harness/results.js';
import { barsTable } from '../../bench/harness/stats.js';

/** docs/performance.md and its charts are what the saved results give: `npm run bench -- --page` writes them. */
const docs = (file: string): string =>
  readFileSync(fileURLToPath(new URL(`../../docs/${file}`, import.meta.url)), 'utf8');

describe('docs/performance.md', () => {
  it('is made of the saved results', () => {
    expect(docs('performance.md')).toBe(pageOf(saved()));
  });

  it('shows charts that are made of them, for light and dark pages', async () => {
    const charts = [...saved().values()].flatMap((one) => one.charts);
    expect(charts.length).toBeGreaterThan(0);
    for (const chart of charts) {
      const svg = docs(`performance/${chart.name}.svg`);
      expect({ name: chart.name, same: svg === (await svgOf(chart)) }).toEqual({ name: chart.name, same: true });
      expect(svg).toContain('prefers-color-scheme:dark');
    }
  });

  it('says of every bar what was measured and whether it is reached, by the median', () => {
    const measured = { median: 4, min: 1, max: 9 };
    const one = { what: 'x', measured, unit: 'ms', digits: 0 };
    const { rows } = barsTable([
      { ...one, bar: { atMost: 5 } },
      { ...one, bar: { atMost: 2 } },
      { ...one, bar: { atLeast: 5 } },
    ]);
    expect(rows.map((row) => row.slice(2))).toEqual([
      ['≤ 5 ms', 'yes', '0.80'],
      ['≤ 2 ms', 'no', '2.00'],
      ['≥ 5 ms', 'no', '0.80'],
    ]);
  });
});
