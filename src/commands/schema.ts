import { type Command, Option } from 'commander';
import { faultJsonSchema } from '../fault/spec.js';
import { ledgerJsonSchema } from '../proof/ledger.js';
import { scenarioJsonSchema } from '../scenario/schema.js';
import { matrixJsonSchema } from '../trial/matrix-file.js';
import { resultsJsonSchema } from '../trial/results.js';
import { type CommandOutput, print, processOutput } from './output.js';

/** `wirefault schema`: the JSON Schemas of what is written for it and by it, for editors and programs. */
const SCHEMAS = {
  scenario: scenarioJsonSchema,
  fault: faultJsonSchema,
  ledger: ledgerJsonSchema,
  matrix: matrixJsonSchema,
  results: resultsJsonSchema,
} as const;

export function addSchemaCommand(root: Command, output?: CommandOutput): void {
  root
    .command('schema')
    .description(
      "print the JSON Schema of scenario files, faults as data, the journal, matrix files, or a matrix's results",
    )
    .addOption(new Option('--of <what>', 'what is described').choices(Object.keys(SCHEMAS)).default('scenario'))
    .action(async ({ of }: { readonly of: keyof typeof SCHEMAS }) => {
      await print(output ?? processOutput(), `${JSON.stringify(SCHEMAS[of](), null, 2)}\n`);
    });
}
