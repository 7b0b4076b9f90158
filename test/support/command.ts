import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Command, CommanderError } from 'commander';
import type { CommandOutput } from '../../src/commands/output.js';
import { messageOf, WirefaultError } from '../../src/errors.js';

/** A command run within this process: what it printed, and the exit code that the command line would give it. */
export interface CommandRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export async function runCommand(
  add: (root: Command, output: CommandOutput) => void,
  args: readonly string[],
  { isTTY = false }: { readonly isTTY?: boolean } = {},
): Promise<CommandRun> {
  const out = Object.assign(new PassThrough(), { isTTY });
  const printed = text(out);
  let err = '';
  const root = new Command('wirefault').exitOverride().configureOutput({
    writeErr: (line) => {
      err += line;
    },
  });
  add(root, {
    out,
    err: {
      write: (line: string) => {
        err += line;
      },
    },
  });
  const before = process.exitCode;
  process.exitCode = 0;
  try {
    await root.parseAsync([...args], { from: 'user' });
    out.end();
    return { code: Number(process.exitCode), out: await printed, err };
  } catch (thrown) {
    out.end();
    const usage =
      thrown instanceof CommanderError || (thrown instanceof WirefaultError && thrown.code === 'bad_option');
    return { code: usage ? 2 : 1, out: await printed, err: `${err}${messageOf(thrown)}` };
  } finally {
    process.exitCode = before;
  }
}
