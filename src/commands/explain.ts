import type { Command } from 'commander';
import { answersOf } from '../answers.js';
import { unknownWord, WirefaultError } from '../errors.js';
import { explainHex, explainText, planSha256 } from '../fault/explain.js';
import type { WirePlan } from '../fault/wire-plan.js';
import { type PlayedWord, problemWith } from '../fault/word.js';
import { OPTION_NAMES } from '../options.js';
import { resolveOptions } from '../resolve-options.js';
import { PROTOCOLS } from '../sse/dialect.js';
import { addSimpleFlags, flagOf, numberOf, simpleOptionsOf } from './flags.js';
import { type CommandOutput, paintOf, print, processOutput } from './output.js';

/** `wirefault explain`: what would be sent, without a server. */

const FORMATS = ['text', 'hex', 'json'] as const;

/** Options that shape an answer; the others are the server's. */
const ANSWER_OPTIONS = OPTION_NAMES.filter(
  (name) => !/^(host|port|apiKey|listenDelay|journal|capture|evidence|max|requestTimeout)/.test(name),
);

/** Answers carry the time; it is always the same here, so that the same call prints the same bytes. */
const TIME = new Date('2026-01-01T00:00:00Z');

interface ExplainFlags {
  readonly protocol: string;
  readonly format: string;
  readonly stream: boolean;
  readonly model?: string;
  readonly seed?: string;
}

export function addExplainCommand(root: Command, output?: CommandOutput): void {
  const command = root
    .command('explain')
    .description('print what a behavior would send: every byte with its marks, the cut, the time line')
    .argument('<word>', 'a behavior, teardown@position or behavior@position')
    .option('--protocol <name>', `one of ${PROTOCOLS.join(', ')}`, 'openai-chat')
    .option('--no-stream', 'the answer to a request that does not stream')
    .option('--model <name>', 'the model that the request names')
    .option('--seed <n>', 'seed of the ids, as of serve: attempt 1 is explained', '42')
    .option('--format <format>', `one of ${FORMATS.join(', ')}`, 'text');
  addSimpleFlags(command, ANSWER_OPTIONS);
  command.action(async (word: string, flags: ExplainFlags & Record<string, unknown>) => {
    await print(output ?? processOutput(), explained(word, flags, output ?? processOutput()));
  });
}

function explained(word: string, flags: ExplainFlags & Record<string, unknown>, output: CommandOutput): string {
  const format = oneOf('--format', flags.format, FORMATS);
  const plan = planFor(word, flags);
  if (format === 'json') {
    const { bytes, ...rest } = plan;
    return `${JSON.stringify({ word, sha256: planSha256(plan), ...rest, base64: bytes.toString('base64') }, null, 2)}\n`;
  }
  const title = `${word}, ${flags.protocol}, ${flags.stream ? 'streamed' : 'as a JSON body'}`;
  const columns = process.stdout.columns ?? 160;
  return (format === 'hex' ? explainHex : explainText)({ title, plan, columns, paint: paintOf(output) });
}

function planFor(word: string, flags: ExplainFlags & Record<string, unknown>): WirePlan {
  const problem = problemWith(word);
  if (problem) throw new WirefaultError('bad_script', problem);
  if (word === 'random' || word === 'connection_refused') {
    throw new WirefaultError('bad_script', `${word} has no answer of its own that could be explained`);
  }
  const protocol = oneOf('--protocol', flags.protocol, PROTOCOLS);
  const seed = flags.seed ?? '42';
  const options = resolveOptions(
    { ...simpleOptionsOf(flags), sequence: ['random'], randomSeed: numberOf(seed) },
    flagOf,
  );
  const behavior = word as PlayedWord;
  const chosen = { kind: 'behavior', lane: 'default', attempt: 1, scripted: behavior, behavior, refusals: 0 } as const;
  const body = { stream: flags.stream, ...(flags.model ? { model: flags.model } : {}) };
  return answersOf(options, () => TIME).plan(chosen, protocol, body, {
    headers: {},
    keepAlive: true,
    httpVersion: '1.1',
  });
}

function oneOf<T extends string>(flag: string, text: string, known: readonly T[]): T {
  const found = known.find((one) => one === text);
  if (found === undefined) throw new WirefaultError('bad_option', `${flag}: ${unknownWord('word', text, known)}`);
  return found;
}
