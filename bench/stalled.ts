import { DELTAS } from './harness/answer.js';
import { type Child, CLIENT_CORE, pathOf, startChild, withChildren } from './harness/children.js';
import type { Held, Hold } from './harness/client-hold.js';
import { connectionsAllowed, settled } from './harness/descriptors.js';
import type { ServerSpec } from './harness/server-process.js';
import { fetchAnswer, startServer } from './harness/servers.js';
import { type BenchOptions, numeral, progress, type Report, ratioOf, shown, spreadOf } from './harness/stats.js';

/**
 * What a connection costs that got its headers and then silence: resident memory of the server's process, measured
 * after a garbage collection, over the number of connections. Each measurement has a new process.
 */

/** Opened and ended before the first measurement, so that code and pools are there already. */
const WARM_UP_CONNECTIONS = 500;

/** Loopback addresses that the clients come from. */
const SOURCES = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'];

interface Sample {
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly bufferBytes: number;
  readonly perSecond: number;
  readonly cpuMicros: number;
}

function measure(spec: ServerSpec, connections: number): Promise<Sample> {
  return withChildren(async (keep) => {
    const server = keep(await startServer(spec, { collectable: true }));
    const client = keep(startChild(pathOf('client-process.ts'), [], { core: CLIENT_CORE }));
    await hold(client, server.port, WARM_UP_CONNECTIONS);
    await client.ask({ kind: 'release' });
    await settled();
    const before = await server.usage();
    const begun = performance.now();
    await hold(client, server.port, connections);
    const elapsedMs = performance.now() - begun;
    await settled();
    const after = await server.usage();
    return {
      residentBytes: (after.residentBytes - before.residentBytes) / connections,
      bufferBytes: (after.bufferBytes - before.bufferBytes) / connections,
      heapBytes: (after.heapBytes - before.heapBytes) / connections,
      perSecond: (connections * 1000) / elapsedMs,
      cpuMicros: (after.cpuMicros - before.cpuMicros) / connections,
    };
  });
}

/** From several addresses, as clients come. */
async function hold(client: Child, port: number, connections: number): Promise<void> {
  for (const [n, source] of SOURCES.entries()) {
    const share = Math.floor((connections + n) / SOURCES.length);
    await client.ask<Held>({ kind: 'hold', port, connections: share, source } satisfies Hold);
  }
}

async function headOfWirefault(): Promise<string> {
  return withChildren(async (keep) => {
    const { port } = keep(await startServer({ kind: 'wirefault', role: 'stall', deltas: DELTAS }));
    return (await fetchAnswer(port, '\r\n\r\n')).toString('base64');
  });
}

export async function stalled({ quick, rounds = 5 }: BenchOptions): Promise<Report> {
  const all = quick ? 1 : rounds;
  const most = connectionsAllowed();
  const connections = quick ? 500 : Math.min(10_000, most);
  const many = Math.min(15_000, most);
  const role = 'stall';
  const deltas = DELTAS;
  const specs: readonly ServerSpec[] = [
    { kind: 'bare', role, deltas, answer: await headOfWirefault() },
    { kind: 'wirefault', role, deltas },
    { kind: 'dsh', role, deltas },
    { kind: 'aimock', role, deltas },
  ];
  const samples = new Map<string, Sample[]>();
  const add = async (name: string, spec: ServerSpec, count: number): Promise<void> => {
    samples.set(name, [...(samples.get(name) ?? []), await measure(spec, count)]);
  };
  const nameOf = (kind: string): string => (kind === 'bare' ? 'bare net' : kind);
  const crowded = `wirefault, ${numeral(many)}`;
  for (let round = 1; round <= all; round++) {
    progress(`stalled: round ${round} of ${all}, ${numeral(connections)} connections to each of ${specs.length}`);
    for (const spec of specs) await add(nameOf(spec.kind), spec, connections);
    if (!quick) await add(crowded, { kind: 'wirefault', role, deltas }, many);
  }
  const resident = (name: string): number[] => (samples.get(name) ?? []).map((sample) => sample.residentBytes);
  const rows = [...samples].map(([name, list]) => ({
    name,
    residentBytes: spreadOf(resident(name)),
    wirefaultShare: ratioOf(resident('wirefault'), resident(name)),
    bufferBytes: spreadOf(list.map((sample) => sample.bufferBytes)),
    heapBytes: spreadOf(list.map((sample) => sample.heapBytes)),
    perSecond: spreadOf(list.map((sample) => sample.perSecond)),
    cpuMicros: spreadOf(list.map((sample) => sample.cpuMicros)),
  }));
  const kilobytes = (name: string) => ({
    measured: spreadOf(resident(name).map((bytes) => bytes / 1000)),
    bar: { atMost: 4.5 },
    unit: 'kB',
    digits: 2,
  });
  const share = (name: string) => ({
    what: `resident memory of ${numeral(connections)} stalled connections, wirefault ÷ ${name}`,
    measured: ratioOf(resident('wirefault'), resident(name)),
    bar: { atMost: 0.45 },
    unit: '×',
    digits: 2,
  });
  return {
    data: { connections, rounds: all, rows },
    bars: quick
      ? []
      : [
          { what: `resident memory of each of ${numeral(connections)} stalled connections`, ...kilobytes('wirefault') },
          { what: `the same of ${numeral(many)} in one process`, ...kilobytes(crowded) },
          share('dsh'),
          share('aimock'),
        ],
    charts: [
      {
        name: 'stalled',
        title: `${numeral(connections)} stalled connections`,
        axis: 'resident bytes of each',
        rows: rows.map(({ name, residentBytes: value }) => ({ name, value })),
      },
    ],
    tables: [
      {
        title: `Stalled: ${numeral(connections)} connections that got headers, then silence; median (min..max) of ${all}`,
        columns: [
          'server',
          'resident B/connection',
          'wirefault ÷ it',
          'JS heap',
          'buffers',
          'connects/s',
          'CPU µs/connect',
        ],
        rows: rows.map((row) => [
          row.name,
          shown(row.residentBytes),
          shown(row.wirefaultShare, 2),
          numeral(row.heapBytes.median),
          numeral(row.bufferBytes.median),
          shown(row.perSecond),
          numeral(row.cpuMicros.median),
        ]),
        notes: [
          "aimock can't send headers and then nothing; here it sends headers, one event, and the next one after hours " +
            '(streamingProfile { ttft: 0, tps: 0.0001 }). The CPU includes a garbage collection.',
        ],
      },
    ],
  };
}
