import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { RedirectCase } from './cases/redirects.js';
import { GROUPS, type Group } from './groups.js';
import { type MessageCase, resultInWords } from './support/message-case.js';
import type { StreamCase } from './support/stream-case.js';
import { expectedOf } from './support/stream-run.js';

/** docs/conformance.md is made from the cases: `UPDATE_DOCS=1 npx vitest run test/conformance/docs.test.ts` writes it. */
const ROOT = new URL('../../', import.meta.url);
const PATH = fileURLToPath(new URL('docs/conformance.md', ROOT));

const AS_EXPECTED = 'as expected';
const CLIENT_ONLY = 'not asked: see the end';

/** A case as a row of a table. */
interface Row {
  readonly id: string;
  readonly family?: string | undefined;
  readonly source: string;
  readonly expected: string;
  readonly does: string;
  readonly aboutClient?: string | undefined;
  readonly contested: boolean;
}

/** As code, whatever is in it. */
const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``;

const withNote = (text: string, ...notes: readonly (string | undefined)[]): string =>
  [text, ...notes.filter((note) => note !== undefined)].join('; ');

function streamRow(one: StreamCase): Row {
  const { id, family, source, expectation, note, parser, aboutClient } = one;
  const events = one.connections.length > 0 ? expectedOf(one) : undefined;
  const does = events === undefined && aboutClient !== undefined ? CLIENT_ONLY : AS_EXPECTED;
  return {
    id,
    family,
    source,
    expected: withNote(
      ...([events === undefined ? undefined : code(events), expectation].filter(Boolean) as [string]),
      parser === undefined ? note : undefined,
    ),
    does: parser === undefined ? does : withNote(code(parser), note),
    aboutClient,
    contested: false,
  };
}

function redirectRow({ id, source, expectation, undici, asExpected, note }: RedirectCase): Row {
  const does = withNote(asExpected ? AS_EXPECTED : code(undici), note);
  return { id, source, expected: expectation, does, contested: false };
}

function messageRow({ id, source, expected, undici, contested, note }: MessageCase): Row {
  return {
    id,
    source,
    expected: withNote(code(resultInWords(expected)), note, contested && `contested: ${contested}`),
    does: undici === undefined ? AS_EXPECTED : code(undici),
    contested: contested !== undefined,
  };
}

function rowsOf({ streams = [], redirects = [], messages = [] }: Group): Row[] {
  return [...streams.map(streamRow), ...redirects.map(redirectRow), ...messages.map(messageRow)];
}

function clientOf({ streams, redirects }: Group): string {
  if (!streams) return 'undici';
  return redirects ? 'eventsource-parser; of redirects undici' : 'eventsource-parser';
}

/** Cases of a family that come out alike are one row. */
function merged(rows: readonly Row[]): Row[][] {
  return rows.reduce<Row[][]>((all, row) => {
    const last = all.at(-1);
    const [first] = last ?? [];
    const alike =
      first && row.family !== undefined && ['family', 'expected', 'does'].every((key) => same(first, row, key));
    if (last && alike) last.push(row);
    else all.push([row]);
    return all;
  }, []);
}

const same = (a: Row, b: Row, key: string): boolean => Reflect.get(a, key) === Reflect.get(b, key);

function nameOf(rows: readonly Row[]): string {
  const [first, last] = [rows[0]?.id ?? '', rows.at(-1)?.id ?? ''];
  if (rows.length <= 2) return rows.map(({ id }) => code(id)).join(', ');
  return `${code(first)} to ${code(last)} (${rows.length})`;
}

function table(group: Group): string[] {
  const rows = merged(rowsOf(group)).map((each) => `| ${nameOf(each)} | ${each[0]?.expected} | ${each[0]?.does} |`);
  const client = clientOf(group);
  return [`| case | expected | ${client} |`, '|---|---|---|', ...rows];
}

function section(group: Group): string[] {
  const files = [...new Set(rowsOf(group).map(({ source }) => path.basename(source)))];
  const shown =
    files.length > 6
      ? `${files.slice(0, 3).map(code).join(', ')} and ${files.length - 3} more`
      : files.map(code).join(', ');
  return [`## ${group.title}`, '', `${group.about} Source: ${code(group.source)}: ${shown}.`, '', ...table(group), ''];
}

function summary(): string[] {
  const rows = GROUPS.map((group) => {
    const all = rowsOf(group);
    const count = (wanted: (row: Row) => boolean): number => all.filter(wanted).length;
    const asExpected = count(({ does }) => does.startsWith(AS_EXPECTED));
    const unasked = count(({ does }) => does === CLIENT_ONLY);
    const cells = [group.title, all.length, asExpected, all.length - asExpected - unasked, unasked];
    return { cells, contested: count(({ contested }) => contested) };
  });
  const total = [1, 2, 3, 4].map((n) => rows.reduce((sum, { cells }) => sum + Number(cells[n]), 0));
  const lines = rows.map(({ cells, contested }) => `| ${[...cells, contested].join(' | ')} |`);
  const contested = rows.reduce((sum, row) => sum + row.contested, 0);
  return [
    '| group | cases | as expected | otherwise | not asked | contested |',
    '|---|---|---|---|---|---|',
    ...lines,
    `| all | ${[...total, contested].join(' | ')} |`,
  ];
}

/** What only a client could be asked, by reason. */
function aboutClients(): string[] {
  const rows = GROUPS.flatMap((group) => [...(group.streams ?? [])]);
  const about = rows.filter(({ aboutClient }) => aboutClient !== undefined);
  const reasons = [...new Set(about.map(({ aboutClient }) => aboutClient ?? ''))];
  const lines = reasons.map((reason) => {
    const those = about.filter(({ aboutClient }) => aboutClient === reason);
    return `| ${reason} | ${those.map(({ id }) => code(id)).join(', ')} | ${those.length} |`;
  });
  return ['| about | cases | |', '|---|---|---|', ...lines, `| all | | ${about.length} |`];
}

function version(name: string): string {
  const manifest = readFileSync(new URL(`node_modules/${name}/package.json`, ROOT), 'utf8');
  const { version: found } = JSON.parse(manifest) as { readonly version: string };
  return `${name} ${found}`;
}

function page(): string {
  return `${[
    '# Conformance cases',
    '',
    '<!-- Made by test/conformance/docs.test.ts; UPDATE_DOCS=1 writes it anew. -->',
    '',
    'Public test suites say what bytes a client of event streams or of HTTP/1.1 has to bear, and what it should make of',
    'them. Each of their cases can be said in the fault language, and is: the cases are data in `test/conformance/cases`,',
    'restated in our own words, and their tests put every one of them on a real socket.',
    '',
    '- A raw witness compares every byte of an HTTP message; of an event stream the body, where each chunk and each send',
    '  ends, what becomes of the connection, and what the suite says of the head.',
    `- Event streams are read by Node's \`fetch\` and parsed by ${version('eventsource-parser')}; an ID lasts until the next one,`,
    '  as in the package `eventsource`.',
    `- HTTP messages are asked for by the \`fetch\` of ${version('undici')}.`,
    '',
    'What comes out is noted beside what the suite expects, and compared in each run, so that a client that changes is',
    'noticed. A difference is no verdict: many expectations are about browsers, and some are contested, by the suite',
    'itself or by a standard. In the tables, several events are separated by commas, and connections by semicolons.',
    '',
    'Sources: `launchdarkly/sse-contract-tests` (`ssetests/`), and `web-platform-tests/wpt` (`eventsource/`,',
    '`fetch/h1-parsing/`, `fetch/content-length/`).',
    '',
    ...summary(),
    '',
    ...GROUPS.flatMap(section),
    '## About the client',
    '',
    'Cases, or parts of them, about what a client does by itself: the headers that it sends, when it connects again, its',
    'states. Their bytes are made and checked like all others, where they have any; the rest is for whoever tests such a',
    'client. wirefault answers POST, so an `EventSource` of a browser, which asks with GET, gets a 405.',
    '',
    ...aboutClients(),
  ].join('\n')}\n`;
}

it('has all cases in the documentation', () => {
  const wanted = page();
  if (process.env.UPDATE_DOCS) {
    mkdirSync(path.dirname(PATH), { recursive: true });
    writeFileSync(PATH, wanted);
  }
  expect(readFileSync(PATH, 'utf8')).toBe(wanted);
});

it('has no case twice', () => {
  const ids = GROUPS.flatMap(rowsOf).map(({ id }) => id);
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
});
