import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { BEHAVIORS } from '../src/fault/catalogue.js';
import { POSITIONS } from '../src/fault/position.js';

/** The README's table is made from the catalogue: `UPDATE_README=1 npx vitest run test/readme.test.ts` writes it. */
const PATH = fileURLToPath(new URL('../README.md', import.meta.url));
const TABLE = /(<!-- behaviors -->\n)[\s\S]*?(<!-- \/behaviors -->)/;

function table(): string {
  const rows = BEHAVIORS.map(({ name, meaning, weight }) => `| \`${name}\` | ${meaning} | ${weight ?? ''} |`);
  return ['| behavior | at the wire | share in `random` |', '|---|---|---|', ...rows].join('\n');
}

const PLACES = /(<!-- positions -->\n)[\s\S]*?(<!-- \/positions -->)/;

function positions(): string {
  const rows = POSITIONS.map(({ form, meaning }) => `| \`${form}\` | ${meaning} |`);
  return ['| position | the cut is |', '|---|---|', ...rows].join('\n');
}

it("has the catalogue's behaviors and the table of positions", () => {
  const readme = readFileSync(PATH, 'utf8');
  const wanted = readme
    .replace(TABLE, (_, open: string, close: string) => `${open}\n${table()}\n\n${close}`)
    .replace(PLACES, (_, open: string, close: string) => `${open}\n${positions()}\n\n${close}`);
  if (process.env.UPDATE_README) writeFileSync(PATH, wanted);
  expect(readFileSync(PATH, 'utf8')).toBe(wanted);
});

it('has a vitest recipe that passes when it is copied', () => {
  const [, recipe = ''] = /```ts\n(import OpenAI[\s\S]*?)```/.exec(readFileSync(PATH, 'utf8')) ?? [];
  // Inside the package, so that `wirefault` is this very package; the build is what `npm test` made.
  const dir = fileURLToPath(new URL('../.readme-test', import.meta.url));
  mkdirSync(dir, { recursive: true });
  onTestFinished(() => rmSync(dir, { recursive: true }));
  writeFileSync(`${dir}/recipe.test.ts`, recipe);
  writeFileSync(`${dir}/vitest.config.ts`, "export default { test: { include: ['recipe.test.ts'] } };\n");
  const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [vitest, 'run', '--root', dir], { encoding: 'utf8' });
  expect(`${stdout}${stderr}`).toMatch(/Tests .*1 passed/);
  expect(status).toBe(0);
});
