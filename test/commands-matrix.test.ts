import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addMatrixCommand } from '../src/commands/matrix.js';
import { type CommandRun, runCommand } from './support/command.js';
import { folder, little } from './trial/support/little.js';

async function ran(args: readonly string[]): Promise<CommandRun> {
  const dir = await folder();
  const file = join(dir, 'matrix.yaml');
  const clients = [little('naive'), { ...little('strict'), name: 'absent', command: ['no-such-program-wf'] }];
  await writeFile(file, JSON.stringify({ clients, use: ['naive', 'absent'], repeats: 1, timeoutMs: 15_000 }));
  return runCommand(addMatrixCommand, ['matrix', file, '--out', join(dir, 'out'), '--isolate', 'none', ...args]);
}

describe('wirefault matrix', () => {
  it('prints the table, and lines while it runs', async () => {
    const { code, out, err } = await ran(['--faults', 'F2..F3']);
    expect(code).toBe(0);
    expect(out).toBe(
      ['client  F2      F3', 'naive   silent  silent', 'absent  N/A: program no-such-program-wf not on PATH', ''].join(
        '\n',
      ),
    );
    expect(err).toMatch(/^1\/5, \d+ s left naive F0 1: complete\n/);
    expect(err.trim().split('\n')).toHaveLength(5);
  });

  it('--fail-on makes the exit code, and says what was met', async () => {
    const { code, err } = await ran(['--faults', 'F2', '--fail-on', 'silent,hang']);
    expect(code).toBe(1);
    expect(err).toMatch(/\nnaive F2: silent\n$/);
  });

  it('--json prints the records', async () => {
    const { code, out } = await ran(['--clients', 'naive', '--faults', 'F0', '--json', '--fail-on', 'silent']);
    expect(code).toBe(0);
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([{ kind: 'run', verdict: 'complete' }]);
  });

  it.each([
    [['--clients', 'naiv'], /--clients: unknown client "naiv", did you mean "naive"/],
    [['--faults', 'F9'], /--faults: unknown behavior "F9"/],
    [['--faults', 'connection_refused'], /--faults: connection_refused is a fault of the port/],
    [['--repeats', '0'], /--repeats/],
    [['--isolate', 'jail'], /--isolate: unknown isolation "jail"/],
    [['--fail-on', 'loud'], /--fail-on: unknown verdict "loud"/],
  ])('%j is refused', async (args, message) => {
    const { code, err } = await ran(args);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });
});
