import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkMatrixFile, knownClients, loadMatrixFile } from '../../src/trial/matrix-file.js';
import { PRESETS } from '../../src/trial/presets.js';
import { folder } from './support/little.js';

const GOOD = `about: our own agent
clients:
  - name: ours
    protocol: openai-chat
    command: [ours, --url, '{{baseURL}}/v1', '{{prompt}}']
    match: { json: { tools.length: '>0' } }
    output: { kind: json_lines, text: delta }
use: [ours, codex]
faults: [F0, rst@event:3+17]
repeats: 2
`;

function problems(text: string): string[] {
  return checkMatrixFile(text).problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

describe('the file of a matrix', () => {
  it("adds clients of one's own, and chooses", () => {
    const { problems: none, file } = checkMatrixFile(GOOD);
    expect(none).toEqual([]);
    expect(file).toMatchObject({ use: ['ours', 'codex'], repeats: 2, clients: [{ name: 'ours' }] });
    expect(checkMatrixFile(JSON.stringify(file)).problems).toEqual([]);
  });

  it.each([
    ['repeats: 0', [/^1:10 repeats: .*1/]],
    ['fautls: [F0]', [/^1:1 fautls: unknown key "fautls", did you mean "faults"\?/]],
    ['faults: [F0, F9]', [/^1:14 faults\[1\]: unknown behavior "F9"/]],
    ['faults: [connection_refused]', [/fault of the port/]],
    ['use: [codx]', [/^1:7 use\[0\]: unknown client "codx", did you mean "codex"\?/]],
    ['clients: [{ name: a b, protocol: x, command: [] }]', [/name: .*letters/, /protocol/, /command/, /output/]],
    [GOOD.replace("'>0'", "'>many'"), [/^6:12 clients\[0\]\.match: tools\.length: .*no number/]],
    [`${GOOD}\nclients: []`, [/unique/]],
  ])('%s', (text, expected) => {
    const found = problems(text);
    expect(found).toHaveLength(expected.length);
    for (const wanted of expected)
      expect(
        found.some((one) => wanted.test(one)),
        `${wanted} in ${found}`,
      ).toBe(true);
  });

  it('is told with its name and place where it is wrong', async () => {
    const path = join(await folder(), 'matrix.yaml');
    await writeFile(path, 'repeats: 1\njobs: none\nfaults: [F9]\n');
    await expect(loadMatrixFile(path)).rejects.toThrow(/matrix\.yaml:2:7: jobs: /);
    await expect(loadMatrixFile(`${path}.gone`)).rejects.toThrow(/ENOENT/);
  });

  it('a client with the name of a known one takes its place', () => {
    const own = { name: 'codex', protocol: 'openai-chat', command: ['x'], output: { kind: 'text' } } as const;
    expect(knownClients([own, { ...own, name: 'new' }]).map(({ name }) => name)).toEqual([
      ...PRESETS.map(({ name }) => name),
      'new',
    ]);
    expect(knownClients([own]).find(({ name }) => name === 'codex')).toBe(own);
  });
});
