import { z } from 'zod';
import { isObject } from '../sse/dialect.js';
import { stepsOfPath } from './json-path.js';

/** What a request's body must have, or must not: words of its text, or places in its JSON. */

const jsonConditionSchema = z
  .strictObject({
    json: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .describe(
        'places in the JSON (`tools.length`) and what is there: a value, or >n, >=n, <n, <=n, !=x, ~/regex/, exists, absent',
      ),
  })
  .readonly();

const conditionSchema = z
  .union([z.string().min(1), jsonConditionSchema])
  .describe('a word, a /regular expression/, or conditions on the parsed JSON');

/** One condition, or several that must all hold. */
export const conditionsSchema = z.union([conditionSchema, z.array(conditionSchema).min(1).readonly()]);

export type Condition = z.infer<typeof conditionSchema>;
export type Conditions = z.infer<typeof conditionsSchema>;

export function listOf(conditions: Conditions | undefined): readonly Condition[] {
  if (conditions === undefined) return [];
  return Array.isArray(conditions) ? conditions : [conditions as Condition];
}

/** What stands behind the last slash are flags, or it is a path such as `/v1/messages`. */
const REGEX = /^\/(.+)\/([dgimsuvy]*)$/s;

const COMPARISON = /^(>=|<=|>|<|!=|=)\s*(.+)$/s;

/** A word that is written as a regular expression, `undefined` for any other; throws for a bad one. */
export function regexOf(text: string): RegExp | undefined {
  const [, source, flags] = REGEX.exec(text) ?? [];
  return source === undefined ? undefined : new RegExp(source, flags);
}

/** What is wrong with a condition, or `undefined`. */
export function problemWithCondition(condition: Condition): string | undefined {
  try {
    if (typeof condition === 'string') regexOf(condition);
    else {
      for (const [path, wanted] of Object.entries(condition.json)) {
        if (!stepsOfPath(path))
          return `${JSON.stringify(path)} is no path into JSON, such as tools.length or messages[0].role`;
        const why = typeof wanted === 'string' ? problemWithWanted(wanted) : undefined;
        if (why !== undefined) return `${path}: ${why}`;
      }
    }
    return undefined;
  } catch (thrown) {
    return `${JSON.stringify(condition)}: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
}

/** What could never hold; throws for a bad regular expression. */
function problemWithWanted(wanted: string): string | undefined {
  if (wanted.startsWith('~') && regexOf(wanted.slice(1)) === undefined)
    return `${JSON.stringify(wanted)} is no regular expression; use ~/regex/`;
  const [, operator, operand = ''] = COMPARISON.exec(wanted) ?? [];
  const orders = operator?.startsWith('>') || operator?.startsWith('<');
  return orders && Number.isNaN(Number(operand))
    ? `${JSON.stringify(wanted)} compares with what is no number; use =${wanted} for these very words`
    : undefined;
}

/** What a condition looks at. */
export interface Body {
  readonly text: string;
  readonly json: unknown;
}

/** What of `condition` doesn't hold, or `undefined`. */
export function unmet(condition: Condition, { text, json }: Body): string | undefined {
  if (typeof condition === 'string') {
    const holds = regexOf(condition)?.test(text) ?? text.includes(condition);
    return holds ? undefined : `the body has no ${condition}`;
  }
  for (const [path, wanted] of Object.entries(condition.json)) {
    const value = valueAt(json, path);
    if (!holds(value, wanted)) return `${path} is ${JSON.stringify(value) ?? 'absent'}, not ${JSON.stringify(wanted)}`;
  }
  return undefined;
}

/** What stands at a path of JSON; `length` of lists and texts. */
export function valueAt(json: unknown, path: string): unknown {
  let at: unknown = json;
  for (const step of stepsOfPath(path) ?? []) {
    if (step === 'length' && (Array.isArray(at) || typeof at === 'string')) at = at.length;
    else if (Array.isArray(at)) at = typeof step === 'number' ? at.at(step) : undefined;
    else at = isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
  }
  return at;
}

function holds(value: unknown, wanted: string | number | boolean | null): boolean {
  if (typeof wanted !== 'string') return value === wanted;
  if (wanted === 'exists') return value !== undefined && value !== null;
  if (wanted === 'absent') return value === undefined || value === null;
  if (wanted.startsWith('~')) return typeof value === 'string' && (regexOf(wanted.slice(1))?.test(value) ?? false);
  const [, operator, operand = ''] = COMPARISON.exec(wanted) ?? [];
  switch (operator) {
    case undefined:
      return value === wanted;
    case '=':
      return String(value) === operand;
    case '!=':
      return String(value) !== operand;
    case '>':
      return typeof value === 'number' && value > Number(operand);
    case '>=':
      return typeof value === 'number' && value >= Number(operand);
    case '<':
      return typeof value === 'number' && value < Number(operand);
    case '<=':
      return typeof value === 'number' && value <= Number(operand);
    default:
      return false;
  }
}
