import { z } from 'zod';
import { PROTOCOLS } from '../sse/dialect.js';
import {
  type Body,
  type Conditions,
  conditionsSchema,
  listOf,
  problemWithCondition,
  regexOf,
  unmet,
  valueAt,
} from './conditions.js';
import type { FaultProblem } from './contradictions.js';
import { stepsOfPath } from './json-path.js';
import { faultSchema } from './spec.js';

/** Rules: which requests get a fault whatever the script says. Each is tested, and counted, when a request meets it. */
const textOrRegex = z.string().min(1).describe('text that is in it, or a /regular expression/');

export const ruleSchema = z
  .strictObject({
    fault: z
      .union([z.string(), faultSchema])
      .describe('a behavior, teardown@position, behavior@position, or a fault as data'),
    once: z.literal(true).optional().describe('the first request that matches gets it, and no other'),
    times: z.int().min(1).optional().describe('so many requests get it'),
    match: conditionsSchema.optional().describe('what the body must have; all of it'),
    avoid: conditionsSchema.optional().describe('what the body must not have; none of it'),
    protocol: z.enum(PROTOCOLS).optional(),
    path: textOrRegex.optional(),
    header: z.record(z.string(), textOrRegex).optional().describe('headers by name'),
    model: textOrRegex.optional(),
    lane: textOrRegex.optional(),
    probability: z.number().min(0).max(1).optional().describe('drawn for each request, by the seed'),
    key: z
      .string()
      .optional()
      .describe(
        'what says that two requests are one: header:NAME, or json:PATH in the body; such as an idempotency key',
      ),
    // biome-ignore lint/suspicious/noThenProperty: it reads as what it means, and an object is no function
    then: z
      .strictObject({
        behavior: z.union([z.string(), faultSchema]),
        result: z.literal('same').describe('the same words, ids and times as the first answer had'),
      })
      .readonly()
      .optional()
      .describe('what every later request with the same key gets'),
    ttlMs: z.number().min(1).optional().describe('the rule goes after so long'),
    label: z.string().optional().describe('how journals and lists call it'),
  })
  .readonly();

export type RuleSpec = z.infer<typeof ruleSchema>;

/** What of a request a rule looks at. */
export interface Facts extends Body {
  readonly protocol: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
  readonly lane: string;
}

/** Whether a rule can be tested before there is a request. */
export function isUnconditional(rule: RuleSpec): boolean {
  const { match, avoid, protocol, path, header, model, lane, key } = rule;
  return [match, avoid, protocol, path, header, model, lane, key].every((condition) => condition === undefined);
}

/** Whether a rule can be tested once the head of a request has come. */
export function needsBody({ match, avoid, model, key }: RuleSpec): boolean {
  return [match, avoid, model, key].some((condition) => condition !== undefined);
}

/** What is wrong with a rule beside its fault, all at once. */
export function problemsOfRule(rule: RuleSpec): FaultProblem[] {
  const conditions = (key: 'match' | 'avoid', given: Conditions | undefined): FaultProblem[] =>
    listOf(given).flatMap((condition) => {
      const message = problemWithCondition(condition);
      return message === undefined ? [] : [{ path: [key], message }];
    });
  const texts = [
    ...(['path', 'model', 'lane'] as const).map((key) => [[key], rule[key]] as const),
    ...Object.entries(rule.header ?? {}).map(([name, value]) => [['header', name], value] as const),
  ];
  const regexes = texts.flatMap(([path, text]) => {
    const message = text === undefined ? undefined : problemWithCondition(text);
    return message === undefined ? [] : [{ path, message }];
  });
  const both = rule.once && rule.times !== undefined;
  const keyed = rule.key === undefined || keyOf(rule.key) !== undefined;
  return [
    ...(keyed
      ? []
      : [{ path: ['key'], message: `${JSON.stringify(rule.key)} is no key; use header:NAME or json:PATH` }]),
    ...((rule.key === undefined) === (rule.then === undefined)
      ? []
      : [{ path: [rule.then ? 'then' : 'key'], message: 'key and then need each other' }]),
    ...(both ? [{ path: ['times'], message: 'once means one time; give one of once and times' }] : []),
    ...conditions('match', rule.match),
    ...conditions('avoid', rule.avoid),
    ...regexes,
  ];
}

type Key = { readonly kind: 'header'; readonly name: string } | { readonly kind: 'json'; readonly path: string };

function keyOf(text: string): Key | undefined {
  const [, kind, rest = ''] = /^(header|json):(.+)$/.exec(text) ?? [];
  if (kind === 'header') return { kind, name: rest.toLowerCase() };
  return kind === 'json' && stepsOfPath(rest) ? { kind, path: rest } : undefined;
}

/** What a request has at a rule's key, or `undefined`. */
export function keyValue(text: string, facts: Facts): string | undefined {
  const key = keyOf(text);
  if (!key) return undefined;
  if (key.kind === 'header') return facts.headers[key.name];
  const value = valueAt(facts.json, key.path);
  return value === undefined || value === null ? undefined : typeof value === 'string' ? value : JSON.stringify(value);
}

function differs(what: string, wanted: string | undefined, value: string): string | undefined {
  if (wanted === undefined) return undefined;
  const holds = regexOf(wanted)?.test(value) ?? value.includes(wanted);
  return holds ? undefined : `${what} ${JSON.stringify(value)} has no ${wanted}`;
}

/** Why a rule doesn't match a request, or `undefined` where it does. */
export function mismatch(rule: RuleSpec, facts: Facts): string | undefined {
  if (rule.protocol !== undefined && rule.protocol !== facts.protocol) return `the protocol is ${facts.protocol}`;
  const plain =
    differs('path', rule.path, facts.path) ??
    differs('model', rule.model, facts.model) ??
    differs('lane', rule.lane, facts.lane);
  if (plain !== undefined) return plain;
  for (const [name, wanted] of Object.entries(rule.header ?? {})) {
    const value = facts.headers[name.toLowerCase()];
    if (value === undefined) return `there is no header ${name}`;
    const why = differs(`header ${name}`, wanted, value);
    if (why !== undefined) return why;
  }
  for (const condition of listOf(rule.match)) {
    const why = unmet(condition, facts);
    if (why !== undefined) return why;
  }
  if (rule.key !== undefined && keyValue(rule.key, facts) === undefined) return `there is no ${rule.key}`;
  const found = listOf(rule.avoid).find((condition) => unmet(condition, facts) === undefined);
  return found === undefined ? undefined : `the body has ${typeof found === 'string' ? found : JSON.stringify(found)}`;
}
