import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { CASES_DIR } from './support/case-server.js';
import type { Outcome } from './support/outcomes.js';

/** docs/cases.md is made from the scenarios and the tables: `UPDATE_DOCS=1 npx vitest run test/cases/docs.test.ts`. */
const root = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const PATH = root('docs/cases.md');

type Outcomes = Readonly<Record<string, readonly Outcome[]>>;

async function allOutcomes(): Promise<Outcomes> {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const names = readdirSync(here).flatMap((file) => /^outcomes-(.*)\.ts$/.exec(file)?.[1] ?? []);
  const tables = await Promise.all(
    names.map(async (name) => ((await import(`./outcomes-${name}.ts`)) as { readonly OUTCOMES: Outcomes }).OUTCOMES),
  );
  return Object.assign({}, ...tables);
}

/** Of the lockfile, as it is installed; `undefined` for words that are no package. */
function versionOf(name: string): string | undefined {
  const path = root(`node_modules/${name}/package.json`);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version : undefined;
}

/** `ai + @ai-sdk/openai (chat)` with the version behind each package. What stands in parentheses is none. */
function named(client: string): string {
  const [, packages = client, rest = ''] = /^(.*?)( \(.*)?$/.exec(client) ?? [];
  const told = packages.split(' ').map((word) => {
    const version = versionOf(word);
    return version === undefined ? word : `${word} ${version}`;
  });
  return `${told.join(' ')}${rest}`;
}

/** What each client does, for one variant or all. */
function doings(outcomes: readonly Outcome[]): Map<string, string> {
  const variants = new Set(outcomes.map(({ variant }) => variant));
  const clients = new Set(outcomes.map(({ client }) => client));
  return new Map(
    [...clients].map((client) => {
      const own = outcomes.filter((outcome) => outcome.client === client);
      const lines = [...new Set(own.map(({ does }) => does))].map((does) => {
        const these = own.filter((outcome) => outcome.does === does).map(({ variant }) => `\`${variant}\``);
        return these.length === variants.size ? does : `${these.join(', ')}: ${does}`;
      });
      return [client, lines.join('<br>')] as const;
    }),
  );
}

const cell = (text: string): string => text.trim().replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');

/** Clients that do the same share a row; the first row of a case has its condition. */
function rowsOf(file: string, outcomes: readonly Outcome[]): string[] {
  const id = file.replace('.yaml', '');
  const { about } = parse(readFileSync(`${CASES_DIR}/${file}`, 'utf8')) as { readonly about: string };
  const groups = new Map<string, string[]>();
  for (const [client, does] of doings(outcomes)) groups.set(does, [...(groups.get(does) ?? []), named(client)]);
  const rows = groups.size > 0 ? [...groups] : [['', []] as const];
  return rows.map(([does, clients], n) => {
    const first = n === 0 ? [id, cell(about), `[${file}](../scenarios/cases/${file})`] : ['', '', ''];
    return `| ${[...first, clients.join('<br>'), cell(does)].join(' | ')} |`;
  });
}

const MEASURED = /measured with (Node \S+ \(undici \S+\))/;

/** The Node that wrote the page: its own fetch, and the one below most clients, comes with it. */
function measuredWith(before: string): string {
  const written = MEASURED.exec(before)?.[1];
  if (written !== undefined && !process.env.UPDATE_DOCS) return written;
  return `Node ${process.versions.node} (undici ${process.versions.undici})`;
}

async function page(before: string): Promise<string> {
  const outcomes = await allOutcomes();
  const rows = readdirSync(CASES_DIR)
    .toSorted()
    .flatMap((file) => rowsOf(file, outcomes[file.replace('.yaml', '')] ?? []));
  return `# Reported cases

Faults that people have reported of LLM clients, as conditions on the wire. Each is a scenario file, and each of its
behaviors a variant: \`wirefault serve --scenario scenarios/cases/B09.yaml\` plays them one after the other.

The table is made by tests. What clients do was measured with ${measuredWith(before)}, whose fetch is \`fetch\` here and
below all other clients but undici; the tests hold each line against a run. \`in 3 tries\`: the client asked by itself so
often.

| case | condition, and what a correct client does | scenario | client | what it does today |
|---|---|---|---|---|
${rows.join('\n')}
`;
}

it('docs/cases.md is what the scenarios and the tables say', async () => {
  const before = existsSync(PATH) ? readFileSync(PATH, 'utf8') : '';
  const wanted = await page(before);
  if (process.env.UPDATE_DOCS) writeFileSync(PATH, wanted);
  expect(readFileSync(PATH, 'utf8')).toBe(wanted);
});

it('every case has a line for some client', async () => {
  const outcomes = await allOutcomes();
  const without = readdirSync(CASES_DIR).filter((file) => !outcomes[file.replace('.yaml', '')]?.length);
  expect(without).toEqual([]);
});
