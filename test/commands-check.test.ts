import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addCheckCommand } from '../src/commands/check.js';
import { loadScenario } from '../src/scenario/load.js';
import { type CommandRun, runCommand } from './support/command.js';

/** `wirefault check`: what it prints and the exit code; and how `serve` refuses a scenario. */
const BAD = 'sequence:\n  - sucess\n  - success\nseed: -1\n';
const GOOD = '{"sequence": ["F2", "success"]}';

async function written(files: Readonly<Record<string, string>>): Promise<string[]> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'wirefault-check-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  return Promise.all(
    Object.entries(files).map(async ([name, text]) => {
      const file = path.join(dir, name);
      await writeFile(file, text);
      return file;
    }),
  );
}

const check = (args: readonly string[], options = {}): Promise<CommandRun> =>
  runCommand(addCheckCommand, ['check', ...args], options);

describe('wirefault check', () => {
  it('says that nothing is wrong: 0', async () => {
    const files = await written({ 'a.yaml': 'sequence: [F2]\n', 'b.json': GOOD });
    const { code, out, err } = await check(files);
    expect([code, err]).toEqual([0, '']);
    expect(out).toBe(files.map((file) => `${file}: nothing is wrong\n`).join(''));
  });

  it('says everything that is wrong, each with its place: 1', async () => {
    const files = await written({ 'a.yaml': BAD, 'b.json': GOOD });
    const { code, out } = await check(files);
    expect(code).toBe(1);
    const lines = out.split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(`${files[0]}:2:5: sequence[0]: unknown behavior "sucess", did you mean "success"?`);
    expect(lines[1]).toBe(`${files[0]}:4:7: seed: too small: expected number to be >=0`);
    expect(lines[2]).toBe(`${files[1]}: nothing is wrong`);
  });

  it('is 1 whichever of the files is wrong', async () => {
    const [good = '', bad = ''] = await written({ 'a.json': GOOD, 'b.yaml': BAD });
    for (const order of [
      [good, bad],
      [bad, good],
    ])
      expect((await check(order)).code).toBe(1);
  });

  it('--json: a line for each problem, and none for what is good', async () => {
    const [bad = '', good = ''] = await written({ 'a.yaml': BAD, 'b.json': GOOD });
    const { code, out } = await check(['--json', bad, good]);
    expect(code).toBe(1);
    const problems = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(problems).toEqual([
      { file: bad, line: 2, column: 5, message: expect.stringMatching(/^sequence\[0\]: unknown behavior "sucess"/) },
      { file: bad, line: 4, column: 7, message: 'seed: too small: expected number to be >=0' },
    ]);
    expect(await check(['--json', good])).toEqual({ code: 0, out: '', err: '' });
  });

  it('tells errors of YAML like all others', async () => {
    const [bad = ''] = await written({ 'a.yaml': 'sequence: [F2\nseed: 1\n' });
    const { code, out } = await check([bad]);
    expect(code).toBe(1);
    expect(out.startsWith(`${bad}:2:1: Flow sequence`)).toBe(true);
  });

  it('a file that is not there, or none at all', async () => {
    const { code, err } = await check(['/nowhere/a.yaml']);
    expect(code).toBe(1);
    expect(err).toMatch(/^\/nowhere\/a\.yaml: ENOENT/);
    expect((await check([])).code).toBe(2);
  });
});

describe('a scenario that is loaded', () => {
  it('is refused with the first problem, and how many more there are', async () => {
    const [bad = '', worse = ''] = await written({ 'a.yaml': 'seed: -1\n', 'b.yaml': BAD });
    await expect(loadScenario(bad)).rejects.toMatchObject({
      code: 'bad_scenario',
      message: `${bad}:1:7: seed: too small: expected number to be >=0`,
    });
    await expect(loadScenario(worse)).rejects.toMatchObject({
      message: expect.stringMatching(/:2:5: sequence\[0\]: .* \(and 1 more; `wirefault check .*` tells all\)$/),
    });
    await expect(loadScenario('/nowhere/a.yaml')).rejects.toMatchObject({ code: 'bad_scenario' });
  });
});
