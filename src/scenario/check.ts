import { unknownWord, WirefaultError } from '../errors.js';
import type { Catalogue } from '../fault/catalogue.js';
import { type FaultProblem, problemsOf } from '../fault/contradictions.js';
import { LANE_BY_FORMS, laneByOf, problemWithIgnored } from '../fault/lanes.js';
import { catalogueWith } from '../fault/own-behaviors.js';
import { problemsIn } from '../fault/read-fault.js';
import { problemsOfRule } from '../fault/rules.js';
import type { Named } from '../fault/script.js';
import type { FaultSpec } from '../fault/spec.js';
import { isPlayed } from '../fault/stage.js';
import { meaningOf } from '../fault/word.js';
import { OPTION_ROWS, type SimpleOptionName } from '../option-rows.js';
import type { GivenOptions } from '../options.js';
import { unreachable } from '../reach.js';
import { resolveOptions } from '../resolve-options.js';
import { salvage } from './salvage.js';
import { type ScenarioData, scenarioSchema } from './schema.js';
import { type Located, readSource } from './source.js';

/** A scenario that was read, and everything that is wrong with it. */
export interface CheckedScenario {
  readonly problems: readonly Located[];
  /** Options of the library, where nothing is wrong. */
  readonly options: GivenOptions | undefined;
}

type Path = readonly (string | number)[];

/** Reads and checks the text of a scenario, and finds all problems at once. */
export function checkScenario(text: string): CheckedScenario {
  const source = readSource(text);
  if (source.errors.length > 0) return { problems: source.errors, options: undefined };
  const { problems, options } = checkValue(source.value ?? {});
  const located = problems.map(({ path, message }): Located => {
    // A key that isn't known is wrong itself; anywhere else it's the value.
    const place = source.placeOf(path, message.startsWith('unknown key'));
    return { ...place, message: path.length > 0 ? `${pathText(path)}: ${message}` : message };
  });
  return { problems: located.toSorted((a, b) => a.line - b.line || a.column - b.column), options };
}

function pathText(path: Path): string {
  return path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : text ? `${text}.${key}` : key),
    '',
  );
}

function checkValue(value: unknown): { problems: readonly FaultProblem[]; options: GivenOptions | undefined } {
  const parsed = scenarioSchema.safeParse(value, { reportInput: true });
  if (!parsed.success) {
    const problems = problemsIn(parsed.error.issues, scenarioSchema).map(withAllowed);
    const left = salvage(value, problems);
    return { problems: [...problems, ...(left ? problemsOfData(left.data, left.broken) : [])], options: undefined };
  }
  const options = optionsOf(parsed.data);
  const found = problemsOfData(parsed.data, new Set());
  const problems = found.length > 0 ? found : refusals(options, parsed.data);
  return { problems, options: problems.length === 0 ? options : undefined };
}

/** Options say what they allow in their own words. */
function withAllowed(problem: FaultProblem): FaultProblem {
  const [section, name] = problem.path;
  if (section !== 'options' || typeof name !== 'string' || !Object.hasOwn(OPTION_ROWS, name)) return problem;
  return { ...problem, message: `expected ${OPTION_ROWS[name as SimpleOptionName].allowed}` };
}

function optionsOf(data: ScenarioData): GivenOptions {
  const { options = {}, behaviors, sequence, repeatLast, seed, weights, laneBy, laneIgnore, lanes, rules } = data;
  const given = {
    behaviors,
    sequence,
    repeatLast,
    randomSeed: seed,
    randomWeights: weights,
    laneBy,
    laneIgnore,
    lanes,
    rules,
  };
  return { ...options, ...Object.fromEntries(Object.entries(given).filter(([, one]) => one !== undefined)) };
}

/** All that is wrong beyond the schema. `broken`: behaviors of which it is known already. */
function problemsOfData(data: ScenarioData, broken: ReadonlySet<string>): FaultProblem[] {
  const own = data.behaviors ?? {};
  const { catalogue, problems } = catalogueWith(own);
  const all: FaultProblem[] = problems.map(({ path, message }) => ({ path: ['behaviors', ...path], message }));
  const wrong = new Set([...broken, ...problems.map(({ path }) => String(path[0]))]);
  // One of one's own that is wrong is told at its own place.
  const isWrong = (name: string): boolean => wrong.has(name) || (Object.hasOwn(own, name) && !catalogue.has(name));
  const used: Used[] = [];
  const use = (path: Path, word: string | FaultSpec): Named | undefined => {
    if (typeof word === 'string' && isWrong(word.split('@')[0] ?? word)) return undefined;
    const { named, problems: wrong = [] } = namedAt(path, word, catalogue);
    all.push(...wrong);
    // Where it can't be reached, that is told at its own place, too.
    if (named && !(typeof word === 'string' && Object.hasOwn(own, word))) used.push({ path, named });
    return named;
  };
  const walk = (path: Path, sequence: readonly (string | FaultSpec)[] = [], repeatLast?: boolean): void => {
    const named = sequence.map((word, n) => use([...path, 'sequence', n], word));
    const last = named.at(-1);
    if (repeatLast && last && !isPlayed(last.fault)) {
      const message = `${last.name} can't be the last entry with repeatLast, since no request could ever use it up`;
      all.push({ path: [...path, 'sequence', named.length - 1], message });
    }
  };
  const answering = (path: Path, word: string | FaultSpec): void => {
    const named = use(path, word);
    if (word === 'random') all.push({ path, message: "random can't be a rule's fault; use probability" });
    if (!named || isPlayed(named.fault)) return;
    all.push({ path, message: `${named.name} is a fault of the port, which no request can meet` });
  };
  walk([], data.sequence, data.repeatLast);
  for (const [lane, script] of Object.entries(data.lanes ?? {}))
    walk(['lanes', lane], script.sequence, script.repeatLast);
  for (const [n, rule] of (data.rules ?? []).entries()) {
    answering(['rules', n, 'fault'], rule.fault);
    if (rule.then) answering(['rules', n, 'then', 'behavior'], rule.then.behavior);
    all.push(...problemsOfRule(rule).map(({ path, message }) => ({ path: ['rules', n, ...path], message })));
  }
  for (const [name, { fault }] of catalogue) {
    if (Object.hasOwn(own, name) && !isWrong(name)) used.push({ path: ['behaviors', name], named: { name, fault } });
  }
  if (data.laneBy !== undefined && !laneByOf(data.laneBy)) {
    all.push({ path: ['laneBy'], message: unknownWord('lane', data.laneBy, LANE_BY_FORMS) });
  }
  for (const [n, path] of (data.laneIgnore ?? []).entries()) {
    const message = problemWithIgnored(path);
    if (message !== undefined) all.push({ path: ['laneIgnore', n], message });
  }
  const drawable = [...catalogue.values()].filter(({ fault }) => isPlayed(fault)).map(({ name }) => name);
  for (const name of Object.keys(data.weights ?? {})) {
    if (!drawable.includes(name) && !isWrong(name))
      all.push({ path: ['weights', name], message: unknownWord('behavior', name, drawable) });
  }
  return [...all, ...unreached(used, data)];
}

/** What a word or a fault at `path` means; nothing for `random`; or what is wrong with it. */
function namedAt(
  path: Path,
  word: string | FaultSpec,
  catalogue: Catalogue,
): { readonly named?: Named; readonly problems?: readonly FaultProblem[] } {
  if (word === 'random') return {};
  if (typeof word === 'string') {
    const meaning = meaningOf(word, catalogue);
    return 'problem' in meaning ? { problems: [{ path, message: meaning.problem }] } : { named: meaning };
  }
  const problems = problemsOf(word).map((problem) => ({ ...problem, path: [...path, ...problem.path] }));
  return problems.length > 0 ? { problems } : { named: { name: 'fault', fault: word } };
}

/** Where options of the library stand in a scenario, if not among its options. */
const PLACES: Readonly<Record<string, string>> = { randomWeights: 'weights', randomSeed: 'seed' };

/** What the library itself would refuse: combinations of options. Its line begins with the option's name. */
function refusals(given: GivenOptions, data: ScenarioData): FaultProblem[] {
  try {
    resolveOptions(given, (name) => name);
    return [];
  } catch (thrown) {
    if (!(thrown instanceof WirefaultError)) throw thrown;
    const name = /^[A-Za-z]+/.exec(thrown.message)?.[0] ?? '';
    const among = Object.hasOwn(data.options ?? {}, name);
    return [{ path: among ? ['options', name] : [PLACES[name] ?? name], message: thrown.message }];
  }
}

/** A fault, and where it stands. */
interface Used {
  readonly path: Path;
  readonly named: Named;
}

/** Places that no answer has. What answers say depends on the simple options alone. */
function unreached(used: readonly Used[], data: ScenarioData): FaultProblem[] {
  const { options = {} } = data;
  const wrong = refusals(options, data);
  if (wrong.length > 0) return wrong;
  const plans = resolveOptions(options, (name) => name);
  // What a recorded answer has is known where the recordings are, when the server starts.
  if (plans.replay !== undefined) return [];
  return used.flatMap(({ path, named }) => {
    const why = unreachable(named, plans);
    return why === undefined ? [] : [{ path, message: why }];
  });
}
