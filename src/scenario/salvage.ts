import type { FaultProblem } from '../fault/contradictions.js';
import { isObject, type JsonObject } from '../sse/dialect.js';
import { type ScenarioData, scenarioSchema } from './schema.js';

/** What is left of a scenario without the parts that aren't of the language, so that the rest is looked at, too. */
export interface Salvaged {
  readonly data: ScenarioData;
  /** Behaviors that are wrong, or extend one that is: nothing can be said of whoever uses them. */
  readonly broken: ReadonlySet<string>;
}

type Path = FaultProblem['path'];

/** `problems`: those that the schema has found in `value`. */
export function salvage(value: unknown, problems: readonly FaultProblem[]): Salvaged | undefined {
  const left: unknown = structuredClone(value);
  if (!isObject(left)) return undefined;
  const broken = new Set(
    problems.flatMap(({ path: [section, name] }) =>
      section === 'behaviors' && name !== undefined ? [String(name)] : [],
    ),
  );
  dropBroken(left, broken);
  for (const { path } of problems) remove(left, path);
  // What is parsed may be frozen, input and all.
  const first = scenarioSchema.safeParse(structuredClone(left));
  if (first.success) return { data: first.data, broken };
  // What can't be without what was taken out of it.
  for (const { path } of first.error.issues)
    replace(
      left,
      path.filter((key) => typeof key !== 'symbol'),
    );
  const second = scenarioSchema.safeParse(left);
  return second.success ? { data: second.data, broken } : undefined;
}

function dropBroken({ behaviors }: JsonObject, broken: Set<string>): void {
  if (!isObject(behaviors)) return;
  const own: Record<string, unknown> = behaviors;
  for (let before = -1; before < broken.size; ) {
    before = broken.size;
    for (const [name, behavior] of Object.entries(own)) {
      const base = isObject(behavior) ? behavior.extends : undefined;
      if (base !== name && typeof base === 'string' && broken.has(base)) broken.add(name);
    }
  }
  for (const name of broken) delete own[name];
}

function childOf(parent: unknown, key: string | number): unknown {
  return (isObject(parent) || Array.isArray(parent)) && Object.hasOwn(parent, key)
    ? Reflect.get(parent, key)
    : undefined;
}

/** Takes out the key at `path`; items of lists stay, or the places of all behind them would move. */
function remove(left: unknown, path: Path): void {
  const key = path.at(-1);
  const parent = path.slice(0, -1).reduce(childOf, left);
  if (isObject(parent) && typeof key === 'string') Reflect.deleteProperty(parent, key);
}

/** Puts something healthy in the place of what `path` is a part of. */
function replace(left: Record<string, unknown>, [section = '', key, , item]: Path): void {
  const parent = childOf(left, section);
  const put = (list: unknown, at: Path[number] | undefined, healthy: unknown): void => {
    if (Array.isArray(list) && typeof at === 'number') list[at] = healthy;
    else delete left[section];
  };
  if (section === 'lanes' && key !== undefined) put(childOf(childOf(parent, key), 'sequence'), item, 'success');
  else put(parent, key, section === 'rules' ? { fault: 'success' } : 'success');
}
