import type { Command } from 'commander';
import { BEHAVIORS } from '../fault/catalogue.js';

/** `wirefault behaviors`: the table, for people and for programs. */
export function addBehaviorsCommand(root: Command): void {
  root
    .command('behaviors')
    .description('print the table of behaviors')
    .option('--json', 'as JSON, with what each is made of')
    .action(printBehaviors);
}

function printBehaviors({ json }: { readonly json?: boolean }): void {
  if (json) {
    const rows = BEHAVIORS.map(({ name, meaning, weight, fault }) => ({
      name,
      meaning,
      defaultWeight: weight ?? 0,
      fault,
    }));
    process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    return;
  }
  const width = Math.max(...BEHAVIORS.map(({ name }) => name.length));
  for (const { name, meaning } of BEHAVIORS) process.stdout.write(`${name.padEnd(width)}  ${meaning}\n`);
}
