import type { Command } from 'commander';
import { startNamed } from '../server.js';
import { flagOf } from './flags.js';
import { addServingFlags, runServing, type ServingFlags } from './serving.js';

/** `wirefault serve`. */
export function addServeCommand(root: Command): Command {
  const serveCommand = root
    .command('serve', { isDefault: true })
    .description('answer requests with scripted faults (the default command)')
    // So that the one that is too much can be named.
    .allowExcessArguments()
    .optionsGroup('Options of serve:');
  addServingFlags(serveCommand);
  return serveCommand.action((flags: ServingFlags & Record<string, unknown>, command: Command) =>
    runServing(flags, command, (given) => startNamed(given, flagOf)),
  );
}
