import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { checkScenario } from '../../src/scenario/check.js';
import { scenarioJsonSchema } from '../../src/scenario/schema.js';

/** `UPDATE_DOCS=1 npx vitest run test/scenario/schema.test.ts && npm run format` writes the schema that editors read. */
const SCENARIOS = fileURLToPath(new URL('../../scenarios', import.meta.url));
const PATH = `${SCENARIOS}/scenario.schema.json`;

it('the schema beside the scenarios is that of the code', () => {
  const wanted = JSON.stringify(scenarioJsonSchema(), null, 2);
  if (process.env.UPDATE_DOCS) writeFileSync(PATH, `${wanted}\n`);
  // Its line breaks are the formatter's.
  expect(JSON.parse(readFileSync(PATH, 'utf8'))).toEqual(JSON.parse(wanted));
});

describe.each(readdirSync(SCENARIOS, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yaml')))(
  '%s',
  (file) => {
    const text = readFileSync(`${SCENARIOS}/${file}`, 'utf8');

    it('names the schema, by its place', () => {
      const up = '../'.repeat(file.split('/').length - 1);
      expect(text.split('\n')[0]).toBe(`# yaml-language-server: $schema=${up}scenario.schema.json`);
    });

    it('has nothing wrong', () => {
      expect(checkScenario(text).problems).toEqual([]);
    });
  },
);
