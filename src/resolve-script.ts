import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { messageOf, unknownWord, WirefaultError } from './errors.js';
import { type Catalogue, DEFAULT_RANDOM_WEIGHTS, type RandomWeights } from './fault/catalogue.js';
import { problemsOf } from './fault/contradictions.js';
import { LANE_BY_FORMS, type LaneBy, laneByOf, problemWithIgnored } from './fault/lanes.js';
import { catalogueWith } from './fault/own-behaviors.js';
import { issuesOf, problemsIn } from './fault/read-fault.js';
import { problemsOfRule, type RuleSpec, ruleSchema } from './fault/rules.js';
import { type Named, RANDOM, type Script, scriptOf, sharesOf } from './fault/script.js';
import type { FaultSpec } from './fault/spec.js';
import { isPlayed } from './fault/stage.js';
import { meaningOf } from './fault/word.js';
import type { LaneScript, NamedRule, ScriptOptions } from './options.js';
import { type Naming, refused } from './refused.js';

/** Checks the options that decide which request gets which fault, and looks up what their words mean. */
export interface ResolvedScripts {
  readonly script: Script;
  readonly catalogue: Catalogue;
  readonly laneBy: LaneBy;
  readonly laneIgnore: readonly string[];
  readonly lanes: ReadonlyMap<string, Script>;
  readonly rules: readonly NamedRule[];
}

/** @throws WirefaultError `bad_option` or `bad_script` */
export function resolveScripts(given: ScriptOptions, naming: Naming): ResolvedScripts {
  const { catalogue, problems } = catalogueWith(given.behaviors ?? {});
  const [problem] = problems;
  if (problem) throw badScript(`${naming('behaviors')}: ${problem.path.join('.')}: ${problem.message}`);
  const { sequence = ['success'], repeatLast = given.sequence === undefined, randomSeed, randomWeights } = given;
  const { laneBy = 'none', laneIgnore = [], lanes = {}, rules = [] } = given;
  if (randomSeed !== undefined && !z.int().min(0).max(0xffff_ffff).safeParse(randomSeed).success) {
    throw refused(naming('randomSeed'), randomSeed, 'a whole number from 0 to 4294967295');
  }
  const by = laneByOf(laneBy);
  if (!by) throw new WirefaultError('bad_option', `${naming('laneBy')}: ${unknownWord('lane', laneBy, LANE_BY_FORMS)}`);
  for (const path of laneIgnore) {
    const message = problemWithIgnored(path);
    if (message !== undefined) throw new WirefaultError('bad_option', `${naming('laneIgnore')}: ${message}`);
  }
  const weights =
    randomWeights === undefined ? DEFAULT_RANDOM_WEIGHTS : checkedWeights(randomWeights, naming, catalogue);
  const common = { seed: randomSeed ?? randomInt(0x1_0000_0000), shares: sharesOf(catalogue, weights) };
  const resolve = ({ sequence: words, repeatLast: repeats = false }: LaneScript, where: string): Script =>
    scriptOf(namedIn(words, where, catalogue), { repeatLast: checkedRepeat(repeats, where, naming), ...common });
  const script = resolve({ sequence, repeatLast }, naming('sequence'));
  endsWell(script, sequence, naming('sequence'), naming('repeatLast'));
  const own = Object.entries(lanes).map(([lane, given]): [string, Script] => {
    const where = `${naming('lanes')}: ${lane}`;
    const made = resolve(given, where);
    endsWell(made, given.sequence, where, 'repeatLast');
    return [lane, made];
  });
  const drawing = [script, ...own.map(([, one]) => one)].some(({ entries }) => entries.some(({ named }) => !named));
  if (randomWeights !== undefined && !drawing) {
    const message = `${naming('randomWeights')}: has no meaning without random in ${naming('sequence')}`;
    throw new WirefaultError('bad_option', message);
  }
  return {
    script,
    catalogue,
    laneBy: by,
    laneIgnore,
    lanes: new Map(own),
    rules: rules.map((rule, n) => namedRule(rule, `${naming('rules')}: rule ${n + 1}`, catalogue)),
  };
}

/**
 * A rule with what its fault means.
 * @throws WirefaultError `bad_script`: one line that begins with `where`
 */
export function namedRule(rule: RuleSpec, where: string, catalogue: Catalogue): NamedRule {
  const parsed = ruleSchema.safeParse(rule, { reportInput: true });
  const [problem] = parsed.success ? problemsOfRule(rule) : problemsIn(parsed.error.issues, ruleSchema);
  if (problem) throw badScript(`${where}: ${[...problem.path, ''].join('.').slice(0, -1)}: ${problem.message}`);
  const named = namedOf(rule.fault, where, catalogue);
  if (!named) throw badScript(`${where}: fault: random can't be a rule's fault; use probability`);
  if (!isPlayed(named.fault))
    throw badScript(`${where}: fault: ${named.name} is a fault of the port, which no request can meet`);
  const later = rule.then && namedOf(rule.then.behavior, `${where}: then`, catalogue);
  if (rule.then && (!later || !isPlayed(later.fault)))
    throw badScript(`${where}: then.behavior: it has to be one that answers`);
  return { spec: rule, named, ...(later ? { later } : {}) };
}

function badScript(message: string): WirefaultError {
  return new WirefaultError('bad_script', message);
}

function checkedRepeat(repeatLast: unknown, where: string, naming: Naming): boolean {
  if (typeof repeatLast === 'boolean') return repeatLast;
  throw refused(where === naming('sequence') ? naming('repeatLast') : where, repeatLast, 'true or false');
}

function endsWell(script: Script, sequence: LaneScript['sequence'], where: string, repeats: string): void {
  if (!script.repeatLast || !script.endsInWindow) return;
  const message =
    `${where}: ${String(sequence.at(-1))} can't be the last entry with ${repeats}, since no request ` +
    'could ever use it up; end the sequence with a behavior that answers';
  throw badScript(message);
}

function namedIn(sequence: LaneScript['sequence'], where: string, catalogue: Catalogue): (Named | undefined)[] {
  if (Array.isArray(sequence) && sequence.length > 0) return sequence.map((word) => namedOf(word, where, catalogue));
  const known = [...catalogue.keys(), RANDOM].join(', ');
  throw refused(where, sequence, `a list of at least one behavior (${known})`);
}

/**
 * A word, or a fault as data where the text begins as an object.
 * @throws WirefaultError `bad_script` where it isn't JSON then
 */
export function faultText(text: string): string | FaultSpec {
  if (!text.trimStart().startsWith('{')) return text;
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw badScript(`the fault is not JSON: ${messageOf(thrown)}`);
  }
}

/**
 * What a word or a fault means in a catalogue; `undefined` for `random`.
 * @throws WirefaultError `bad_script`: one line that begins with `where`
 */
export function namedOf(word: string | FaultSpec, where: string, catalogue: Catalogue): Named | undefined {
  if (word === RANDOM) return undefined;
  if (typeof word === 'string') {
    const meaning = meaningOf(word, catalogue);
    if ('problem' in meaning) throw badScript(`${where}: ${meaning.problem}`);
    return meaning;
  }
  const issues = issuesOf(word);
  const [problem] = issues.length > 0 ? issues : problemsOf(word);
  if (problem) throw badScript(`${where}: fault ${problem.path.join('.')}: ${problem.message}`);
  return { name: 'fault', fault: word };
}

function checkedWeights(weights: RandomWeights, naming: Naming, catalogue: Catalogue): RandomWeights {
  const name = naming('randomWeights');
  const drawable = [...catalogue.values()].filter(({ fault }) => isPlayed(fault)).map((behavior) => behavior.name);
  for (const [behavior, weight] of Object.entries(weights)) {
    if (!drawable.includes(behavior)) {
      throw new WirefaultError('bad_option', `${name}: ${unknownWord('behavior', behavior, drawable)}`);
    }
    if (typeof weight !== 'number' || !Number.isFinite(weight) || weight < 0) {
      throw refused(`${name} ${behavior}`, weight, 'a number of at least 0');
    }
  }
  if (!Object.values(weights).some((weight) => weight > 0)) {
    throw refused(name, weights, 'at least one weight above 0');
  }
  return weights;
}
