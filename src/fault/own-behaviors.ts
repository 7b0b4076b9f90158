import { unknownWord } from '../errors.js';
import type { OwnBehavior } from '../options.js';
import { type Behavior, BUILT_IN, type Catalogue } from './catalogue.js';
import { type FaultProblem, problemsOf } from './contradictions.js';
import { layerOf } from './layer.js';
import { issuesOf } from './read-fault.js';
import type { FaultSpec } from './spec.js';

/** The catalogue with behaviors of one's own, and all that is wrong with those. */
export function catalogueWith(own: Readonly<Record<string, OwnBehavior>>): {
  readonly catalogue: Catalogue;
  readonly problems: readonly FaultProblem[];
} {
  const catalogue = new Map(BUILT_IN);
  const problems: FaultProblem[] = [];
  for (const name of Object.keys(own)) {
    const made = behaviorOf(name, own, [], problems);
    if (made) catalogue.set(name, made);
  }
  return { catalogue, problems };
}

/** A name can be said in `--sequence`, in a URL, and in a header. */
const NAME = /^[A-Za-z0-9_+.-]{1,64}$/;

function ownOf(own: Readonly<Record<string, OwnBehavior>>, name: string): OwnBehavior | undefined {
  // Any object has a `toString`.
  return Object.hasOwn(own, name) ? own[name] : undefined;
}

function behaviorOf(
  name: string,
  own: Readonly<Record<string, OwnBehavior>>,
  above: readonly string[],
  problems: FaultProblem[],
): Behavior | undefined {
  const given = ownOf(own, name);
  if (!given) return BUILT_IN.get(name);
  const complain = (path: readonly (string | number)[], message: string): undefined => {
    // Those that extend a bad one are told of it once, at its own place.
    if (above.length === 0) problems.push({ path: [name, ...path], message });
  };
  if (!NAME.test(name) || name === 'random')
    return complain([], 'is no name for a behavior; use letters, digits and _ + . -');
  const issues = given.fault === undefined ? [] : issuesOf(given.fault);
  for (const { path, message } of issues) complain(['fault', ...path], message);
  if (issues.length > 0) return undefined;
  let base: Behavior | undefined;
  if (given.extends !== undefined) {
    const other = given.extends === name ? undefined : ownOf(own, given.extends);
    if (other && above.includes(given.extends)) {
      // Told at each behavior of the circle; those that only lead into it have nothing wrong by themselves.
      if (given.extends === above[0]) {
        const circle = [...above, name, given.extends].join(' extends ');
        problems.push({ path: [given.extends, 'extends'], message: `${circle}: a circle` });
      }
      return undefined;
    }
    base = given.extends === name ? BUILT_IN.get(name) : behaviorOf(given.extends, own, [...above, name], problems);
    if (!base) {
      const known = [...new Set([...BUILT_IN.keys(), ...Object.keys(own)])].filter((one) => one !== name);
      return other ? undefined : complain(['extends'], unknownWord('behavior', given.extends, known));
    }
  }
  const fault: FaultSpec = { ...base?.fault, ...given.fault };
  const contradictions = problemsOf(fault);
  for (const { path, message } of contradictions) complain(['fault', ...path], message);
  if (contradictions.length > 0) return undefined;
  const meaning = given.meaning ?? (base ? `as ${base.name}, changed` : 'of a scenario');
  return { name, layer: layerOf(fault), meaning, fault };
}
