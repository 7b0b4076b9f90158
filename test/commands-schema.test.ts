import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { addSchemaCommand } from '../src/commands/schema.js';
import { ABSENT, SAMPLES } from './report/samples.js';
import { runCommand } from './support/command.js';
import { little } from './trial/support/little.js';

async function schemaOf(...args: readonly string[]) {
  const { code, out } = await runCommand(addSchemaCommand, ['schema', ...args]);
  expect(code).toBe(0);
  return JSON.parse(out);
}

const validator = (schema: object) => new Ajv2020({ strict: false, validateFormats: false }).compile(schema);

describe('wirefault schema', () => {
  it('is of scenarios by itself', async () => {
    expect(await schemaOf()).toEqual(await schemaOf('--of', 'scenario'));
  });

  it('of a matrix holds for its files, with the schema of clients in it', async () => {
    const valid = validator(await schemaOf('--of', 'matrix'));
    expect(valid({ clients: [little('naive')], use: ['naive'], faults: ['F0'], repeats: 3 })).toBe(true);
    expect(valid({ clients: [{ ...little('naive'), protocol: 'smtp' }] })).toBe(false);
    expect(valid({ repeat: 3 })).toBe(false);
  });

  it('of results holds for their lines', async () => {
    const valid = validator(await schemaOf('--of', 'results'));
    for (const record of [...SAMPLES.map((sample) => sample.record), ABSENT]) expect(valid(record)).toBe(true);
    expect(valid({ ...ABSENT, kind: 'other' })).toBe(false);
  });
});
