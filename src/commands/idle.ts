import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { unknownWord, WirefaultError } from '../errors.js';
import { PROTOCOLS } from '../sse/dialect.js';
import { listed } from '../trial/fail-words.js';
import { ASKS, type Ask, IDLE_DEFAULTS, type IdleOptions, measureIdle } from '../trial/idle.js';
import type { IdleResults } from '../trial/idle-results.js';
import { idleText, timeText } from '../trial/idle-text.js';
import { MATRIX_DEFAULTS } from '../trial/matrix.js';
import { clientOf, protocolOf } from './client-words.js';
import { durationOf } from './duration.js';
import { type CommandOutput, paintOf, print, processOutput } from './output.js';
import { reporter, stoppable } from './progress.js';
import { wholeNumber } from './values.js';

interface IdleFlags {
  readonly protocol?: string;
  readonly probes?: string;
  readonly repeats?: string;
  readonly jobs?: string;
  readonly maxWait?: string;
  readonly limit?: string;
  readonly seed?: string;
  readonly out?: string;
  readonly json?: true;
}

const HELP = `
CLIENT is a client that wirefault knows (those of \`wirefault matrix\`), or a command. In a command {{baseURL}} (without
/v1), {{key}} and {{prompt}} are filled in; OPENAI_BASE_URL, ANTHROPIC_BASE_URL and the keys are set as well.

  refused         the connect is refused               between_events  silence between events
  accept          accepted, the request never read     no_terminal     the finish has come, the terminal does not
  no_headers      the request is read, no byte comes   no_close        the terminal has come, the body is left open
  headers         silence after the headers            total           events keep coming, the end does not
  first_event     silence after the first event
  rearm           whether comments, pings and empty events set the patience between events back
  gap             the shortest pause between events that it minds, by doubling and bisection

Time is taken from the socket: from the last byte that the server sent to the client's FIN or RST. Retries get the same
silence, and are counted. A client that outlives --max-wait has no limit: "> 60 s". What re-arms a client takes up to
twice its patience between events. OUT/idle.json has all that was found, as --json prints it.
Exit code: 0, or 1 where it could not run or --limit was exceeded, 2 for wrong usage.

  wirefault idle --max-wait 10m -- sdk-openai-chat
  wirefault idle --probes between_events,rearm --limit 90s -- node my-agent.js {{baseURL}}`;

const MIN_WAIT_MS = 100;

/** `wirefault idle`: how long a client waits, and what it does then. */
export function addIdleCommand(root: Command, output?: CommandOutput): void {
  root
    .command('idle')
    .description("measure a client's patience: its timeouts, what re-arms them, its retries and how it closes")
    .argument('<client...>', 'a client that wirefault knows, or a command; behind --')
    .option('--protocol <name>', `what the command speaks: ${PROTOCOLS.join(', ')} (default: as its first request)`)
    .option('--probes <words>', 'which situations, with commas (default: all)')
    .option('--repeats <n>', `runs of each (default: ${IDLE_DEFAULTS.repeats})`)
    .option('--jobs <n>', `runs at a time (default: ${IDLE_DEFAULTS.jobs})`)
    .option('--max-wait <time>', `longest silence: 90s, 10m, or ms (default: ${IDLE_DEFAULTS.maxWaitMs / 1000}s)`)
    .option('--limit <time>', 'exit with 1 where the patience of any probe is longer')
    .option('--seed <n>', `seed of the answers (default: ${MATRIX_DEFAULTS.seed})`)
    .option('--out <dir>', 'where idle.json goes')
    .option('--json', 'print the results as JSON instead of a table')
    .addHelpText('after', HELP)
    .action(async (words: readonly string[], flags: IdleFlags) => {
      const out = output ?? processOutput();
      const options: IdleOptions = {
        client: clientOf(words, protocolOf(flags.protocol)),
        asks: asksOf(flags.probes),
        repeats: wholeNumber('--repeats', flags.repeats, 1) ?? IDLE_DEFAULTS.repeats,
        jobs: wholeNumber('--jobs', flags.jobs, 1) ?? IDLE_DEFAULTS.jobs,
        maxWaitMs: durationOf('--max-wait', flags.maxWait, MIN_WAIT_MS) ?? IDLE_DEFAULTS.maxWaitMs,
        seed: wholeNumber('--seed', flags.seed, 0) ?? MATRIX_DEFAULTS.seed,
        prompt: MATRIX_DEFAULTS.prompt,
        onProgress: reporter(out),
      };
      const limitMs = durationOf('--limit', flags.limit, 1);
      if (limitMs !== undefined && limitMs > options.maxWaitMs) {
        throw bad(`--limit: ${timeText(limitMs)} is longer than --max-wait, ${timeText(options.maxWaitMs)}`);
      }
      const results = await stoppable(() => measureIdle(options));
      const json = `${JSON.stringify(results, null, 2)}\n`;
      if (flags.out !== undefined) await writeResults(resolve(flags.out), json);
      await print(out, flags.json ? json : idleText(results, paintOf(out)));
      const met = limitMs === undefined ? [] : longer(results, limitMs);
      for (const one of met) out.err.write(`${one}\n`);
      if (met.length > 0) process.exitCode = 1;
    });
}

function bad(message: string): WirefaultError {
  return new WirefaultError('bad_option', message);
}

async function writeResults(dir: string, json: string): Promise<void> {
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'idle.json'), json);
}

function asksOf(text: string | undefined): readonly Ask[] {
  const words = listed(text);
  if (!words) return ASKS;
  return words.map((word) => {
    const ask = ASKS.find((known) => known === word);
    if (!ask) throw bad(`--probes: ${unknownWord('probe', word, ASKS)}`);
    return ask;
  });
}

/** Probes at which the client was more patient than it may be. */
function longer({ probes, maxWaitMs }: IdleResults, limitMs: number): string[] {
  return probes.flatMap(({ probe, outcome, maxMs }) => {
    if (outcome === 'not_measured' || (maxMs !== null && maxMs <= limitMs)) return [];
    const waited = maxMs === null ? `more than ${timeText(maxWaitMs)}` : timeText(maxMs);
    return [`${probe}: it waits ${waited}, and ${timeText(limitMs)} is the limit`];
  });
}
