import type { ContentKind, Role } from '../sse/dialect.js';

/** The colors of the picture, for light and dark backgrounds. Pure. */

/** Fill and border by day, fill and border by night. */
type Paint = readonly [light: string, lightBorder: string, dark: string, darkBorder: string];

const ROLES: Readonly<Record<Role, Paint>> = {
  open: ['#cfe0fc', '#7da7e8', '#1d3a66', '#4a7cc4'],
  start: ['#c9edf2', '#67b8c6', '#123f49', '#3a8c9c'],
  delta: ['#cdf0cf', '#6dbb76', '#16432a', '#3f9a5f'],
  done: ['#e3efc4', '#a3bd5f', '#33421a', '#7c9a3c'],
  finish: ['#e5d9fb', '#a98be0', '#3a2a61', '#8465c4'],
  usage: ['#e8e6df', '#b3ad9c', '#3a3933', '#7d786b'],
  terminal: ['#cdb9f5', '#8a66d9', '#51358f', '#a585ea'],
  keepalive: ['#fdeeb3', '#d9b63f', '#4d3f10', '#b3912c'],
  error: ['#fcd0cb', '#e07b70', '#5f2320', '#cf5d52'],
  malformed: ['#fbcfe4', '#dd77ab', '#5a2143', '#c75b93'],
  extra: ['#ddd6ce', '#a08f7c', '#40372d', '#8f7d69'],
};

const CONTENT: Readonly<Record<ContentKind, Paint>> = {
  text: ['#e6f8e7', '#6dbb76', '#113320', '#3f9a5f'],
  reasoning: ['#e9f0fe', '#7da7e8', '#172b4a', '#4a7cc4'],
  refusal: ['#fde6e3', '#e07b70', '#451b19', '#cf5d52'],
  tool_args: ['#fff2dd', '#dda24a', '#45300f', '#b98330'],
};

const OTHERS = {
  'r-none': ['#e8e6df', '#b3ad9c', '#3a3933', '#7d786b'],
  head: ['#dde5ee', '#93a8bf', '#263444', '#5c7590'],
  size: ['#d9dfe6', '#9aa7b6', '#343f4c', '#66758a'],
  data: ['#eef1f5', '#a9b4c1', '#1f2731', '#566374'],
  write: ['#d3e3f5', '#6f9bc9', '#1b3551', '#4b80b5'],
  pulse: ['#fdeeb3', '#d9b63f', '#4d3f10', '#b3912c'],
  wait: ['#ffffff', '#b6bfca', '#0f141b', '#4d5866'],
  settle: ['#eef7f6', '#5fa8a0', '#12322f', '#438f86'],
  gate: ['#f3ecfd', '#9a7bd0', '#2c2145', '#7d5fb8'],
  'end-hard': ['#f4b3ab', '#cf2c1d', '#7a1f17', '#f0665a'],
  'end-soft': ['#fbd6ae', '#d98324', '#5c3710', '#dd8f3d'],
  'end-stall': ['#fdeeb3', '#d9b63f', '#4d3f10', '#b3912c'],
  'end-fine': ['#cdf0cf', '#6dbb76', '#16432a', '#3f9a5f'],
  mixed: ['#d8dce2', '#98a1ad', '#39414c', '#6b7684'],
  unsent: ['#f5f7f9', '#b6bfca', '#171e27', '#4d5866'],
} as const satisfies Record<string, Paint>;

const PAINTS: readonly (readonly [string, Paint])[] = [
  ...Object.entries(ROLES).map(([role, paint]) => [`r-${role}`, paint] as const),
  ...Object.entries(CONTENT).map(([kind, paint]) => [`c-${kind}`, paint] as const),
  ...Object.entries(OTHERS),
];

/** What isn't a box: page, lanes, words, the cut. */
const LIGHT = { page: '#ffffff', lane: '#f5f7f9', ink: '#1f2733', dim: '#5d6a7a', line: '#93a0af', cut: '#d1160b' };
const DARK = { page: '#0f141b', lane: '#171e27', ink: '#e4eaf1', dim: '#9aa7b6', line: '#5d6a7a', cut: '#ff5347' };

function colors(theme: typeof LIGHT, night: boolean): string[] {
  return [
    `.page{fill:${theme.page}}`,
    `.lane{fill:${theme.lane}}`,
    `.veil{fill:${theme.lane};opacity:.64}`,
    `text{fill:${theme.ink}}`,
    `.dim{fill:${theme.dim}}`,
    `.unsent text,.never text{fill:${theme.dim}}`,
    `.tick{stroke:${theme.line}}`,
    `.cut,.cut text{fill:${theme.cut};stroke:none}`,
    `.flag text{fill:${theme.page}}`,
    `.foot{fill:${theme.page};opacity:.55}`,
    `.beat{fill:${theme.ink}}`,
    ...PAINTS.map(([name, paint]) => {
      const [fill, border] = night ? paint.slice(2) : paint;
      return `.${name}{fill:${fill};stroke:${border}}`;
    }),
  ];
}

/** Every rule stays within the picture, also where it stands in a page. */
function scoped(rules: readonly string[]): string {
  return rules
    .map((rule) =>
      rule.replace(/^[^{]+/, (selectors) =>
        selectors
          .split(',')
          .map((one) => `.wirefault ${one}`)
          .join(','),
      ),
    )
    .join('\n');
}

const SHAPES = [
  // Not the shorthand `font`, which some renderers don't read.
  "text{font-family:ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:11px;stroke:none;white-space:pre}",
  '.m{text-anchor:middle}',
  '.e{text-anchor:end}',
  '.s{font-size:10px}',
  ".title{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:18px;font-weight:600}",
  '.name{font-weight:700;font-size:12px}',
  '.flag text{font-weight:700}',
  '.wait,.unsent,.never{stroke-dasharray:3 2}',
  '.never{opacity:.6}',
  '.foot,.beat{stroke:none}',
  '.band path{fill:none}',
  '.veil{pointer-events:none}',
];

/** The rules for whatever stands within an element of the class `wirefault`. */
export const RULES = `${scoped([...SHAPES, ...colors(LIGHT, false)])}
@media (prefers-color-scheme:dark){
${scoped(colors(DARK, true))}
}`;

export const STYLE = `<style>
${RULES}
</style>`;
