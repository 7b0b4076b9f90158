import type { Command } from 'commander';
import { answersOf } from '../answers.js';
import { unknownWord, WirefaultError } from '../errors.js';
import { earlyPlan } from '../fault/early-plan.js';
import { explainHex, explainText, planSha256 } from '../fault/explain.js';
import { explainSvg } from '../fault/explain-svg.js';
import { DEFAULT_LANE } from '../fault/lanes.js';
import { onlyAttempt } from '../fault/script.js';
import { isPlayed, requestBytesOf } from '../fault/stage.js';
import type { WirePlan } from '../fault/wire-plan.js';
import { OPTION_NAMES } from '../option-rows.js';
import { isPassed } from '../proxy/proxy-answers.js';
import { openReplay } from '../replay/open.js';
import { resolveOptions } from '../resolve-options.js';
import { faultText, namedOf } from '../resolve-script.js';
import { loadScenario } from '../scenario/load.js';
import { PROTOCOLS } from '../sse/dialect.js';
import { addSimpleFlags, flagOf, numberOf, simpleOptionsOf } from './flags.js';
import { type CommandOutput, paintOf, print, processOutput } from './output.js';

/** `wirefault explain`: what would be sent, without a server. */

const FORMATS = ['text', 'hex', 'json', 'svg'] as const;

/** Options that shape an answer; the others are the server's. */
const ANSWER_OPTIONS = OPTION_NAMES.filter(
  (name) => !/^(host|port|apiKey|listenDelay|journal|capture|evidence|max|requestTimeout)/.test(name),
);

const DEFAULT_SEED = 42;

/** Answers carry the time; it is always the same here, so that the same call prints the same bytes. */
const TIME = new Date('2026-01-01T00:00:00Z');

interface ExplainFlags {
  readonly protocol: string;
  readonly scenario?: string;
  readonly format: string;
  readonly stream: boolean;
  readonly model?: string;
  readonly seed?: string;
}

export function addExplainCommand(root: Command, output?: CommandOutput): void {
  const command = root
    .command('explain')
    .description('print what a behavior would send: every byte with its marks, the cut, the time line')
    .argument('<word>', 'a behavior, teardown@position, behavior@position, or a fault as JSON')
    .option('--scenario <file>', 'with the behaviors and options of a scenario file')
    .option('--protocol <name>', `one of ${PROTOCOLS.join(', ')}`, 'openai-chat')
    .option('--no-stream', 'the answer to a request that does not stream')
    .option('--model <name>', 'the model that the request names')
    .option('--seed <n>', `seed of the ids, as of serve: attempt 1 is explained (default: ${DEFAULT_SEED})`)
    .option('--format <format>', `one of ${FORMATS.join(', ')}`, 'text');
  addSimpleFlags(command, ANSWER_OPTIONS);
  command.action(async (word: string, flags: ExplainFlags & Record<string, unknown>) => {
    await print(output ?? processOutput(), await explained(word, flags, output ?? processOutput()));
  });
}

async function explained(
  word: string,
  flags: ExplainFlags & Record<string, unknown>,
  output: CommandOutput,
): Promise<string> {
  const format = oneOf('--format', flags.format, FORMATS);
  const plan = await planFor(word, flags);
  const title = `${word}, ${flags.protocol}, ${flags.stream ? 'streamed' : 'as a JSON body'}`;
  const columns = process.stdout.columns ?? 160;
  switch (format) {
    case 'json':
      return jsonOf(word, plan);
    case 'svg':
      return explainSvg({ title, plan });
    case 'hex':
      return explainHex({ title, plan, columns, paint: paintOf(output) });
    case 'text':
      return explainText({ title, plan, columns, paint: paintOf(output) });
    default:
      return format satisfies never;
  }
}

function jsonOf(word: string, plan: WirePlan): string {
  const { bytes } = plan;
  const rest = { ...plan, bytes: undefined, lease: undefined };
  const told = { word, sha256: planSha256(plan), ...rest, base64: bytes.toString('base64') };
  return `${JSON.stringify(told, null, 2)}\n`;
}

async function planFor(word: string, flags: ExplainFlags & Record<string, unknown>): Promise<WirePlan> {
  const protocol = oneOf('--protocol', flags.protocol, PROTOCOLS);
  const scenario = flags.scenario === undefined ? {} : await loadScenario(flags.scenario);
  const seed = flags.seed === undefined ? (scenario.randomSeed ?? DEFAULT_SEED) : numberOf(flags.seed);
  const options = resolveOptions({ ...scenario, ...simpleOptionsOf(flags), randomSeed: seed }, flagOf);
  const named = namedOf(faultText(word), 'explain', options.catalogue);
  if (!named) throw new WirefaultError('bad_script', 'random has no answer of its own that could be explained');
  const { name, fault } = named;
  if (!isPlayed(fault)) {
    throw new WirefaultError('bad_script', `${name} is a fault of the port: it has no answer that could be explained`);
  }
  if (requestBytesOf(fault) !== undefined) return earlyPlan(fault, options);
  const body = { stream: flags.stream, ...(flags.model ? { model: flags.model } : {}) };
  const asked = { headers: {}, keepAlive: true, httpVersion: '1.1' } as const;
  const answers = answersOf(options, () => TIME);
  const chosen = onlyAttempt(named, DEFAULT_LANE);
  const replay = isPassed(fault) ? await openReplay(options, flagOf) : undefined;
  if (!replay) return answers.plan(chosen, protocol, body, asked);
  const lacking = replay.lacks(protocol);
  if (lacking !== undefined) throw new WirefaultError('bad_option', `${flagOf('replay')}: ${lacking}`);
  const head = { ...asked, method: 'POST', target: '/', path: '/', expectsContinue: false };
  return replay.plan(
    { head, protocol, request: undefined, body, lane: DEFAULT_LANE, generation: 1 },
    { fault, content: options, material: answers.material(chosen, protocol, body) },
  );
}

function oneOf<T extends string>(flag: string, text: string, known: readonly T[]): T {
  const found = known.find((one) => one === text);
  if (found === undefined) throw new WirefaultError('bad_option', `${flag}: ${unknownWord('word', text, known)}`);
  return found;
}
