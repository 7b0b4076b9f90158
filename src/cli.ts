#!/usr/bin/env node
import { Command, CommanderError, Help } from 'commander';
import { addBehaviorsCommand } from './commands/behaviors.js';
import { addCheckCommand } from './commands/check.js';
import { addDoctorCommand } from './commands/doctor.js';
import { addExplainCommand } from './commands/explain.js';
import { addIdleCommand } from './commands/idle.js';
import { addJournalCommand } from './commands/journal.js';
import { addLoadCommand } from './commands/load.js';
import { addMatrixCommand } from './commands/matrix.js';
import { addProxyCommand } from './commands/proxy.js';
import { addRecordingCommand } from './commands/recording.js';
import { addReportCommand } from './commands/report.js';
import { addSchemaCommand } from './commands/schema.js';
import { addServeCommand } from './commands/serve.js';
import { addSweepCommand } from './commands/sweep.js';
import { addVerifyCommand } from './commands/verify.js';
import { addWitnessCommand } from './commands/witness.js';
import { messageOf, WirefaultError, type WirefaultErrorCode } from './errors.js';
import { VERSION } from './version.js';

/** The command line: each command is a file of its own. */

/** What the shell and CI get: 0 done, 1 it could not run or found something, 2 it was called wrongly. */
const EXIT = { failed: 1, usage: 2 } as const;

const USAGE: readonly WirefaultErrorCode[] = ['bad_option', 'bad_script', 'bad_scenario'];

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
  addProxyCommand(root);
  addRecordingCommand(root);
  addExplainCommand(root);
  addCheckCommand(root);
  addSchemaCommand(root);
  addJournalCommand(root);
  addVerifyCommand(root);
  addWitnessCommand(root);
  addDoctorCommand(root);
  addMatrixCommand(root);
  addSweepCommand(root);
  addReportCommand(root);
  addIdleCommand(root);
  addLoadCommand(root);
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
  const usage = thrown instanceof WirefaultError && USAGE.includes(thrown.code);
  process.exit(usage ? EXIT.usage : EXIT.failed);
}
