import { type Command, Option } from 'commander';
import { WirefaultError } from '../errors.js';
import { readJournal } from '../proof/journal-read.js';
import { type ListRow, listing, rowOf, story } from '../proof/journal-view.js';
import { type Ledger, ledgerJsonSchema } from '../proof/ledger.js';
import { plural } from '../proof/paint.js';
import { type CommandOutput, paintOf, print, processOutput } from './output.js';

interface JournalFlags {
  readonly behavior?: string;
  readonly outcome?: string;
  readonly lost?: true;
  readonly schema?: true;
  readonly json?: true;
  readonly text?: true;
}

/** `wirefault journal`: prints what a journal holds. */
export function addJournalCommand(root: Command, output?: CommandOutput): void {
  root
    .command('journal')
    .description('print the exchanges of a journal: a line for each, or the whole story of one')
    .argument('[file]', 'what serve --journal has written')
    .argument('[exchange]', 'number of one exchange; the newest of that number, where several runs share the file')
    .option('--behavior <name>', 'only exchanges with this behavior, played or scripted')
    .option('--outcome <name>', 'only exchanges that ended so')
    .option('--lost', 'only exchanges in which written bytes were lost')
    .option('--schema', 'print the JSON Schema of a line')
    .addOption(new Option('--json', 'JSON lines, on a terminal too').conflicts('text'))
    .option('--text', 'lines for people, in a pipe too')
    .action(async (file: string | undefined, exchange: string | undefined, flags: JournalFlags) => {
      const to = output ?? processOutput();
      if (flags.schema) await print(to, `${JSON.stringify(ledgerJsonSchema(), null, 2)}\n`);
      else await show({ file: named(file), exchange: numbered(exchange), flags }, to);
    });
}

function named(file: string | undefined): string {
  if (file !== undefined) return file;
  throw new WirefaultError('bad_option', 'journal: a FILE is missing; expected journal FILE, or journal --schema');
}

function numbered(exchange: string | undefined): number | undefined {
  if (exchange === undefined) return undefined;
  if (/^[1-9]\d{0,14}$/.test(exchange)) return Number(exchange);
  const message = `journal: exchange ${JSON.stringify(exchange)} is not allowed; expected a whole number of at least 1`;
  throw new WirefaultError('bad_option', message);
}

interface Asked {
  readonly file: string;
  readonly exchange: number | undefined;
  readonly flags: JournalFlags;
}

interface Found {
  readonly ledger: Ledger;
  readonly text: string;
}

/** @throws WirefaultError where the file can't be read, lacks the exchange, or has lines that are no ledgers */
async function show({ file, exchange, flags }: Asked, to: CommandOutput): Promise<void> {
  const json = !flags.text && (flags.json === true || to.out.isTTY !== true);
  const rows: ListRow[] = [];
  let one: Found | undefined;
  let ledgers = 0;
  let bad = 0;
  let wanted = true;
  for await (const line of readJournal(file)) {
    if (line.kind === 'bad') {
      bad++;
      to.err.write(`${file}:${line.number}: ${line.reason}\n`);
      continue;
    }
    ledgers++;
    if (!matches(line.ledger, flags)) continue;
    if (exchange !== undefined) one = line.ledger.exchange === exchange ? line : one;
    else if (json) wanted = await print(to, `${line.text}\n`);
    else rows.push(rowOf(line.ledger));
    if (!wanted) return;
  }
  const paint = paintOf(to);
  if (one) await print(to, json ? `${one.text}\n` : story(one.ledger, paint));
  else if (exchange === undefined && !json) await print(to, listing(rows, paint));
  if (bad > 0) {
    const message = `journal: ${bad} of ${plural(bad + ledgers, 'line')} of ${file} ${bad === 1 ? 'is no ledger' : 'are no ledgers'}`;
    throw new WirefaultError('bad_evidence', message);
  }
  if (exchange !== undefined && !one) {
    const which = flags.behavior || flags.outcome || flags.lost ? ' that was asked for' : '';
    const message = `journal: exchange ${exchange} is not among the ${plural(ledgers, 'ledger')} of ${file}${which}`;
    throw new WirefaultError('bad_evidence', message);
  }
}

function matches({ selection, outcome, lost }: Ledger, flags: JournalFlags): boolean {
  const { behavior } = flags;
  if (behavior !== undefined && selection.behavior !== behavior && selection.scripted !== behavior) return false;
  if (flags.outcome !== undefined && outcome !== flags.outcome) return false;
  return !flags.lost || (lost !== null && lost > 0);
}
