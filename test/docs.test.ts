import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { issuesOf } from '../src/fault/read-fault.js';
import { faultJsonSchema } from '../src/fault/spec.js';
import { checkScenario } from '../src/scenario/check.js';
import { scenarioJsonSchema } from '../src/scenario/schema.js';
import { isObject, type JsonObject } from '../src/sse/dialect.js';
import { tableOf } from './support/schema-table.js';

/** The tables of docs/fault-language.md are made from the schemas: `UPDATE_DOCS=1 npx vitest run test/docs.test.ts`. */
const PATH = fileURLToPath(new URL('../docs/fault-language.md', import.meta.url));

function object(value: unknown): JsonObject {
  if (!isObject(value)) throw new Error('not an object');
  return value;
}

/** A scenario's own keys; those of faults have a table of their own. */
function withoutFaults(schema: JsonObject): JsonObject {
  const faults = new Set(Object.keys(object(object(faultJsonSchema()).properties)));
  const strip = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(strip);
    if (!isObject(value)) return value;
    const keys = isObject(value.properties) ? Object.keys(value.properties) : [];
    if (keys.length > 0 && keys.every((key) => faults.has(key))) return { type: 'fault' };
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, strip(inner)]));
  };
  return object(strip(schema));
}

const TABLES = {
  fault: () => tableOf(object(faultJsonSchema())),
  scenario: () => tableOf(withoutFaults(object(scenarioJsonSchema()))),
};

describe('docs/fault-language.md', () => {
  it('has the tables of the schemas', () => {
    const text = readFileSync(PATH, 'utf8');
    const wanted = Object.entries(TABLES).reduce(
      (all, [name, table]) =>
        all.replace(
          new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- /${name} -->)`),
          (_, open: string, close: string) => `${open}\n${table()}\n\n${close}`,
        ),
      text,
    );
    if (process.env.UPDATE_DOCS) writeFileSync(PATH, wanted);
    expect(readFileSync(PATH, 'utf8')).toBe(wanted);
  });

  it('shows a fault and a scenario in which nothing is wrong', () => {
    const [fault = '', scenario = ''] = Array.from(
      readFileSync(PATH, 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g),
      ([, block]) => block ?? '',
    );
    expect(issuesOf(parse(fault))).toEqual([]);
    expect(checkScenario(scenario).problems).toEqual([]);
  });
});
