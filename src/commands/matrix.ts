import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { unknownWord, WirefaultError } from '../errors.js';
import type { TrialClient } from '../trial/client.js';
import { failWordsOf, listed } from '../trial/fail-words.js';
import { ISOLATIONS } from '../trial/isolation.js';
import { MATRIX_DEFAULTS, type Progress, runMatrix } from '../trial/matrix.js';
import { knownClients, loadMatrixFile, type MatrixFile, problemWithFault } from '../trial/matrix-file.js';
import { failing, tableOf } from '../trial/matrix-table.js';
import { matrixText } from '../trial/matrix-text.js';
import type { CellRecord } from '../trial/results.js';
import { type CommandOutput, paintOf, print, processOutput } from './output.js';
import { reporter, stoppable } from './progress.js';
import { wholeNumber } from './values.js';

interface MatrixFlags {
  readonly clients?: string;
  readonly faults?: string;
  readonly repeats?: string;
  readonly jobs?: string;
  readonly out: string;
  readonly resume?: true;
  readonly isolate: string;
  readonly timeoutMs?: string;
  readonly seed?: string;
  readonly pty?: true;
  readonly json?: true;
  readonly failOn?: string;
}

const HELP = `
Each run has a server of its own, a home of its own, and where the machine allows it namespaces of its own, in which
the client reaches nothing but that server. A fault hits the first main request; what comes after it is answered whole.
F0 is the healthy control, and F1+ to F5+ are the positive controls of F1 to F5, run once for each client.

  complete    the healthy answer was shown whole          silent   success claimed with less than the whole answer
  recovered   asked again, showed the whole answer once   hang     no end within the limit
  duplicated  whole answer, broken one's text beside it   crash    ended by a fault of its own
  looping     asked again without end                     invalid  nothing follows: a control failed, or the fault
  detected    said that something went wrong                       was not proved to have come

OUT/results.jsonl has a line for each run, OUT/cells/<client>/<fault>/<n>/ its evidence. --fail-on takes verdicts,
"flaky" and findings, such as silent,hang,retry_storm.
Exit code: 0, or 1 where it could not run or --fail-on was met, 2 for wrong usage.

  wirefault matrix --clients sdk-openai-chat,sdk-anthropic --fail-on silent,hang`;

/** `wirefault matrix`: what real clients do with faults. */
export function addMatrixCommand(root: Command, output?: CommandOutput): void {
  root
    .command('matrix')
    .description('run real clients against faults, and judge what each made of it')
    .argument('[file]', 'clients of your own and what to run, YAML or JSON')
    .option('--clients <names>', 'which clients, with commas (default: all that need no terminal)')
    .option('--faults <words>', 'which faults, with commas; F1..F5 is a range (default: F0..F5)')
    .option('--repeats <n>', `runs of each cell, which have to agree (default: ${MATRIX_DEFAULTS.repeats})`)
    .option('--jobs <n>', 'runs at a time (default: one for each processor but one)')
    .option('--out <dir>', 'where results and evidence go', 'wirefault-matrix')
    .option('--resume', 'go on with what is in --out')
    .option('--isolate <how>', `namespaces of its own for each run: ${ISOLATIONS.join(', ')}`, 'auto')
    .option('--timeout-ms <ms>', "limit of one run, instead of each client's own")
    .option('--seed <n>', `seed of the answers (default: ${MATRIX_DEFAULTS.seed})`)
    .option('--pty', 'run all clients in a terminal (tmux), and look at the screen')
    .option('--fail-on <words>', 'verdicts and findings that make the exit code 1, with commas')
    .option('--json', 'print the records as JSON lines instead of a table')
    .addHelpText('after', HELP)
    .action(async (path: string | undefined, flags: MatrixFlags) => {
      const out = output ?? processOutput();
      const file = path === undefined ? {} : await loadMatrixFile(path);
      const isolate = ISOLATIONS.find((known) => known === flags.isolate);
      if (!isolate) throw bad(`--isolate: ${unknownWord('isolation', flags.isolate, ISOLATIONS)}`);
      const failOn = failWordsOf(flags.failOn);
      const clients = chosen(file, listed(flags.clients), flags.pty === true);
      const faults = listed(flags.faults)?.flatMap(range) ?? file.faults ?? MATRIX_DEFAULTS.faults;
      for (const fault of faults) {
        const problem = problemWithFault(fault);
        if (problem !== undefined) throw bad(`--faults: ${problem}`);
      }
      const report = reporter(out);
      const matrix = {
        clients,
        faults: [...new Set(faults)],
        repeats: wholeNumber('--repeats', flags.repeats, 1) ?? file.repeats ?? MATRIX_DEFAULTS.repeats,
        jobs: wholeNumber('--jobs', flags.jobs, 1) ?? file.jobs ?? Math.max(1, availableParallelism() - 1),
        out: resolve(flags.out),
        resume: flags.resume === true,
        isolate,
        timeoutMs: wholeNumber('--timeout-ms', flags.timeoutMs, 100) ?? file.timeoutMs,
        terminal: flags.pty === true,
        seed: wholeNumber('--seed', flags.seed, 0) ?? file.seed ?? MATRIX_DEFAULTS.seed,
        prompt: file.prompt ?? MATRIX_DEFAULTS.prompt,
        paragraphs: file.paragraphs ?? MATRIX_DEFAULTS.paragraphs,
        onProgress: ({ record, ...step }: Progress) => report({ ...step, what: record && toldOf(record) }),
      };
      const records = await stoppable(() => runMatrix(matrix));
      const text = flags.json
        ? records.map((record) => `${JSON.stringify(record)}\n`).join('')
        : matrixText(tableOf(records), paintOf(out));
      await print(out, text);
      const met = failing(records, failOn);
      for (const one of met) out.err.write(`${one}\n`);
      if (met.length > 0) process.exitCode = 1;
    });
}

function bad(message: string): WirefaultError {
  return new WirefaultError('bad_option', message);
}

/** `F1..F4` as its words. */
function range(word: string): string[] {
  const [, letter = '', from, to] = /^([A-Za-z]+)(\d+)\.\.\1?(\d+)$/.exec(word) ?? [];
  if (from === undefined || to === undefined) return [word];
  const count = Number(to) - Number(from) + 1;
  return count > 0 ? Array.from({ length: count }, (_, n) => `${letter}${Number(from) + n}`) : [word];
}

function chosen({ clients = [], use }: MatrixFile, names: readonly string[] | undefined, pty: boolean): TrialClient[] {
  const known = knownClients(clients);
  const wanted = names ?? use;
  if (!wanted) return known.filter(({ terminal }) => pty || !terminal);
  return [...new Set(wanted)].map((name) => {
    const client = known.find((one) => one.name === name);
    if (!client)
      throw bad(
        `--clients: ${unknownWord(
          'client',
          name,
          known.map((one) => one.name),
        )}`,
      );
    return client;
  });
}

function toldOf(record: CellRecord): string | undefined {
  return record.kind === 'run' ? `${record.client} ${record.fault} ${record.repeat}: ${record.verdict}` : undefined;
}
