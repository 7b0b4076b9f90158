import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { messageOf, unknownWord, WirefaultError } from '../errors.js';
import { CUT_TEARDOWNS } from '../fault/spec.js';
import { PROTOCOLS, type Protocol } from '../sse/dialect.js';
import type { TrialClient } from '../trial/client.js';
import { VERDICTS } from '../trial/evidence.js';
import { listed } from '../trial/fail-words.js';
import { MATRIX_DEFAULTS } from '../trial/matrix.js';
import { drivenBy, isDriver } from '../trial/presets/sdk.js';
import { runSweep, type SweepProgress } from '../trial/sweep.js';
import { SWEEP_POSITIONS, type Sweep, sweepPath } from '../trial/sweep-results.js';
import { sweepSvg } from '../trial/sweep-svg.js';
import { sweepText } from '../trial/sweep-text.js';
import { clientOf, isFile, nameOf, protocolOf } from './client-words.js';
import { type CommandOutput, paintOf, print, processOutput } from './output.js';
import { reporter, type Step, stoppable } from './progress.js';
import { wholeNumber } from './values.js';

interface SweepFlags {
  readonly protocol?: string;
  readonly teardown?: string;
  readonly positions?: string;
  readonly driver?: string;
  readonly retries?: string;
  readonly jobs?: string;
  readonly timeoutMs?: string;
  readonly paragraphs?: string;
  readonly seed?: string;
  readonly out?: string;
  readonly svg?: string;
  readonly json?: true;
  readonly failOn?: string;
}

const DEFAULT_TEARDOWNS = ['rst', 'fin', 'eof'] as const;
const DEFAULT_DRIVER_TIMEOUT_MS = 10_000;
const DEFAULT_PROCESS_TIMEOUT_MS = 60_000;
/** Numbered ones, so that a part of the text can be told from all of it; each is a hundred bytes. */
const DEFAULT_PARAGRAPHS = 2;
const DEFAULT_RETRIES = 0;

const HELP = `
CLIENT is a client that wirefault knows (those of \`wirefault matrix\`), or a command. In a command {{baseURL}} (without
/v1), {{key}} and {{prompt}} are filled in; OPENAI_BASE_URL, ANTHROPIC_BASE_URL and the keys are set as well. The clients
called sdk-… and those of --driver make many exchanges in one process: thousands of cuts a minute. Any other is started
anew for each cut, and claims success by exit code 0 without a word that something is wrong.

--driver is a JavaScript module of yours. Its default export, or its export "ask", is an async function that asks once:
  ({ baseURL, key, prompt, protocol, maxRetries }) => ({ text, finish, error })
text is what a user would see, finish why the answer ended (in the API's words), error what went wrong; finish and error
may be left out, and throwing is an error, too. A driver that takes longer than --timeout-ms is killed.

  every-byte   before the first byte, behind each, and so behind the last
  every-event  where each event begins, in its middle, and where it ends
  marks        where each mark begins and ends (those of \`wirefault explain\`), and one byte beside it

  silent     success claimed, although the terminal had not come whole     hang     no end within --timeout-ms
  detected   said that something went wrong                                crash    ended by a fault of its own
  recovered  asked again, showed the whole answer once                     invalid  not proved to be cut there
  complete   the terminal had come, and the whole answer was shown         and those of \`wirefault matrix\`

A range is told by the bytes that came before its first and its last cut. eof ends the HTTP framing correctly, and so has
no cuts in the head. OUT/sweeps/CLIENT-PROTOCOL.json and .svg have what was found; OUT may be that of a matrix.
Exit code: 0, or 1 where it could not run or --fail-on was met, 2 for wrong usage.

  wirefault sweep --svg strip.svg -- sdk-openai-chat
  wirefault sweep --protocol anthropic-messages --driver ./ask.mjs --fail-on silent,hang
  wirefault sweep --teardown eof --positions every-event -- python my_agent.py {{prompt}}`;

/** `wirefault sweep`: one answer cut at every offset, and what a client takes for its end. */
export function addSweepCommand(root: Command, output?: CommandOutput): void {
  root
    .command('sweep')
    .description('cut one answer at every offset, and print the ranges in which a client claims success for less')
    .argument('[client...]', 'a client that wirefault knows, or a command; behind --')
    .option('--protocol <name>', `what it speaks: ${PROTOCOLS.join(', ')} (default: the client's, or openai-chat)`)
    .option('--teardown <words>', `how cuts end, with commas: ${CUT_TEARDOWNS.join(', ')} (default: rst,fin,eof)`)
    .option('--positions <which>', `${SWEEP_POSITIONS.join(', ')} (default: every-byte; for processes every-event)`)
    .option('--driver <file>', 'a JavaScript module that asks, instead of a client')
    .option('--retries <n>', `how often a driver's SDK may ask again, or "own" (default: ${DEFAULT_RETRIES})`)
    .option('--jobs <n>', 'cuts at a time (default: one for each processor)')
    .option(
      '--timeout-ms <ms>',
      `limit of one cut (default: ${DEFAULT_DRIVER_TIMEOUT_MS}; of a process its own, or ${DEFAULT_PROCESS_TIMEOUT_MS})`,
    )
    .option('--paragraphs <n>', `numbered paragraphs in the answer (default: ${DEFAULT_PARAGRAPHS})`)
    .option('--seed <n>', `seed of the answer (default: ${MATRIX_DEFAULTS.seed})`)
    .option('--out <dir>', 'where results and picture go')
    .option('--svg <file>', 'where the picture goes: a strip for each teardown over the marks of the answer')
    .option('--fail-on <words>', 'verdicts that make the exit code 1, with commas')
    .option('--json', 'print the results as JSON instead of the ranges')
    .addHelpText('after', HELP)
    .action(async (words: readonly string[], flags: SweepFlags) => {
      const out = output ?? processOutput();
      const client = chosen(words, flags);
      const driver = isDriver(client);
      const failOn = knownWords('--fail-on', 'verdict', flags.failOn, VERDICTS) ?? [];
      const timeoutMs = driver ? DEFAULT_DRIVER_TIMEOUT_MS : (client.timeoutMs ?? DEFAULT_PROCESS_TIMEOUT_MS);
      const [positions = driver ? 'every-byte' : 'every-event', ...more] =
        knownWords('--positions', 'positions', flags.positions, SWEEP_POSITIONS) ?? [];
      if (more.length > 0) throw bad(`--positions: only one of ${SWEEP_POSITIONS.join(', ')}`);
      const options = {
        client,
        teardowns: knownWords('--teardown', 'teardown', flags.teardown, CUT_TEARDOWNS) ?? DEFAULT_TEARDOWNS,
        positions,
        jobs: wholeNumber('--jobs', flags.jobs, 1) ?? availableParallelism(),
        retries: retriesOf(flags.retries, driver),
        timeoutMs: wholeNumber('--timeout-ms', flags.timeoutMs, 100) ?? timeoutMs,
        seed: wholeNumber('--seed', flags.seed, 0) ?? MATRIX_DEFAULTS.seed,
        prompt: MATRIX_DEFAULTS.prompt,
        paragraphs: wholeNumber('--paragraphs', flags.paragraphs, 1) ?? DEFAULT_PARAGRAPHS,
        onProgress: inTenths(reporter(out)),
      };
      const { sweep, plan } = await stoppable(() => runSweep(options));
      const json = `${JSON.stringify(sweep, null, 2)}\n`;
      const svg = sweepSvg(sweep, plan);
      if (flags.svg !== undefined) await write(resolve(flags.svg), svg);
      if (flags.out !== undefined) {
        const path = sweepPath(resolve(flags.out), sweep);
        await write(`${path}.json`, json);
        await write(`${path}.svg`, svg);
      }
      await print(out, flags.json ? json : sweepText(sweep, paintOf(out)));
      const met = failing(sweep, failOn);
      for (const one of met) out.err.write(`${one}\n`);
      if (met.length > 0) process.exitCode = 1;
    });
}

function bad(message: string): WirefaultError {
  return new WirefaultError('bad_option', message);
}

function knownWords<T extends string>(
  flag: string,
  what: string,
  text: string | undefined,
  known: readonly T[],
): T[] | undefined {
  const words = listed(text)?.map((word) => {
    const found = known.find((one) => one === word);
    if (!found) throw bad(`${flag}: ${unknownWord(what, word, known)}`);
    return found;
  });
  return words && [...new Set(words)];
}

function chosen(words: readonly string[], { driver, protocol: word }: SweepFlags): TrialClient {
  const protocol = protocolOf(word);
  if (driver !== undefined) {
    if (words.length > 0) throw bad(`--driver: takes the place of a client, and there is ${words[0]}, too`);
    return ownDriver(driver, protocol ?? 'openai-chat');
  }
  if (words.length === 0) throw bad('client: expected one behind --, or --driver');
  const named = clientOf(words, undefined);
  if (named.protocol && protocol && named.protocol !== protocol) {
    throw bad(`--protocol: ${named.name} speaks ${named.protocol}, not ${protocol}`);
  }
  if (named.terminal) throw bad(`client: ${named.name} is interactive, and a cut has to end by itself`);
  return { ...named, protocol: named.protocol ?? protocol ?? 'openai-chat' };
}

function ownDriver(file: string, protocol: Protocol): TrialClient {
  const path = resolve(file);
  if (!isFile(path)) throw bad(`--driver: no file ${file}`);
  return { name: nameOf(path), protocol, ...drivenBy('module', [path, protocol]) };
}

/** `own` leaves an SDK as it is; a process is never told. */
function retriesOf(text: string | undefined, driver: boolean): number | null {
  if (!driver && text !== undefined) throw bad('--retries: only a driver can be told, and this client is a process');
  if (text === 'own' || !driver) return null;
  return wholeNumber('--retries', text, 0) ?? DEFAULT_RETRIES;
}

/** Of thousands of cuts a terminal sees some hundred steps, and a log each tenth of them. */
function inTenths(report: (step: Step) => void): (progress: SweepProgress) => void {
  const part = (done: number, total: number, parts: number): number => Math.floor((done * parts) / Math.max(total, 1));
  return ({ done, total, etaMs }) => {
    if (done === 0) return;
    const isStep = (parts: number): boolean => part(done, total, parts) > part(done - 1, total, parts);
    if (isStep(10)) report({ done, total, etaMs, what: 'cuts' });
    else if (isStep(500)) report({ done, total, etaMs, what: undefined });
  };
}

async function write(path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  } catch (thrown) {
    throw bad(`can't write ${path}: ${messageOf(thrown)}`);
  }
}

/** The ranges that meet one of the words of `--fail-on`. */
function failing({ client, teardowns }: Sweep, words: readonly string[]): string[] {
  return teardowns.flatMap(({ teardown, ranges }) =>
    ranges
      .filter(({ verdict }) => words.includes(verdict))
      .map(({ verdict, first, last }) => `${client} ${teardown} ${first}..${last}: ${verdict}`),
  );
}
