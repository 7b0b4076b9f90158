import * as vega from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import type { Chart } from './stats.js';

/** A chart as SVG, which has a place on light and on dark pages: colors that say so stand for what a page's text is. */
const TEXT = '#24292f';
const GRID = '#d0d7de';
const OWN = '#0969da';
const OTHER = '#8c959f';

/** What the colors are on a dark page; attributes give way to a style sheet. */
const DARK: Readonly<Record<string, string>> = {
  [TEXT]: '#e6edf3',
  [GRID]: '#3d444d',
  [OWN]: '#4493f8',
  [OTHER]: '#848d97',
};

const WIDTH = 520;

function specOf({ title, axis, scale, rows }: Chart): TopLevelSpec {
  const values = rows.map(({ name, group = '', value: { median, min, max } }) => ({
    name,
    group,
    median,
    min,
    max,
    own: name.startsWith('wirefault') || name.startsWith('CLI'),
  }));
  const several = values.some(({ own }) => own) && values.some(({ own }) => !own);
  const grouped = values.some(({ group }) => group !== '');
  // A logarithm has no place for 0 to begin at.
  const domain = { type: 'log', nice: true } as const;
  const x = { type: 'quantitative', title: axis, scale: scale === 'log' ? domain : { zero: true } } as const;
  const y = { field: 'name', type: 'nominal', sort: null, title: null } as const;
  const color = several ? { condition: { test: 'datum.own', value: OWN }, value: OTHER } : { value: OWN };
  const mark =
    scale === 'log'
      ? ({ type: 'point', filled: true, size: 90, opacity: 1 } as const)
      : ({ type: 'bar', height: { band: 0.7 } } as const);
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: 'transparent',
    title: { text: title, anchor: 'start', color: TEXT, fontSize: 13, offset: 12 },
    data: { values },
    facet: grouped
      ? { row: { field: 'group', type: 'nominal', sort: null, title: null } }
      : { row: { field: 'group', header: null } },
    spec: {
      width: WIDTH,
      height: { step: 24 },
      layer: [
        { mark, encoding: { y, x: { ...x, field: 'median' }, color } },
        {
          mark: { type: 'rule', color: TEXT, strokeWidth: 1.5 },
          encoding: { y, x: { ...x, field: 'min' }, x2: { field: 'max' } },
        },
      ],
    },
    config: {
      font: 'system-ui, sans-serif',
      view: { stroke: null },
      axis: {
        labelColor: TEXT,
        titleColor: TEXT,
        gridColor: GRID,
        domainColor: GRID,
        tickColor: GRID,
        labelLimit: 240,
        labelFontSize: 12,
        titleFontSize: 12,
      },
      header: { labelColor: TEXT, labelFontSize: 12, labelAngle: 0, labelAnchor: 'start', labelOrient: 'top' },
    },
  } as TopLevelSpec;
}

export async function svgOf(chart: Chart): Promise<string> {
  const view = new vega.View(vega.parse(compile(specOf(chart)).spec), { renderer: 'none' });
  const svg = await view.toSVG();
  view.finalize();
  const rules = Object.entries(DARK).map(
    ([light, dark]) => `[fill="${light}"]{fill:${dark}}[stroke="${light}"]{stroke:${dark}}`,
  );
  return `${svg.replace(/(<svg[^>]*>)/, `$1<style>@media(prefers-color-scheme:dark){${rules.join('')}}</style>`)}\n`;
}
