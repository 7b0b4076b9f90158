import { join } from 'node:path';
import { DELTAS } from './harness/answer.js';
import { PINNED, withChildren } from './harness/children.js';
import { CONNECTIONS, type Contender, column, contest, startClient } from './harness/contest.js';
import { withScratch } from './harness/scratch.js';
import { eventsIn, fetchAnswer, type Server, startCli, startServer } from './harness/servers.js';
import {
  type BenchOptions,
  numeral,
  progress,
  type Report,
  ratioOf,
  scaled,
  shown,
  spreadOf,
} from './harness/stats.js';

/**
 * Requests per second on one core, and CPU per request in the server's process, of a healthy streamed chat answer of 20
 * events. The server has one core for all its threads, the journal's and the garbage collector's too, and the client
 * another, where the machine has them.
 */
const JOURNALED = 'wirefault, journal';
const BARE = 'bare net';

export function throughput({ quick, rounds = 5 }: BenchOptions): Promise<Report> {
  const plan = quick ? { rounds: 1, roundMs: 300 } : { rounds, roundMs: 2000 };
  return withScratch((folder) =>
    withChildren(async (keep) => {
      progress('throughput: starting servers');
      const role = 'success';
      const deltas = DELTAS;
      const contenders: Contender[] = [];
      const add = async (name: string, starting: Promise<Server>): Promise<Server> => {
        const server = keep(await starting);
        contenders.push({ name, server, samples: [] });
        return server;
      };
      const wirefault = await add('wirefault', startServer({ kind: 'wirefault', role, deltas }));
      const answer = (await fetchAnswer(wirefault.port)).toString('base64');
      const journal = join(folder, 'library.jsonl');
      await add(JOURNALED, startServer({ kind: 'wirefault', role, deltas, options: { journal } }));
      await add('wirefault plain', startServer({ kind: 'wirefault', role, deltas, options: { fidelity: 'plain' } }));
      const toFile = ['--journal', join(folder, 'cli.jsonl')];
      await add('CLI, silent', startCli({ flags: [], logs: 'silent' }));
      await add('CLI, journal', startCli({ flags: toFile, logs: 'silent' }));
      await add('CLI, log lines', startCli({ flags: [], logs: '/dev/null' }));
      await add(BARE, startServer({ kind: 'bare', role, deltas, answer }));
      await add('dsh', startServer({ kind: 'dsh', role, deltas: DELTAS + 1 }));
      await add('aimock', startServer({ kind: 'aimock', role, deltas }));
      await contest(contenders, keep(startClient()), { name: 'throughput', ...plan });

      const over = (key: 'requestsPerSecond' | 'perCore', name: string, to: string) =>
        ratioOf(column(contenders, name, key), column(contenders, to, key));
      const rows = await Promise.all(
        contenders.map(async ({ name, server, samples }) => {
          const sample = await fetchAnswer(server.port);
          return {
            name,
            bytes: sample.length,
            events: eventsIn(sample),
            requestsPerSecond: spreadOf(samples.map((one) => one.requestsPerSecond)),
            cpuMicros: spreadOf(samples.map((one) => one.cpuMicros)),
            serverBusy: spreadOf(samples.map((one) => one.serverBusy)),
            perCore: spreadOf(samples.map((one) => one.perCore)),
            toBare: over('perCore', name, BARE),
            toDsh: over('perCore', name, 'dsh'),
            toAimock: over('perCore', name, 'aimock'),
            secondsToBare: over('requestsPerSecond', name, BARE),
          };
        }),
      );
      const bar = (name: string, to: string, atLeast: number, unit: '%' | '×') => ({
        what: `requests/s of a core, ${name} ÷ ${to}`,
        measured: scaled(over('perCore', name, to), unit === '%' ? 100 : 1),
        bar: { atLeast },
        unit,
        digits: unit === '%' ? 0 : 2,
      });
      return {
        data: { connections: CONNECTIONS, ...plan, pinned: PINNED, rows },
        bars: quick
          ? []
          : [JOURNALED, 'CLI, journal'].flatMap((name) => [
              bar(name, BARE, 50, '%'),
              bar(name, 'dsh', 3, '×'),
              bar(name, 'aimock', 3, '×'),
            ]),
        charts: [
          {
            name: 'throughput',
            title: 'Streamed answers of 20 events, one core',
            axis: 'requests per second of CPU',
            rows: rows.map(({ name, perCore: value }) => ({ name, value })),
          },
        ],
        tables: [
          {
            title: `Throughput: one streamed chat answer, ${CONNECTIONS} keep-alive connections, ${PINNED ? 'the server on one core' : 'cores as they come'}; median (min..max) of ${plan.rounds} rounds`,
            columns: [
              'server',
              'requests/s',
              'requests/s of a core',
              'CPU µs/request',
              'events',
              'bytes',
              'server busy',
            ],
            rows: rows.map((row) => [
              row.name,
              shown(row.requestsPerSecond),
              shown(row.perCore),
              shown(row.cpuMicros, 1),
              String(row.events),
              numeral(row.bytes),
              `${numeral(row.serverBusy.median * 100)} %`,
            ]),
          },
          {
            title: 'Throughput: ratios within the rounds, median (min..max)',
            columns: ['requests/s of a core', '÷ bare net', '÷ dsh', '÷ aimock', 'requests/s ÷ bare net'],
            rows: rows.map((row) => [
              row.name,
              shown(row.toBare, 2),
              shown(row.toDsh, 2),
              shown(row.toAimock, 2),
              shown(row.secondsToBare, 2),
            ]),
            notes: [
              'Requests/s of a core: for each second of CPU that the server used, which is what an idle machine would give. Below ' +
                '90 % busy a server waited for its client or for other processes.',
              "The answers differ. wirefault has the provider's 20 headers and masking fields (plain: neither), dsh only " +
                'choices without id, object, created and model, aimock id, object, created, model, logprobs and CORS headers. ' +
                'dsh keeps a record of every request, wirefault of the newest 10,000, aimock of the newest 1,000, the CLI of none.',
            ],
          },
        ],
      };
    }),
  );
}
