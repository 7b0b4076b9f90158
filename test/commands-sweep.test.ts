import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { addSweepCommand } from '../src/commands/sweep.js';
import { readSweeps, sweepSchema } from '../src/trial/sweep-results.js';
import { type CommandRun, runCommand } from './support/command.js';
import { elementsOf, parsed } from './support/xml.js';
import { BUILT, folder, NOT_BUILT } from './trial/support/little.js';
import { driverPath } from './trial/support/sweeping.js';

function ran(...args: string[]): Promise<CommandRun> {
  return runCommand(addSweepCommand, ['sweep', ...args]);
}

const QUICK = ['--positions', 'every-event', '--teardown', 'eof', '--paragraphs', '1'];

describe('wirefault sweep', () => {
  beforeEach(({ skip }) => skip(!BUILT, NOT_BUILT));

  it('prints the ranges, and writes results and picture', async () => {
    const out = await folder();
    const svg = join(out, 'strip.svg');
    const { code, out: text, err } = await ran(...QUICK, '--driver', driverPath('bad'), '--out', out, '--svg', svg);
    expect(code, err).toBe(0);
    expect(text).toMatch(/^sweep-bad\.mjs, openai-chat: [\d,]+ bytes, \d+ events, terminal at \d+ to \d+\n/);
    expect(text).toMatch(
      /\n {2}silent {4}\d+\.\.\d+ +from behind the headers to 7 bytes into the terminal \(\[DONE\]\)\n/,
    );
    expect(err).toMatch(/(\d+)\/\1, 0 s left cuts\n$/);
    const [sweep] = await readSweeps(out);
    expect(sweep).toMatchObject({ client: 'sweep-bad.mjs', way: 'driver', positions: 'every-event' });
    const picture = await readFile(svg, 'utf8');
    expect(elementsOf(parsed(picture)).length).toBeGreaterThan(10);
    expect(await readFile(join(out, 'sweeps/sweep-bad.mjs-openai-chat.svg'), 'utf8')).toBe(picture);
  });

  it('--fail-on makes the exit code, and says what was met', async () => {
    const { code, err } = await ran(...QUICK, '--driver', driverPath('bad'), '--fail-on', 'silent,hang');
    expect(code).toBe(1);
    expect(err).toMatch(/\nsweep-bad\.mjs eof \d+\.\.\d+: silent\n$/);
    expect((await ran(...QUICK, '--driver', driverPath('good'), '--fail-on', 'silent,hang')).code).toBe(0);
  });

  it('--json prints the results; a known client by its name', async () => {
    const { code, out } = await ran(...QUICK, '--json', '--', 'node-fetch');
    expect(code).toBe(0);
    expect(sweepSchema.parse(JSON.parse(out))).toMatchObject({ client: 'node-fetch', retries: 0, seed: 42 });
  });

  it('a command, with the places filled in', async () => {
    const file = join(await folder(), 'agent.mjs');
    await writeFile(file, AGENT);
    const { code, out } = await ran(
      '--teardown',
      'eof',
      '--paragraphs',
      '1',
      '--json',
      '--',
      'node',
      file,
      '{{prompt}}',
    );
    expect(code).toBe(0);
    const { client, way, positions, teardowns } = sweepSchema.parse(JSON.parse(out));
    expect({ client, way, positions }).toEqual({ client: 'agent.mjs', way: 'process', positions: 'every-event' });
    expect(teardowns[0]?.ranges.map(({ verdict }) => verdict)).toEqual(['detected', 'complete']);
  });
});

/** A client that looks for the terminal, pointed at the server by the environment. */
const AGENT = `
const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key } = process.env;
const messages = [{ role: 'user', content: process.argv[2] }];
const response = await fetch(base + '/chat/completions', {
  method: 'POST',
  headers: { authorization: 'Bearer ' + key },
  body: JSON.stringify({ model: 'gpt-5.4', stream: true, messages }),
});
const events = (await response.text()).split('\\n\\n');
const told = events.slice(0, -1).filter((event) => event.startsWith('data: {')).map((event) => JSON.parse(event.slice(6)));
console.log(told.map(({ choices }) => choices[0]?.delta.content ?? '').join(''));
if (!events.includes('data: [DONE]') || events.at(-1) !== '') process.exit(1);
`;

describe('wrong usage', () => {
  it.each([
    [[], /client: expected one behind --, or --driver/],
    [['--', 'sdk-openai-chatt'], /unknown client "sdk-openai-chatt", did you mean "sdk-openai-chat"/],
    [['--driver', 'no-such-file.mjs'], /--driver: no file no-such-file\.mjs/],
    [['--driver', 'package.json', '--', 'curl'], /--driver: takes the place of a client, and there is curl, too/],
    [['--protocol', 'openai', '--', 'node-fetch'], /--protocol: unknown protocol "openai"/],
    [['--protocol', 'anthropic-messages', '--', 'node-fetch'], /--protocol: node-fetch speaks openai-chat/],
    [['--teardown', 'rts', '--', 'node-fetch'], /--teardown: unknown teardown "rts", did you mean "rst"/],
    [['--positions', 'every-bytes', '--', 'node-fetch'], /--positions: unknown positions "every-bytes", did you mean/],
    [['--positions', 'marks,every-byte', '--', 'node-fetch'], /--positions: only one of/],
    [['--fail-on', 'loud', '--', 'node-fetch'], /--fail-on: unknown verdict "loud"/],
    [['--jobs', '0', '--', 'node-fetch'], /--jobs/],
    [['--retries', 'many', '--', 'node-fetch'], /--retries/],
    [['--retries', '1', '--', 'curl', '{{baseURL}}'], /--retries: only a driver can be told/],
    [['--', 'codex-tui'], /interactive|unknown client/],
  ])('%j', async (args, message) => {
    const { code, err } = await ran(...args);
    expect(err).toMatch(message);
    expect(code).toBe(2);
  });
});
