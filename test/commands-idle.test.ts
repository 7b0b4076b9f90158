import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { durationOf } from '../src/commands/duration.js';
import { addIdleCommand } from '../src/commands/idle.js';
import { readIdleResults } from '../src/trial/idle-results.js';
import { type CommandRun, runCommand } from './support/command.js';
import { folder } from './trial/support/little.js';
import { type Patience, patientCommand, waitedIn } from './trial/support/patient.js';

async function ran(
  flags: readonly string[],
  patience: Patience = { idleMs: 500 },
): Promise<CommandRun & { dir: string }> {
  const dir = await folder();
  const command = patientCommand(patience, join(dir, 'waited.jsonl'));
  return { dir, ...(await runCommand(addIdleCommand, ['idle', '--repeats', '1', ...flags, '--', ...command])) };
}

describe('wirefault idle', () => {
  it('prints a table, and a line for each run', async () => {
    const { code, out, err, dir } = await ran(['--probes', 'headers,first_event', '--max-wait', '5s', '--jobs', '1']);
    expect(code).toBe(0);
    const [title, , head, ...rows] = out.trimEnd().split('\n');
    expect(title).toBe('patient-client.mjs, openai-chat, 1 run each, at most 5 s');
    expect(head).toMatch(/^probe +situation +from +min +median +max +closes +retries$/);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatch(/^headers +silence after the headers +the last byte +\d+ ms +\d+ ms +\d+ ms +FIN +0$/);
    expect(err).toMatch(/^1\/2, \d+ s left headers: [\d.]+ ms\n2\/2, 0 s left first_event: [\d.]+ ms\n$/);
    expect(waitedIn(join(dir, 'waited.jsonl'))).toHaveLength(2);
  });

  it('--json prints what --out keeps', async () => {
    const out = join(await folder(), 'new', 'place');
    const { code, out: printed } = await ran(['--probes', 'headers', '--json', '--out', out]);
    expect(code).toBe(0);
    const results = await readIdleResults(join(out, 'idle.json'));
    expect(JSON.parse(printed)).toEqual(results);
    expect(await readFile(join(out, 'idle.json'), 'utf8')).toBe(printed);
    expect(results).toMatchObject({
      client: 'patient-client.mjs',
      protocol: 'openai-chat',
      maxWaitMs: 60_000,
      repeats: 1,
      probes: [{ probe: 'headers', outcome: 'limit' }],
      rearm: [],
      gap: null,
    });
  });

  it('--limit makes the exit code, and says which patience was too long', async () => {
    const { code, err } = await ran(['--probes', 'headers', '--limit', '100', '--max-wait', '5s']);
    expect(code).toBe(1);
    expect(err).toMatch(/\nheaders: it waits \d+ ms, and 100 ms is the limit\n$/);
    const forever = await ran(['--probes', 'headers', '--limit', '100', '--max-wait', '300ms'], {});
    expect(forever.code).toBe(1);
    expect(forever.err).toMatch(/\nheaders: it waits more than 300 ms, and 100 ms is the limit\n$/);
  });

  it.each([
    [['--probes', 'header'], /--probes: unknown probe "header", did you mean "headers"/],
    [['--protocol', 'openai'], /--protocol: unknown protocol "openai"/],
    [['--max-wait', '10 parsecs'], /--max-wait: "10 parsecs" is not allowed; expected a time such as 90s/],
    [['--max-wait', '5'], /--max-wait: "5" is not allowed/],
    [['--limit', '90s'], /--limit: 90 s is longer than --max-wait, 60 s/],
    [['--repeats', '0'], /--repeats/],
  ])('%j is refused', async (flags, message) => {
    const { code, err } = await ran(flags);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });

  it('needs a client, and a known one', async () => {
    expect(await runCommand(addIdleCommand, ['idle'])).toMatchObject({ code: 2 });
    const wrong = await runCommand(addIdleCommand, ['idle', '--', 'sdk-openai-chatt']);
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('did you mean "sdk-openai-chat"') });
    const gone = await runCommand(addIdleCommand, ['idle', '--', 'no-such-program-wf', '{{baseURL}}']);
    expect(gone).toMatchObject({ code: 1, err: expect.stringContaining('not on PATH') });
  });
});

describe('a time on the command line', () => {
  it.each([
    ['90s', 90_000],
    ['1.5m', 90_000],
    ['1h', 3_600_000],
    ['250ms', 250],
    ['250', 250],
  ])('%s is %d ms', (text, ms) => expect(durationOf('--max-wait', text, 1)).toBe(ms));

  it.each(['', '-1', '1d', '0', '1e9', '600h'])('%j is none', (text) => {
    expect(() => durationOf('--max-wait', text, 1)).toThrow(/--max-wait: .* is not allowed/);
  });
});
