import type { Command } from 'commander';
import { unknownWord, WirefaultError } from '../errors.js';
import { DEFAULT_RANDOM_WEIGHTS } from '../fault/catalogue.js';
import { LANE_BY_FORMS } from '../fault/lanes.js';
import type { ScriptWord } from '../fault/word.js';
import type { FaultServer } from '../fault-server.js';
import { OPTION_NAMES } from '../option-rows.js';
import type { GivenOptions } from '../options.js';
import { loadScenario } from '../scenario/load.js';
import type { NamedOptions } from '../server.js';
import { humanLines, jsonLines, LOG_LEVELS, type Telemetry } from '../telemetry.js';
import { addSimpleFlags, CLI_DEFAULTS, flagOf, numberOf, simpleOptionsOf } from './flags.js';
import { wholeNumber } from './values.js';

/** What `serve` and `proxy` have in common: flags to the options of the library, telemetry, signals. */

/** What the shell gets when a signal stopped the server: 128 and its number. */
const EXIT = { SIGINT: 130, SIGTERM: 143 } as const;

/** Ledgers that `/__journal` can tell of. */
const CONTROL_LEDGERS = 1000;

export interface ServingFlags {
  readonly scenario?: string;
  readonly sequence?: string;
  readonly laneBy?: string;
  readonly laneIgnore?: string;
  readonly repeatLast?: boolean;
  readonly seed?: string;
  readonly workers?: string;
  readonly randomWeights?: string;
  readonly json?: boolean;
  readonly redact: boolean;
  readonly control: boolean;
  readonly logLevel: string;
}

function sequenceOf(text: string): ScriptWord[] {
  return text.split(',').map((part) => part.trim());
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

function givenBy(flags: ServingFlags & Record<string, unknown>): GivenOptions {
  return {
    ...simpleOptionsOf(flags),
    ...(flags.sequence === undefined ? {} : { sequence: sequenceOf(flags.sequence) }),
    ...(flags.repeatLast === undefined ? {} : { repeatLast: flags.repeatLast }),
    ...(flags.seed === undefined ? {} : { randomSeed: numberOf(flags.seed) }),
    ...(flags.laneBy === undefined ? {} : { laneBy: flags.laneBy }),
    ...(flags.laneIgnore === undefined ? {} : { laneIgnore: flags.laneIgnore.split(',').map((path) => path.trim()) }),
    ...(flags.randomWeights === undefined ? {} : { randomWeights: weightsOf(flags.randomWeights) }),
  };
}

function telemetryOf(flags: ServingFlags): Telemetry {
  const level = LOG_LEVELS.find((name) => name === flags.logLevel);
  if (!level)
    throw new WirefaultError('bad_option', `--log-level: ${unknownWord('level', flags.logLevel, LOG_LEVELS)}`);
  return process.stdout.isTTY && !flags.json ? humanLines(level) : jsonLines(level);
}

/** What a server is started with, beside what is given by flags and by the scenario. */
export type Given = NamedOptions;

/** Runs a server until a signal comes or its port is lost. `start` adds what is the command's own. */
export async function runServing(
  flags: ServingFlags & Record<string, unknown>,
  command: Command,
  start: (given: Given) => Promise<FaultServer>,
): Promise<void> {
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
  const scenario = flags.scenario === undefined ? {} : await loadScenario(flags.scenario);
  const workers = wholeNumber('--workers', flags.workers, 1) ?? 1;
  const given: Given = {
    port: CLI_DEFAULTS.port,
    ...scenario,
    ...givenBy(flags),
    // Nobody reads them here, and a stress run makes millions.
    requestHistory: 0,
    ledgerHistory: flags.control ? CONTROL_LEDGERS : 0,
    control: flags.control,
    redact: flags.redact,
    onEvent: (event) => {
      telemetry.event(event);
      if (event.type === 'listen_failed') lose(new WirefaultError('listen_failed', event.reason));
    },
  };
  const server = workers > 1 ? await served(workers, given, start) : await start(given);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, async () => {
      await server.close();
      await telemetry.flush();
      process.exit(EXIT[signal]);
    });
  }
  await lost.finally(telemetry.flush);
}

/** One of several processes, or the one that they belong to. Nothing of it is loaded for a single one. */
async function served(
  workers: number,
  given: Given,
  start: (given: Given) => Promise<FaultServer>,
): Promise<{ close(): Promise<void> }> {
  const { isWorker, runWorker } = await import('../workers/worker.js');
  if (isWorker()) return runWorker((more) => start({ ...given, ...more }));
  const { runPrimary } = await import('../workers/primary.js');
  return runPrimary({ workers, given, naming: flagOf });
}

/** Adds the flags that both commands have. */
export function addServingFlags(command: Command): void {
  const weights = Object.entries(DEFAULT_RANDOM_WEIGHTS).map(([name, weight]) => `${name}=${weight}`);
  command
    .option(
      '--sequence <a,b,c>',
      'one for each request in the order of arrival: behavior, teardown@position or behavior@position (default: success, repeated)',
    )
    .option(
      '--scenario <file>',
      'behaviors, scripts, lanes, rules and options from a YAML or JSON file; flags override it',
    )
    .option(
      '--lane-by <what>',
      `what separates lanes, each with its own cursor: ${LANE_BY_FORMS.join(', ')} (default: none)`,
    )
    .option('--lane-ignore <a,b>', 'with --lane-by body: places in the JSON that change on a retry')
    .option('--repeat-last', 'reuse the last behavior for ever; without it an exhausted script answers 500')
    .option('--seed <n>', 'unsigned 32-bit seed of random, jitter and ids; drawn and printed without it')
    .option('--random-weights <a=n,b=n>', `shares of random (default: ${weights.join(', ')})`);
  addSimpleFlags(command, OPTION_NAMES);
  command
    .option('--workers <n>', 'processes that serve the port together, so that all cores are used (default: 1)')
    .option('--log-level <level>', `least level that is printed: ${LOG_LEVELS.join(', ')}`, 'info')
    .option('--no-control', 'no control plane (/__control and its like)')
    .option('--no-redact', 'keep keys in the journal and in captured requests')
    .option('--json', 'JSON lines on a terminal too');
}
