import type { z } from 'zod';
import { suggestion, unknownWord } from '../errors.js';
import { isObject } from '../sse/dialect.js';
import type { FaultProblem } from './contradictions.js';
import { faultSchema } from './spec.js';

/** What a value has that the fault language hasn't, all at once, in words for people. */
export function issuesOf(value: unknown): readonly FaultProblem[] {
  const result = faultSchema.safeParse(value, { reportInput: true });
  return result.success ? [] : problemsIn(result.error.issues, faultSchema);
}

type Issue = z.core.$ZodIssue;

/** A schema as far as it matters here: what keys it knows at a path. */
type Shaped = {
  readonly def?: {
    readonly shape?: object;
    readonly innerType?: unknown;
    readonly element?: unknown;
    readonly options?: readonly unknown[];
    readonly valueType?: unknown;
  };
};

/** zod's issues as problems: one for each unknown key, with the nearest right one; of a union, those of the nearest branch. */
export function problemsIn(issues: readonly Issue[], schema: unknown): FaultProblem[] {
  return issues.flatMap((issue) => problemsOfIssue(issue, schema));
}

function problemsOfIssue(issue: Issue, schema: unknown): FaultProblem[] {
  const path = issue.path.filter((key): key is string | number => typeof key !== 'symbol');
  switch (issue.code) {
    case 'unrecognized_keys': {
      const known = keysAt(schema, path);
      return issue.keys.map((key) => ({ path: [...path, key], message: unknownWord('key', key, known) }));
    }
    case 'invalid_value':
      return [{ path, message: wordMessage(issue) }];
    case 'invalid_union': {
      // The branch that came furthest is the one that was meant; one of another type wasn't.
      const branches = issue.errors.filter((errors) => errors.length > 0 && !errors.some(isAtOnce));
      const depth = (errors: readonly Issue[]): number => Math.max(...errors.map((error) => error.path.length));
      const nearest = branches.toSorted((a, b) => depth(b) - depth(a) || a.length - b.length)[0];
      if (!nearest) return [{ path, message: unionMessage(issue) }];
      return problemsIn(
        nearest.map((error) => ({ ...error, path: [...issue.path, ...error.path] })) as Issue[],
        schema,
      );
    }
    default:
      return [{ path, message: lowerFirst(issue.message) }];
  }
}

function lowerFirst(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

function wordMessage(issue: Issue & { code: 'invalid_value' }): string {
  const known = issue.values.map(String);
  return typeof issue.input === 'string'
    ? unknownWord('word', issue.input, known)
    : `expected one of ${known.join(', ')}`;
}

/** Whether a branch of a union was left at its door: it takes other words, or another type. */
function isAtOnce({ code, path }: Issue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
}

function unionMessage(issue: Issue & { code: 'invalid_union' }): string {
  const { discriminator, input } = issue;
  if (discriminator !== undefined) {
    const word: unknown = isObject(input) ? input[discriminator] : undefined;
    const known = 'options' in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];
    return typeof word === 'string'
      ? unknownWord(discriminator, word, known)
      : `expected ${discriminator} to be one of ${known.join(', ')}`;
  }
  const errors = issue.errors.flat();
  const types = errors.flatMap((error) => (error.code === 'invalid_type' ? [aOrAn(error.expected)] : []));
  const words = errors.flatMap((error) => (error.code === 'invalid_value' ? error.values.map(String) : []));
  const near = typeof input === 'string' ? suggestion(input, words) : undefined;
  const expected = [...new Set(types), ...(words.length > 0 ? [`one of ${words.join(', ')}`] : [])];
  return expected.length === 0
    ? 'is of no allowed form'
    : `expected ${expected.join(', or ')}${near ? `; ${near}` : ''}`;
}

function aOrAn(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

/** The keys that the schema knows at `path`, over all branches of unions. */
function keysAt(schema: unknown, path: readonly (string | number)[]): string[] {
  // Not each branch of a union has each key.
  const def = (schema as Shaped | undefined)?.def;
  if (!def) return [];
  if (def.options) return [...new Set(def.options.flatMap((option) => keysAt(option, path)))];
  if (def.innerType !== undefined) return keysAt(def.innerType, path);
  const [key, ...rest] = path;
  if (key === undefined) return def.shape ? Object.keys(def.shape) : [];
  if (def.shape) return keysAt(Reflect.get(def.shape, key), rest);
  return keysAt(def.element ?? def.valueType, rest);
}
