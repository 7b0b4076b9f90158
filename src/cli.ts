#!/usr/bin/env node
import { Command, CommanderError, Help } from 'commander';
import { addBehaviorsCommand } from './commands/behaviors.js';
import { addDoctorCommand } from './commands/doctor.js';
import { addExplainCommand } from './commands/explain.js';
import { addJournalCommand } from './commands/journal.js';
import { addServeCommand } from './commands/serve.js';
import { addVerifyCommand } from './commands/verify.js';
import { addWitnessCommand } from './commands/witness.js';
import { messageOf, WirefaultError } from './errors.js';
import { VERSION } from './version.js';

/** The command line: each command is a file of its own. */

/** What the shell and CI get: 0 done, 1 it could not run or found something, 2 it was called wrongly. */
const EXIT = { failed: 1, usage: 2 } as const;

/** Lines of `--help` are no longer than this, nor than the terminal is wide. */
const HELP_COLUMNS = 100;

/** What went wrong, on one line whatever was typed. */
const complaint = (message: string): string => `wirefault: ${message.trim().replace(/\s*\n\s*/g, ' ')}\n`;

function program(): Command {
  const root = new Command('wirefault')
    .description('A raw-socket fault server for LLM streaming APIs: breaks a stream at an exact byte, in an exact way.')
    .version(VERSION)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(complaint(text.replace(/^error: /, ''))),
      getOutHelpWidth: () => Math.min(process.stdout.columns ?? HELP_COLUMNS, HELP_COLUMNS),
    });

  const serveCommand = addServeCommand(root);
  addBehaviorsCommand(root);
  addExplainCommand(root);
  addJournalCommand(root);
  addVerifyCommand(root);
  addWitnessCommand(root);
  addDoctorCommand(root);
  // It is the default command, so its options are those of the program.
  root.configureHelp({
    visibleOptions(command) {
      const own = Help.prototype.visibleOptions.call(this, command);
      return command === root ? [...own, ...serveCommand.options] : own;
    },
  });

  return root;
}

try {
  await program().parseAsync();
} catch (thrown) {
  if (thrown instanceof CommanderError) process.exit(thrown.exitCode === 0 ? 0 : EXIT.usage);
  process.stderr.write(complaint(messageOf(thrown)));
  const usage = thrown instanceof WirefaultError && (thrown.code === 'bad_option' || thrown.code === 'bad_script');
  process.exit(usage ? EXIT.usage : EXIT.failed);
}
