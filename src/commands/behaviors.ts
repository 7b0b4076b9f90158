import type { Command } from 'commander';
import type { Behavior } from '../fault/catalogue.js';
import { BUILT_IN } from '../fault/catalogue.js';
import { RANDOM } from '../fault/script.js';
import { neededEvidence } from '../fault/stage.js';
import { resolveOptions } from '../resolve-options.js';
import { loadScenario } from '../scenario/load.js';
import { flagOf } from './flags.js';
import { type CommandOutput, print, processOutput } from './output.js';

/** `wirefault behaviors`: the table, for people and for programs. */
export function addBehaviorsCommand(root: Command, output?: CommandOutput): void {
  root
    .command('behaviors')
    .description('print the table of behaviors: name, layer, teardown, needed evidence, meaning')
    .option('--json', 'as JSON, with what each is made of')
    .option('--scenario <file>', 'with the behaviors of a scenario file')
    .action(async (flags: { readonly json?: boolean; readonly scenario?: string }) => {
      const given = flags.scenario === undefined ? undefined : await loadScenario(flags.scenario);
      const { catalogue } = given ? resolveOptions(given, flagOf) : { catalogue: BUILT_IN };
      const all = [...catalogue.values()];
      await print(output ?? processOutput(), flags.json ? asJson(all) : asTable(all));
    });
}

/** How an answer of the behavior ends. */
function teardownOf({ fault }: Behavior): string {
  return fault.listen ? 'none' : (fault.cut?.teardown ?? fault.idle?.teardown ?? 'keep_alive');
}

function asJson(behaviors: readonly Behavior[]): string {
  const rows = behaviors.map((behavior) => ({
    name: behavior.name,
    layer: behavior.layer,
    meaning: behavior.meaning,
    teardown: teardownOf(behavior),
    evidence: neededEvidence(behavior.fault),
    defaultWeight: behavior.weight ?? 0,
    fault: behavior.fault,
  }));
  return `${JSON.stringify(rows, null, 2)}\n`;
}

const TITLES = ['behavior', 'layer', 'teardown', 'evidence', 'meaning'];

function asTable(behaviors: readonly Behavior[]): string {
  const rows = [
    TITLES,
    ...behaviors.map((row) => [row.name, row.layer, teardownOf(row), neededEvidence(row.fault), row.meaning]),
    [RANDOM, '', '', '', 'one of the others by weighted, seeded draw'],
  ];
  const widths = TITLES.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}
