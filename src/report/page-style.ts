import { RULES } from '../fault/explain-svg-style.js';
import type { Verdict } from '../trial/evidence.js';

/** The page's style: for day and night, for narrow screens and for paper. Pure. */

/** Background and words by day, the same by night. Words stand on it with a contrast of 4.5 at least (WCAG 2.2, 1.4.3). */
type Paint = readonly [light: string, lightInk: string, dark: string, darkInk: string];

const VERDICT_PAINTS: Readonly<Record<Verdict, Paint>> = {
  complete: ['#d9f0dc', '#14532d', '#14361f', '#a7e3b5'],
  recovered: ['#d3eeee', '#134e4a', '#0f3735', '#9be0da'],
  detected: ['#dbe7fb', '#1e3a76', '#1a2c50', '#b3cdf8'],
  duplicated: ['#fbeab4', '#66420a', '#463708', '#f3d67c'],
  looping: ['#fcd9b6', '#713207', '#4d2c0e', '#f8bf88'],
  silent: ['#d4382c', '#ffffff', '#b02a20', '#ffffff'],
  hang: ['#6d49b8', '#ffffff', '#5c3ba0', '#ffffff'],
  crash: ['#7a1f3d', '#ffffff', '#7f2547', '#ffffff'],
  invalid: ['#e6e8eb', '#475160', '#272e38', '#aab4c1'],
};

function verdicts(night: boolean): string {
  return Object.entries(VERDICT_PAINTS)
    .map(([verdict, paint]) => {
      const [fill, ink] = night ? paint.slice(2) : paint;
      return `.v-${verdict}{background:${fill};color:${ink}}.f-${verdict}{fill:${fill}}`;
    })
    .join('\n');
}

const THEME = (page: string, card: string, ink: string, dim: string, line: string, focus: string): string =>
  `:root{--page:${page};--card:${card};--ink:${ink};--dim:${dim};--line:${line};--focus:${focus}}`;

export const PAGE_STYLE = `:root{color-scheme:light dark}
${THEME('#fbfbfa', '#ffffff', '#1f2733', '#566170', '#dfe3e8', '#1d5fd0')}
${verdicts(false)}
@media (prefers-color-scheme:dark){
${THEME('#0f141b', '#161d26', '#e4eaf1', '#9aa7b6', '#2b3542', '#7fb0ff')}
${verdicts(true)}
}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}
main,body>header,body>footer{max-width:1180px;margin:0 auto;padding:0 24px}
body>header{padding-top:36px}
body>footer{padding-top:24px;padding-bottom:40px;color:var(--dim);font-size:13px}
h1{font-size:26px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:18px;margin:44px 0 12px}
h3{font-size:15px;margin:22px 0 8px}
h4{font-size:13px;font-weight:600;margin:16px 0 6px}
p{margin:6px 0}
.dim,.gap{color:var(--dim)}
p.gap,main p.dim,dialog p.dim,section p.dim{font-size:13px}
pre .gap{display:block;margin:6px 0;font-family:system-ui,sans-serif}
code,pre,kbd{font-family:ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:.92em}
kbd{border:1px solid var(--line);border-radius:4px;padding:0 5px;color:var(--dim)}
a{color:inherit;text-decoration-color:var(--dim);text-underline-offset:2px}
:focus-visible{outline:2px solid var(--focus);outline-offset:2px}
.scroll{overflow-x:auto;margin:8px 0}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;min-width:40%}
caption{text-align:left;color:var(--dim);font-size:13px;padding-bottom:6px}
th,td{padding:5px 14px 5px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
thead th{color:var(--dim);font-weight:500}
tbody th{font-weight:500;max-width:300px;overflow-wrap:break-word}
tbody th code{white-space:nowrap}
td{max-width:460px;overflow-wrap:break-word}
th.right,td.right{text-align:right;white-space:nowrap}
table.heat{border-collapse:separate;border-spacing:3px;min-width:0}
table.heat th,table.heat td{border:0;padding:0}
table.heat thead th{padding:0 4px 4px;text-align:center;max-width:130px;overflow-wrap:anywhere}
table.heat thead th:first-child{text-align:left;padding-left:0;overflow-wrap:normal}
table.heat tbody th{padding:0 14px 0 0;vertical-align:middle;white-space:nowrap;position:sticky;left:0;background:var(--page)}
table.heat tbody th code{display:block;width:max-content;max-width:min(300px,36vw);white-space:normal;overflow-wrap:break-word}
table.heat td{text-align:center;vertical-align:middle;color:var(--dim);min-width:92px}
table.heat td.none{font-size:13px;text-align:left}
table.heat button{font:inherit;font-weight:550;border:0;border-radius:5px;width:100%;min-height:34px;padding:4px 10px;cursor:pointer}
table.heat button:hover{filter:brightness(.95)}
table.heat button.flaky{outline:2px dashed currentColor;outline-offset:-4px}
table.heat button:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
.nowrap{white-space:nowrap}
.verdict{display:inline-block;border-radius:4px;padding:0 7px;font-size:.92em;font-weight:550}
.legend{display:grid;grid-template-columns:repeat(auto-fill,minmax(330px,1fr));gap:4px 24px;margin:14px 0;font-size:13px;color:var(--dim)}
.legend .verdict{min-width:84px;text-align:center;margin-right:8px}
.legend div{display:flex;align-items:baseline}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:4px 20px 16px;margin:14px 0}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:8px 20px;margin:12px 0;font-size:13px}
.facts dt{color:var(--dim)}
.facts dd{margin:0;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.findings{margin:8px 0;padding-left:18px;font-size:14px}
figure{margin:10px 0}
figcaption{color:var(--dim);font-size:13px;margin-bottom:4px}
pre{margin:0;padding:12px 14px;background:var(--page);border:1px solid var(--line);border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere;max-height:420px;overflow-y:auto}
svg{display:block}
svg.wirefault rect.lane{stroke:none}
.run{border-top:1px solid var(--line);padding:10px 0}
.run>summary,details>summary{cursor:pointer}
dialog{width:min(1080px,calc(100vw - 32px));max-height:calc(100vh - 48px);border:1px solid var(--line);border-radius:10px;background:var(--card);color:var(--ink);padding:0 24px 20px;overflow-y:auto}
dialog::backdrop{background:rgb(10 14 20/.5)}
dialog>header{display:flex;justify-content:space-between;align-items:center;gap:16px;position:sticky;top:0;background:var(--card);padding:16px 0 10px}
dialog>header h2{margin:0;max-height:30vh;overflow-y:auto;overflow-wrap:anywhere}
.close{font:inherit;font-size:13px;background:none;color:inherit;border:1px solid var(--line);border-radius:6px;padding:4px 10px;cursor:pointer}
@media (max-width:640px){
main,body>header,body>footer{padding-left:14px;padding-right:14px}
dialog{padding:0 14px 14px;width:100vw;max-width:100vw;max-height:100vh;height:100vh;border-radius:0}
table.heat td{min-width:76px}
}
@media print{
body{background:none}
dialog[open]{position:static;max-height:none;border:0;width:auto}
body:has(dialog[open])>:not(dialog){display:none}
.scroll{overflow:visible}
pre{max-height:none}
.close{display:none}
*{print-color-adjust:exact}
}
${RULES}`;
