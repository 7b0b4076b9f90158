import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { messageOf, WirefaultError } from '../errors.js';
import { harOfDirectory } from '../replay/har-out.js';
import { readTapes } from '../replay/read.js';
import type { Tape } from '../replay/tape.js';
import { readTape } from '../replay/tape-plan.js';
import { type CommandOutput, print, processOutput } from './output.js';

interface RecordingFlags {
  readonly har?: string;
  readonly json?: true;
}

/** `wirefault recording`: what `serve --replay` would answer from, and the same as a HAR. */
export function addRecordingCommand(root: Command, output?: CommandOutput): void {
  root
    .command('recording')
    .description('list what serve --replay would answer from; or write recordings as a HAR')
    .argument('<path>', 'what proxy --record has written, a .har, or the body of an answer as .sse or .json')
    .option('--har <file>', 'write a HAR of a folder of recordings to this file, - for stdout')
    .option('--json', 'as JSON lines')
    .action(async (path: string, flags: RecordingFlags) => {
      const to = output ?? processOutput();
      if (flags.har === undefined) {
        const rows = (await readTapes(path, 'recording')).map(rowOf);
        const text = flags.json ? rows.map((row) => JSON.stringify(row)) : table(rows);
        await print(to, text.map((line) => `${line}\n`).join(''));
        return;
      }
      const har = `${JSON.stringify(await harOfDirectory(path), null, 2)}\n`;
      if (flags.har === '-') await print(to, har);
      else await store(flags.har, har);
    });
}

async function store(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (thrown) {
    throw new WirefaultError('bad_option', `--har: can't write ${file}: ${messageOf(thrown)}`, { cause: thrown });
  }
}

interface Row {
  readonly recording: string;
  readonly dialect: string;
  readonly status: number | null;
  readonly bytes: number;
  readonly events: number;
  readonly segments: number;
  readonly ms: number;
  readonly end: string;
  readonly fingerprint: string | null;
}

function rowOf(tape: Tape): Row {
  const { name, dialect, answer, segments, endMs, end, fingerprint = null } = tape;
  const { kept } = readTape(tape, dialect === 'any' || dialect === 'beside' ? 'openai-chat' : dialect);
  return {
    recording: name,
    dialect,
    status: kept?.head.status ?? null,
    bytes: answer.length,
    events: kept?.events.length ?? 0,
    segments: segments.length,
    ms: endMs,
    end,
    fingerprint,
  };
}

const COLUMNS = ['recording', 'dialect', 'status', 'bytes', 'events', 'segments', 'ms', 'end', 'fingerprint'] as const;

function table(rows: readonly Row[]): string[] {
  const cells = [[...COLUMNS], ...rows.map((row) => COLUMNS.map((column) => String(row[column] ?? '-')))];
  const widths = COLUMNS.map((_, n) => Math.max(...cells.map((line) => line[n]?.length ?? 0)));
  return cells.map((line) =>
    line
      .map((cell, n) => cell.padEnd(widths[n] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
