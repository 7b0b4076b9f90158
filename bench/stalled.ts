import { readFileSync } from 'node:fs';
import { pathOf, startChild, withChildren } from './harness/children.js';
import type { Held } from './harness/client-process.js';
import type { ServerSpec } from './harness/server-process.js';
import { fetchAnswer, startServer } from './harness/servers.js';
import { type BenchOptions, numeral, progress, type Report, shown, spreadOf } from './harness/stats.js';

/**
 * What a connection costs that got its headers and then silence: resident memory of the server's process, measured
 * after a garbage collection, over the number of connections. Each measurement has a new process.
 */
const MOST_CONNECTIONS = 10_000;

/** Descriptors that the processes need for themselves. */
const SPARE_DESCRIPTORS = 200;

/** Opened and ended before the first measurement, so that code and pools are there already. */
const WARM_UP_CONNECTIONS = 500;

const SETTLE_MS = 300;

const DELTAS = 17;

interface Sample {
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly bufferBytes: number;
  readonly perSecond: number;
  readonly cpuMicros: number;
}

/** Node raises its soft limit to the hard one at its start, so the hard one counts. */
function connectionsAllowed(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const hard = Number(/^Max open files +\d+ +(\d+)/m.exec(limits)?.[1] ?? 4096);
  return Math.min(MOST_CONNECTIONS, hard - SPARE_DESCRIPTORS);
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

function measure(spec: ServerSpec, connections: number): Promise<Sample> {
  return withChildren(async (keep) => {
    const server = keep(await startServer(spec, { collectable: true }));
    const client = keep(startChild(pathOf('client-process.ts'), []));
    const { port } = server;
    await client.ask({ kind: 'hold', port, connections: WARM_UP_CONNECTIONS });
    await client.ask({ kind: 'release' });
    await settled();
    const before = await server.usage();
    const { elapsedMs } = await client.ask<Held>({ kind: 'hold', port, connections });
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

async function headOfWirefault(): Promise<string> {
  return withChildren(async (keep) => {
    const { port } = keep(await startServer({ kind: 'wirefault', role: 'stall', deltas: DELTAS }));
    return (await fetchAnswer(port, '\r\n\r\n')).toString('base64');
  });
}

export async function stalled({ quick }: BenchOptions): Promise<Report> {
  const rounds = quick ? 1 : 3;
  const connections = quick ? 1000 : connectionsAllowed();
  const role = 'stall';
  const deltas = DELTAS;
  const specs: readonly ServerSpec[] = [
    { kind: 'ceiling', role, deltas, answer: await headOfWirefault() },
    { kind: 'wirefault', role, deltas },
    { kind: 'dsh', role, deltas },
    { kind: 'aimock', role, deltas },
  ];
  const samples = new Map<ServerSpec, Sample[]>(specs.map((spec) => [spec, []]));
  for (let round = 1; round <= rounds; round++) {
    progress(`stalled: round ${round} of ${rounds}, ${numeral(connections)} connections to each of ${specs.length}`);
    for (const [spec, list] of samples) list.push(await measure(spec, connections));
  }
  const rows = [...samples].map(([{ kind }, list]) => ({
    name: kind === 'ceiling' ? 'bare net' : kind,
    residentBytes: spreadOf(list.map((sample) => sample.residentBytes)),
    bufferBytes: spreadOf(list.map((sample) => sample.bufferBytes)),
    heapBytes: spreadOf(list.map((sample) => sample.heapBytes)),
    perSecond: spreadOf(list.map((sample) => sample.perSecond)),
    cpuMicros: spreadOf(list.map((sample) => sample.cpuMicros)),
  }));
  return {
    data: { connections, rounds, rows },
    tables: [
      {
        title: `Stalled: ${numeral(connections)} connections that got headers, then silence; median (min..max) of ${rounds}`,
        columns: ['server', 'resident B/connection', 'JS heap', 'buffers', 'connects/s', 'CPU µs/connect'],
        rows: rows.map((row) => [
          row.name,
          shown(row.residentBytes),
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
