import { join } from 'node:path';
import { DELTAS } from './harness/answer.js';
import { CLIENT_CORE, pathOf, startChild, withChildren } from './harness/children.js';
import type { Exchanged, Verified } from './harness/million-process.js';
import { withScratch } from './harness/scratch.js';
import { startServer } from './harness/servers.js';
import {
  type BenchOptions,
  numeral,
  percentile,
  progress,
  type Report,
  type Spread,
  shown,
  spreadOf,
} from './harness/stats.js';

/**
 * A million exchanges with random faults, on disk each: is memory flat, is every exchange in the journal, did each client
 * get what its ledger says, byte for byte, and are the faults those of another run?
 */
const SEED = 42;

/** Memory is looked at so often, after a garbage collection. */
const PARTS = 20;
/** From then on memory has to be flat: what the server keeps (10,000 requests, 1,000 ledgers) is full. */
const WARM_PARTS = 4;

interface Run {
  readonly perSecond: readonly number[];
  readonly residentBytes: readonly number[];
  readonly heldBytes: readonly number[];
  readonly verified: Verified;
}

/** The shares of `random`, but no silence: nobody would end it. All pauses are a thousandth of what they are. */
async function weights(): Promise<Record<string, number>> {
  const built = new URL('../dist/fault/catalogue.js', import.meta.url).href;
  const { DEFAULT_RANDOM_WEIGHTS } = (await import(built)) as typeof import('../src/fault/catalogue.js');
  return Object.fromEntries(Object.entries(DEFAULT_RANDOM_WEIGHTS).filter(([name]) => name !== 'stall'));
}

interface RunOptions {
  readonly exchanges: number;
  readonly connections: number;
  readonly prefixes: readonly number[];
}

function run({ exchanges, connections, prefixes }: RunOptions): Promise<Run> {
  return withScratch((folder) =>
    withChildren(async (keep) => {
      const journal = join(folder, 'journal.jsonl');
      const script = { sequence: ['random'], repeatLast: true, randomSeed: SEED, randomWeights: await weights() };
      const options = { ...script, timeScale: 1000, journal };
      const spec = { kind: 'wirefault', role: 'success', deltas: DELTAS, options } as const;
      const server = keep(await startServer(spec, { collectable: true }));
      const client = keep(startChild(pathOf('million-process.ts'), [], { core: CLIENT_CORE }));
      await client.ask({ kind: 'prepare', exchanges });
      const perSecond: number[] = [];
      const residentBytes: number[] = [];
      const heldBytes: number[] = [];
      const count = exchanges / PARTS;
      for (let part = 0; part < PARTS; part++) {
        const command = { kind: 'exchange', port: server.port, connections, from: part * count, count };
        const { elapsedMs } = await client.ask<Exchanged>(command);
        perSecond.push((count * 1000) / elapsedMs);
        const { residentBytes: resident, heapBytes, bufferBytes } = await server.usage();
        residentBytes.push(resident);
        heldBytes.push(heapBytes + bufferBytes);
        progress(`million: ${numeral((part + 1) * count)} exchanges, ${numeral(perSecond.at(-1) ?? 0)} a second`);
      }
      await server.ask('idle');
      const verified = await client.ask<Verified>({ kind: 'verify', journal, prefixes });
      return { perSecond, residentBytes, heldBytes, verified };
    }),
  );
}

/** The last quarter of the run over what it was when warm. */
function growth(bytes: readonly number[]): Spread {
  const warm = percentile(bytes.slice(WARM_PARTS, WARM_PARTS + 4), 0.5);
  return spreadOf(bytes.slice(-5).map((one) => one / warm));
}

export async function million({ quick }: BenchOptions): Promise<Report> {
  const exchanges = quick ? 10_000 : 1_000_000;
  const again = exchanges / 10;
  const first = await run({ exchanges, connections: 64, prefixes: [again, exchanges] });
  const second = await run({ exchanges: again, connections: 16, prefixes: [again] });
  const same = first.verified.sequences[0] === second.verified.sequences[0];
  const total = (record: Readonly<Record<string, number>>): number =>
    Object.values(record).reduce((sum, count) => sum + count, 0);
  const runs = [first, second].map(({ verified, perSecond }) => ({
    exchanges: total(verified.played),
    perSecond: spreadOf(perSecond),
    ...verified,
  }));
  const count = (what: string, value: number) => ({
    what,
    measured: spreadOf([value]),
    bar: { atMost: 0 },
    unit: '',
    digits: 0,
  });
  const ratio = (what: string, measured: Spread) => ({ what, measured, bar: { atMost: 1.1 }, unit: '×', digits: 3 });
  const megabytes = (bytes: number | undefined): string => numeral((bytes ?? Number.NaN) / 1_048_576, 1);
  const problems = (of: Run): number => of.verified.missing + total(of.verified.wrong);
  if (quick && (problems(first) + problems(second) > 0 || !same)) {
    throw new Error(`million: ${JSON.stringify(runs)}: a ledger is missing or wrong, or the faults differ`);
  }
  return {
    data: { seed: SEED, runs, same, residentBytes: first.residentBytes, heldBytes: first.heldBytes },
    bars: quick
      ? []
      : [
          count('exchanges without a ledger, or attempts missing or twice in the journal', first.verified.missing),
          count('answers that were not what their ledger says', total(first.verified.wrong)),
          count('faults that differ from those of another run', same ? 0 : 1),
          ratio('resident memory at the end ÷ when warm', growth(first.residentBytes)),
          ratio('heap and buffers after a collection at the end ÷ when warm', growth(first.heldBytes)),
        ],
    charts: quick
      ? []
      : [
          {
            name: 'million',
            title: `${numeral(exchanges)} exchanges with random faults: resident memory`,
            axis: 'MiB',
            rows: first.residentBytes.map((bytes, part) => ({
              name: numeral(((part + 1) * exchanges) / PARTS),
              value: spreadOf([bytes / 1_048_576]),
            })),
          },
        ],
    tables: [
      {
        title: `Million: random faults, seed ${SEED}, journal on; each answer's SHA-256 at the client against its ledger`,
        columns: ['run', 'exchanges/s', 'ledgers', 'verified', 'wrong', 'missing'],
        rows: runs.map((one, n) => [
          `${numeral(one.exchanges)}, ${n === 0 ? 64 : 16} connections`,
          shown(one.perSecond),
          numeral(one.ledgers),
          numeral(one.verified),
          numeral(total(one.wrong)),
          numeral(one.missing),
        ]),
        notes: [
          `The faults of the first ${numeral(again)} attempts are ${same ? 'the same' : 'NOT the same'} in both runs ` +
            `(SHA-256 of their names ${first.verified.sequences[0]?.slice(0, 16)}…). Of ${numeral(exchanges)}: ` +
            `${first.verified.sequences.at(-1)}.`,
          `Memory after a collection, warm and at the end: resident ${megabytes(first.residentBytes[WARM_PARTS])} and ` +
            `${megabytes(first.residentBytes.at(-1))} MiB, heap and buffers ${megabytes(first.heldBytes[WARM_PARTS])} and ` +
            `${megabytes(first.heldBytes.at(-1))} MiB. Left out of \`random\`: stall, which nobody would end. Pauses are a ` +
            'thousandth of what they are (timeScale 1000).',
        ],
      },
    ],
  };
}
