import type { Command } from 'commander';
import { checkScenario } from '../scenario/check.js';
import { readScenario } from '../scenario/load.js';
import { type CommandOutput, paintOf, print, processOutput } from './output.js';

/** `wirefault check`: everything that is wrong with scenario files, at once. Exit code 1 where anything is. */
export function addCheckCommand(root: Command, output?: CommandOutput): void {
  root
    .command('check')
    .description('find everything that is wrong with scenario files, with line and column')
    .argument('<file...>', 'scenario files, YAML or JSON')
    .option('--json', 'as JSON lines')
    .action(async (files: readonly string[], { json }: { readonly json?: boolean }) => {
      const out = output ?? processOutput();
      const paint = paintOf(out);
      for (const file of files) {
        const { problems } = checkScenario(await readScenario(file));
        if (problems.length > 0) process.exitCode = 1;
        const lines = json
          ? problems.map((problem) => JSON.stringify({ file, ...problem }))
          : problems.map(({ line, column, message }) => `${paint('bold', `${file}:${line}:${column}`)}: ${message}`);
        const good = json ? [] : [`${file}: ${paint('green', 'nothing is wrong')}`];
        await print(out, (problems.length > 0 ? lines : good).map((line) => `${line}\n`).join(''));
      }
    });
}
