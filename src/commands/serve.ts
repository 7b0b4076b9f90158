import type { Command } from 'commander';
import { unknownWord, WirefaultError } from '../errors.js';
import { DEFAULT_RANDOM_WEIGHTS } from '../fault/catalogue.js';
import { isScriptWord, problemWith, type ScriptWord } from '../fault/word.js';
import { type GivenOptions, OPTION_NAMES } from '../options.js';
import { startNamed } from '../server.js';
import { humanLines, jsonLines, LOG_LEVELS, type Telemetry } from '../telemetry.js';
import { addSimpleFlags, CLI_DEFAULTS, flagOf, numberOf, simpleOptionsOf } from './flags.js';

/** `wirefault serve`: flags to the options of the library. */

/** What the shell gets when a signal stopped the server: 128 and its number. */
const EXIT = { SIGINT: 130, SIGTERM: 143 } as const;

interface ServeFlags {
  readonly sequence?: string;
  readonly repeatLast?: boolean;
  readonly seed?: string;
  readonly randomWeights?: string;
  readonly json?: boolean;
  readonly redact: boolean;
  readonly logLevel: string;
}

function sequenceOf(text: string): ScriptWord[] {
  return text.split(',').map((part) => {
    const word = part.trim();
    if (isScriptWord(word)) return word;
    throw new WirefaultError('bad_script', `--sequence: ${problemWith(word)}`);
  });
}

function weightsOf(text: string): Record<string, number> {
  const weights = new Map<string, number>();
  for (const part of text.split(',')) {
    const [, name, weight] = /^\s*([^=\s]+)\s*=\s*(\d+(?:\.\d+)?)\s*$/.exec(part) ?? [];
    if (name === undefined || weight === undefined) {
      const message = `--random-weights: ${JSON.stringify(part)} is not allowed; expected behavior=weight with a number of at least 0`;
      throw new WirefaultError('bad_option', message);
    }
    if (weights.has(name)) {
      const message = `--random-weights: ${JSON.stringify(part)} is not allowed; ${name} has a weight already`;
      throw new WirefaultError('bad_option', message);
    }
    weights.set(name, Number(weight));
  }
  return Object.fromEntries(weights);
}

function givenBy(flags: ServeFlags & Record<string, unknown>): GivenOptions {
  return {
    port: CLI_DEFAULTS.port,
    ...simpleOptionsOf(flags),
    ...(flags.sequence === undefined ? {} : { sequence: sequenceOf(flags.sequence) }),
    ...(flags.repeatLast === undefined ? {} : { repeatLast: flags.repeatLast }),
    ...(flags.seed === undefined ? {} : { randomSeed: numberOf(flags.seed) }),
    ...(flags.randomWeights === undefined ? {} : { randomWeights: weightsOf(flags.randomWeights) }),
  };
}

function telemetryOf(flags: ServeFlags): Telemetry {
  const level = LOG_LEVELS.find((name) => name === flags.logLevel);
  if (!level)
    throw new WirefaultError('bad_option', `--log-level: ${unknownWord('level', flags.logLevel, LOG_LEVELS)}`);
  return process.stdout.isTTY && !flags.json ? humanLines(level) : jsonLines(level);
}

async function serve(flags: ServeFlags & Record<string, unknown>, command: Command): Promise<void> {
  const [excess] = command.args;
  if (excess !== undefined) {
    const known = command.parent?.commands.map((other) => other.name()) ?? [];
    throw new WirefaultError('bad_option', unknownWord('command', excess, known));
  }
  const telemetry = telemetryOf(flags);
  let lose: (error: WirefaultError) => void = () => {};
  const lost = new Promise<never>((_, reject) => {
    lose = reject;
  });
  const server = await startNamed(
    {
      ...givenBy(flags),
      // Nobody reads them here, and a stress run makes millions.
      requestHistory: 0,
      ledgerHistory: 0,
      redact: flags.redact,
      onEvent: (event) => {
        telemetry.event(event);
        if (event.type === 'listen_failed') lose(new WirefaultError('listen_failed', event.reason));
      },
    },
    flagOf,
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, async () => {
      await server.close();
      await telemetry.flush();
      process.exit(EXIT[signal]);
    });
  }
  await lost.finally(telemetry.flush);
}

export function addServeCommand(root: Command): Command {
  const weights = Object.entries(DEFAULT_RANDOM_WEIGHTS).map(([name, weight]) => `${name}=${weight}`);
  const serveCommand = root
    .command('serve', { isDefault: true })
    .description('answer requests with scripted faults (the default command)')
    // So that the one that is too much can be named.
    .allowExcessArguments()
    .optionsGroup('Options of serve:')
    .option(
      '--sequence <a,b,c>',
      'one for each request in the order of arrival: behavior, teardown@position or behavior@position (default: success, repeated)',
    )
    .option('--repeat-last', 'reuse the last behavior for ever; without it an exhausted script answers 500')
    .option('--seed <n>', 'unsigned 32-bit seed of random; drawn and printed without it')
    .option('--random-weights <a=n,b=n>', `shares of random (default: ${weights.join(', ')})`);
  addSimpleFlags(serveCommand, OPTION_NAMES);
  serveCommand
    .option('--log-level <level>', `least level that is printed: ${LOG_LEVELS.join(', ')}`, 'info')
    .option('--no-redact', 'keep keys in the journal and in captured requests')
    .option('--json', 'JSON lines on a terminal too')
    .action(serve);
  return serveCommand;
}
