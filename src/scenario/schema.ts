import { z } from 'zod';
import { ruleSchema } from '../fault/rules.js';
import { faultSchema, WRITABLE } from '../fault/spec.js';
import { OPTION_NAMES, OPTION_ROWS } from '../option-rows.js';

/** A scenario file: behaviors, scripts, lanes, rules and options in one place. Its JSON Schema is published. */

const wordSchema = z.string().describe('a behavior, teardown@position, behavior@position, or random');

const sequenceSchema = z
  .array(z.union([wordSchema, faultSchema]))
  .min(1)
  .readonly()
  .describe('one for each request in the order of arrival');

const repeatLast = z
  .boolean()
  .optional()
  .describe('reuse the last entry for ever; otherwise an exhausted script answers 500');

const behaviorSchema = z
  .strictObject({
    extends: z.string().optional().describe('a behavior whose layers it has where it names none of its own'),
    meaning: z.string().optional().describe('one line for people'),
    fault: faultSchema.optional(),
  })
  .readonly();

const optionSchemas = Object.fromEntries(
  OPTION_NAMES.map((name) => {
    const { schema, meaning, allowed } = OPTION_ROWS[name];
    return [name, (schema as z.ZodType).optional().describe(`${meaning}: ${allowed}`)];
  }),
);

export const scenarioSchema = z
  .strictObject({
    $schema: z.string().optional(),
    about: z.string().optional().describe('what the scenario is for'),
    options: z
      .strictObject(optionSchemas)
      .readonly()
      .optional()
      .describe('options of the server, as its flags in camelCase'),
    behaviors: z.record(z.string(), behaviorSchema).optional().describe('behaviors of your own, by name'),
    sequence: sequenceSchema.optional(),
    repeatLast,
    seed: z.int().min(0).max(0xffff_ffff).optional().describe('of random, jitter, ids and probabilities'),
    weights: z.record(z.string(), z.number().min(0)).optional().describe('shares of random, by behavior'),
    laneBy: z
      .string()
      .optional()
      .describe('what separates lanes: none, header:NAME, query:NAME, key, path, connection, body'),
    laneIgnore: z
      .array(z.string())
      .readonly()
      .optional()
      .describe('with laneBy body: places in the JSON that change on a retry'),
    lanes: z
      .record(z.string(), z.strictObject({ sequence: sequenceSchema, repeatLast }).readonly())
      .optional()
      .describe('lanes with a script of their own, by name; all others walk the sequence'),
    rules: z
      .array(ruleSchema)
      .readonly()
      .optional()
      .describe('which requests get a fault whatever the script says; the first that matches'),
  })
  .readonly();

export type ScenarioData = z.infer<typeof scenarioSchema>;

/** The published JSON Schema of scenario files. */
export function scenarioJsonSchema(): unknown {
  return { ...z.toJSONSchema(scenarioSchema, { io: 'input', ...WRITABLE }), title: 'wirefault scenario' };
}
