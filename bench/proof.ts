import { join } from 'node:path';
import type { FaultServerOptions } from '../src/fault-server.js';
import { DELTAS } from './harness/answer.js';
import { withChildren } from './harness/children.js';
import { type Contender, column, contest, startClient } from './harness/contest.js';
import { withScratch } from './harness/scratch.js';
import { startServer } from './harness/servers.js';
import { type BenchOptions, type Report, ratioOf, scaled, shown, spreadOf } from './harness/stats.js';

/**
 * What the proof costs: the same answers with nothing recorded, with ledgers, with what the kernel knows in them, and
 * with a journal of them on disk.
 */
const OFF = 'no ledgers';
const ALL = 'kernel evidence, journal';

export function proof({ quick, rounds = 7 }: BenchOptions): Promise<Report> {
  const plan = quick ? { rounds: 1, roundMs: 300 } : { rounds, roundMs: 2000 };
  return withScratch((folder) =>
    withChildren(async (keep) => {
      const variants: Readonly<Record<string, FaultServerOptions>> = {
        [OFF]: { ledgerHistory: 0, evidence: 'callbacks' },
        'ledgers by write callbacks': { evidence: 'callbacks' },
        'kernel evidence': {},
        [ALL]: { journal: join(folder, 'journal.jsonl') },
      };
      const contenders: Contender[] = [];
      for (const [name, options] of Object.entries(variants)) {
        const server = keep(await startServer({ kind: 'wirefault', role: 'success', deltas: DELTAS, options }));
        contenders.push({ name, server, samples: [] });
      }
      await contest(contenders, keep(startClient()), { name: 'proof', ...plan });
      const cost = (name: string): number[] =>
        column(contenders, name, 'perCore').map(
          (rate, round) => 1 - rate / (column(contenders, OFF, 'perCore')[round] ?? Number.NaN),
        );
      const rows = contenders.map(({ name, samples }) => ({
        name,
        perCore: spreadOf(samples.map((one) => one.perCore)),
        cpuMicros: spreadOf(samples.map((one) => one.cpuMicros)),
        costPercent: scaled(spreadOf(cost(name)), 100),
        cpuRatio: ratioOf(column(contenders, name, 'cpuMicros'), column(contenders, OFF, 'cpuMicros')),
      }));
      const bar = (name: string) => ({
        what: `requests/s of a core lost by ${name}`,
        measured: scaled(spreadOf(cost(name)), 100),
        bar: { atMost: 15 },
        unit: '%',
        digits: 1,
      });
      return {
        data: { ...plan, rows },
        bars: quick ? [] : [bar('kernel evidence'), bar(ALL)],
        charts: [
          {
            name: 'proof',
            title: 'What the proof costs',
            axis: 'requests per second of CPU',
            rows: rows.map(({ name, perCore: value }) => ({ name, value })),
          },
        ],
        tables: [
          {
            title: `Proof: the same server with more and more of it; median (min..max) of ${plan.rounds} rounds, ratios within the rounds`,
            columns: ['', 'requests/s of a core', 'lost %', 'CPU µs/request', 'CPU ÷ no ledgers'],
            rows: rows.map((row) => [
              row.name,
              shown(row.perCore),
              shown(row.costPercent, 1),
              shown(row.cpuMicros, 1),
              shown(row.cpuRatio, 2),
            ]),
          },
        ],
      };
    }),
  );
}
