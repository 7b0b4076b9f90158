import { pathOf, startChild, withChildren } from './harness/children.js';
import type { Load } from './harness/client-process.js';
import { eventsIn, fetchAnswer, type Server, startCli, startServer } from './harness/servers.js';
import { type BenchOptions, numeral, progress, type Report, type Spread, shown, spreadOf } from './harness/stats.js';

/**
 * Requests per second, and CPU per request in the server's process, of a healthy streamed chat answer of 20 events.
 * Each round asks all servers in turn, so noise of the machine hits all alike; ratios are taken within a round.
 */
const CONNECTIONS = 32;

/** wirefault and aimock add a role, a finish and [DONE] to the deltas; dsh has no role. */
const DELTAS = 17;

interface Sample {
  readonly requestsPerSecond: number;
  readonly cpuMicros: number;
  /** Share of one core, above 1 where other threads collect garbage. */
  readonly serverBusy: number;
}

interface Contender {
  readonly name: string;
  readonly server: Server;
  readonly samples: Sample[];
}

interface Ratios {
  readonly requestsPerSecond: Spread;
  readonly cpuMicros: Spread;
}

async function sampleOf(server: Server, client: ReturnType<typeof startChild>, durationMs: number): Promise<Sample> {
  const before = await server.usage();
  const command = { kind: 'load', port: server.port, connections: CONNECTIONS, durationMs };
  const { requests, elapsedMs } = await client.ask<Load>(command);
  const used = (await server.usage()).cpuMicros - before.cpuMicros;
  return {
    requestsPerSecond: (requests * 1000) / elapsedMs,
    cpuMicros: used / requests,
    serverBusy: used / 1000 / elapsedMs,
  };
}

/** Of each round the one over the other, then the median of those. */
function ratios(of: readonly Sample[], to: readonly Sample[]): Ratios {
  const over = (key: keyof Sample): Spread =>
    spreadOf(of.map((sample, round) => sample[key] / (to[round]?.[key] ?? Number.NaN)));
  return { requestsPerSecond: over('requestsPerSecond'), cpuMicros: over('cpuMicros') };
}

export function throughput({ quick }: BenchOptions): Promise<Report> {
  const rounds = quick ? 2 : 5;
  const roundMs = quick ? 300 : 2000;
  return withChildren(async (keep) => {
    progress('throughput: starting servers');
    const wirefault = keep(await startServer({ kind: 'wirefault', role: 'success', deltas: DELTAS }));
    const answer = (await fetchAnswer(wirefault.port)).toString('base64');
    const start = async (name: string, starting: Promise<Server>): Promise<Contender> => {
      return { name, server: keep(await starting), samples: [] };
    };
    const role = 'success';
    const contenders: readonly Contender[] = [
      await start('ceiling', startServer({ kind: 'ceiling', role, deltas: DELTAS, answer })),
      { name: 'wirefault', server: wirefault, samples: [] },
      await start('wirefault, no ledgers', startServer({ kind: 'wirefault', role, deltas: DELTAS, ledgers: false })),
      await start('wirefault plain', startServer({ kind: 'wirefault', role, deltas: DELTAS, fidelity: 'plain' })),
      await start('wirefault-cli', startCli('silent', DELTAS)),
      await start('wirefault-cli logs', startCli('/dev/null', DELTAS)),
      await start('dsh', startServer({ kind: 'dsh', role, deltas: DELTAS + 1 })),
      await start('aimock', startServer({ kind: 'aimock', role, deltas: DELTAS })),
    ];
    const client = keep(startChild(pathOf('client-process.ts'), []));
    for (const { server } of contenders) await sampleOf(server, client, roundMs / 2);
    for (let round = 1; round <= rounds; round++) {
      progress(`throughput: round ${round} of ${rounds}, ${contenders.length} servers, ${roundMs} ms each`);
      for (const { server, samples } of contenders) samples.push(await sampleOf(server, client, roundMs));
    }

    const samplesOf = (name: string): readonly Sample[] => contenders.find((one) => one.name === name)?.samples ?? [];
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
          toWirefault: ratios(samples, samplesOf('wirefault')),
          toCeiling: ratios(samples, samplesOf('ceiling')),
        };
      }),
    );
    return {
      data: { connections: CONNECTIONS, rounds, roundMs, rows },
      tables: [
        {
          title: `Throughput: one streamed chat answer, ${CONNECTIONS} keep-alive connections, median (min..max) of ${rounds} rounds`,
          columns: ['server', 'requests/s', 'CPU µs/request', 'events', 'bytes', 'server busy'],
          rows: rows.map((row) => [
            row.name,
            shown(row.requestsPerSecond),
            shown(row.cpuMicros, 1),
            String(row.events),
            numeral(row.bytes),
            `${numeral(row.serverBusy.median * 100)} %`,
          ]),
        },
        {
          title: 'Throughput: ratios within the rounds, median (min..max)',
          columns: ['server', 'req/s ÷ wirefault', 'req/s ÷ ceiling', 'CPU ÷ wirefault', 'CPU ÷ ceiling'],
          rows: rows.map((row) => [
            row.name,
            shown(row.toWirefault.requestsPerSecond, 2),
            shown(row.toCeiling.requestsPerSecond, 2),
            shown(row.toWirefault.cpuMicros, 2),
            shown(row.toCeiling.cpuMicros, 2),
          ]),
          notes: [
            'Below 90 % busy, a server waited for its client or for other processes on the machine.',
            "The answers differ. wirefault has the provider's 20 headers and masking fields (plain: neither), dsh only " +
              'choices without id, object, created and model, aimock id, object, created, model, logprobs and CORS headers. ' +
              'dsh keeps a record of every request, wirefault of the newest 10,000, aimock of the newest 1,000, the CLI of none.',
          ],
        },
      ],
    };
  });
}
