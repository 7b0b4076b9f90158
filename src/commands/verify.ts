import { readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { errnoOf, messageOf, WirefaultError } from '../errors.js';
import { readJournal } from '../proof/journal-read.js';
import type { Ledger } from '../proof/ledger.js';
import { grouped, type Paint, plural } from '../proof/paint.js';
import { readPackets } from '../proof/pcap.js';
import { pcapOf } from '../proof/pcap-writer.js';
import { recordedExchange } from '../proof/recorded-exchange.js';
import { captureSighting, type Sighting, witnessSighting } from '../proof/sighting.js';
import { connectionsIn } from '../proof/tcp-streams.js';
import { type Report, type Verdict, verify } from '../proof/verify.js';
import { readWitness } from '../proof/witness-record.js';
import { type CommandOutput, paintOf, print, processOutput } from './output.js';
import { bytesOf, wholeNumber } from './values.js';

interface VerifyFlags {
  readonly witness?: readonly string[];
  readonly pcap?: readonly string[];
  readonly capture?: string;
  readonly exchange?: string;
  readonly pcapOut?: string;
  readonly json?: true;
}

const HELP = `
Checked for each exchange: the bytes are those of the answer (one by one with --capture, else by the SHA-256 of the
whole), at least as many as the journal calls read or acked and at most as many as it calls flushed, and the connection
ended as the journal says. A capture has to have the beginning of a connection; loopback, Ethernet and raw IP are read.
--pcap-out makes packets from what serve --journal and --capture have stored: bytes, order and end are those of the
exchange, the sizes of segments are not, and keys are redacted.
Exit code: 0 where all that was seen agrees, 1 where something differs or nothing was seen, 2 for wrong usage.

  wirefault witness http://127.0.0.1:8000/v1/chat/completions --body body.json --out seen.jsonl
  wirefault verify journal.jsonl --witness seen.jsonl
  wirefault verify journal.jsonl --capture bytes --exchange 3 --pcap-out 3.pcap`;

/** `wirefault verify`: checks a journal against what a witness or a packet capture has. */
export function addVerifyCommand(root: Command, output?: CommandOutput): void {
  root
    .command('verify')
    .description('check a journal against what a witness or tcpdump saw')
    .argument('<journal>', 'what serve --journal has written')
    .option('--witness <file...>', 'what wirefault witness --out has written')
    .option('--pcap <file...>', 'captures of tcpdump or Wireshark, pcap or pcapng')
    .option('--capture <dir>', 'what serve --capture has written: bytes are compared one by one')
    .option('--exchange <n>', 'only this exchange; the newest of that number')
    .option('--pcap-out <file>', 'write the exchange as a capture that Wireshark opens')
    .option('--json', 'the report as JSON')
    .addHelpText('after', HELP)
    .action(async (journal: string, flags: VerifyFlags) => {
      const to = output ?? processOutput();
      await run(journal, checked(flags), to);
    });
}

interface Asked extends VerifyFlags {
  readonly number: number | undefined;
}

function checked(flags: VerifyFlags): Asked {
  const { witness, pcap, capture, pcapOut } = flags;
  const number = wholeNumber('--exchange', flags.exchange, 1);
  const refuse = (message: string): never => {
    throw new WirefaultError('bad_option', message);
  };
  if (!witness && !pcap && pcapOut === undefined) {
    refuse('verify: nothing to check against; expected --witness FILE or --pcap FILE');
  }
  if (pcapOut !== undefined && number === undefined) refuse('--pcap-out: has no meaning without --exchange');
  if (pcapOut !== undefined && capture === undefined) refuse('--pcap-out: needs the bytes that --capture has');
  return { ...flags, number };
}

async function run(journal: string, asked: Asked, to: CommandOutput): Promise<void> {
  const ledgers = await ledgersOf(journal, to);
  const { number, capture, pcapOut } = asked;
  const one = number === undefined ? undefined : ledgers.findLast(({ exchange }) => exchange === number);
  if (number !== undefined && !one) {
    throw new WirefaultError('bad_evidence', `verify: exchange ${number} is not among those of ${journal}`);
  }
  if (capture !== undefined) requireFolder(capture);
  // A journal may hold several runs of the server; the folder has the bytes of the last.
  const newest = new Map(ledgers.map((ledger) => [ledger.exchange, ledger]));
  const stored = (ledger: Ledger, kind: StoredKind): Buffer | undefined =>
    capture === undefined || newest.get(ledger.exchange) !== ledger
      ? undefined
      : storedBytes(capture, ledger.exchange, kind);

  if (one && pcapOut !== undefined) {
    const [request, response] = [stored(one, 'request'), stored(one, 'response')];
    if (!request || !response) {
      throw new WirefaultError('bad_evidence', `--capture: ${capture} doesn't have exchange ${one.exchange}`);
    }
    await writeOut(pcapOut, pcapOf(recordedExchange(one, request, response)));
  }
  if (!asked.witness && !asked.pcap) return;
  const whole = verify(
    ledgers,
    await sightingsOf(asked),
    (ledger) => stored(ledger, 'response'),
    (ledger) => (ledger.upstream ? stored(ledger, 'upstream') : undefined),
  );
  const report = one ? only(whole, one) : whole;
  await print(to, asked.json ? `${JSON.stringify(report, null, 2)}\n` : told(report, paintOf(to)));
  if (!report.agrees) process.exitCode = 1;
}

/** The other exchanges are looked at all the same: they tell where on the connection this one's bytes are. */
function only({ verdicts, unseen, strangers }: Report, { exchange, connection }: Ledger): Report {
  const own = verdicts.filter((verdict) => verdict.exchange === exchange && verdict.connection === connection);
  return {
    verdicts: own,
    unseen: unseen.filter((number) => number === exchange),
    strangers,
    agrees: own.length > 0 && own.every(({ differences }) => differences.length === 0),
  };
}

async function ledgersOf(path: string, to: CommandOutput): Promise<Ledger[]> {
  const ledgers: Ledger[] = [];
  let bad = 0;
  for await (const line of readJournal(path)) {
    if (line.kind === 'ledger') ledgers.push(line.ledger);
    else {
      bad++;
      to.err.write(`${path}:${line.number}: ${line.reason}\n`);
    }
  }
  if (bad === 0) return ledgers;
  throw new WirefaultError('bad_evidence', `verify: ${plural(bad, 'line')} of ${path} can't be read as ledgers`);
}

async function sightingsOf({ witness = [], pcap = [] }: VerifyFlags): Promise<Sighting[]> {
  const sightings: Sighting[] = [];
  for (const path of witness) {
    const file = await bytesOf('--witness', path, 'bad_evidence');
    const sighting = witnessSighting(readWitness(file.toString('utf8'), path), path);
    if (sighting) sightings.push(sighting);
  }
  for (const path of pcap) {
    const packets = readPackets(await bytesOf('--pcap', path, 'bad_evidence'), path);
    for (const connection of connectionsIn(packets)) sightings.push(captureSighting(connection, path));
  }
  return sightings;
}

function requireFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new WirefaultError('bad_option', `--capture: ${JSON.stringify(path)} is not allowed; expected a folder`);
}

type StoredKind = 'request' | 'response' | 'upstream';

function storedBytes(dir: string, exchange: number, kind: StoredKind): Buffer | undefined {
  const path = join(dir, `${String(exchange).padStart(6, '0')}.${kind}`);
  try {
    return readFileSync(path);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return undefined;
    throw new WirefaultError('bad_evidence', `--capture: can't read ${path}: ${messageOf(thrown)}`, { cause: thrown });
  }
}

async function writeOut(path: string, bytes: Buffer): Promise<void> {
  try {
    await writeFile(path, bytes);
  } catch (thrown) {
    throw new WirefaultError('bad_option', `--pcap-out: can't write ${path}: ${messageOf(thrown)}`, { cause: thrown });
  }
}

function told(report: Report, paint: Paint): string {
  const { verdicts, unseen, strangers } = report;
  const width = Math.max(0, ...verdicts.map(({ behavior }) => behavior.length));
  const differing = verdicts.filter(({ differences }) => differences.length > 0).length;
  const summary = [
    ...(verdicts.length > differing ? [`${plural(verdicts.length - differing, 'exchange')} verified`] : []),
    ...(differing > 0 ? [paint('red', `${plural(differing, 'exchange')} with differences`)] : []),
    ...(verdicts.length === 0 ? [paint('red', 'nothing verified: no connection of the journal was seen')] : []),
    ...(unseen.length > 0 ? [`${plural(unseen.length, 'exchange')} of the journal not seen`] : []),
  ];
  const lines = [
    ...verdicts.map((verdict) => line(verdict, width, paint)),
    ...strangers.map((name) => paint('red', `${name}: its connection is not in the journal`)),
    summary.join(', '),
  ];
  return lines.map((text) => `${text}\n`).join('');
}

const COMPARED: Readonly<Record<Verdict['compared'], string>> = {
  bytes: 'every byte compared',
  sha256: 'compared by SHA-256',
  length: 'only their number compared',
};

function line(verdict: Verdict, width: number, paint: Paint): string {
  const { exchange, behavior, teardown, seenBytes, compared, differences } = verdict;
  const head = `#${exchange} ${behavior.padEnd(width)}`;
  const [first] = differences;
  if (!first) {
    const { parted } = verdict;
    const upstream = parted ? `, not the upstream's from byte ${grouped(parted.offset)} on (${parted.mark})` : '';
    const passed = parted === null ? ", the upstream's as far as they go" : upstream;
    const what = `${plural(seenBytes, 'byte')} (${COMPARED[compared]})${passed}, ${teardown}`;
    return `${head}  ${paint('green', 'agrees')}  ${what}`;
  }
  const place = first.offset === null ? '' : ` at byte ${grouped(first.offset)}, ${first.mark}`;
  return `${head}  ${paint('red', 'differs')}${place}: ${first.message}`;
}
