import { DELTAS } from './harness/answer.js';
import { type Child, CLIENT_CORE, pathOf, startChild, withChildren } from './harness/children.js';
import type { Held, Hold } from './harness/client-hold.js';
import { collectable, residentBytes, settled, treeOf } from './harness/descriptors.js';
import { type Server, startCli, startServer } from './harness/servers.js';
import {
  type BenchOptions,
  numeral,
  progress,
  type Report,
  ratioOf,
  type Spread,
  shown,
  spreadOf,
} from './harness/stats.js';

/**
 * More stalled connections than one process may have open (20,000 files here): wirefault with several workers on one port,
 * the peers as several servers. Each client process comes from a loopback address of its own, which has ports of its own.
 * Resident memory of all processes of a contender, after a garbage collection in each.
 */
const PROCESSES = 4;
const WARM_UP_CONNECTIONS = 200;

interface Sample {
  readonly residentBytes: number;
  readonly perSecond: number;
}

interface Servers {
  /** One, or one for each client. */
  readonly ports: readonly number[];
  readonly pids: readonly number[];
}

type Keep = <C extends Child>(child: C) => C;

async function workers(keep: Keep): Promise<Servers> {
  const flags = ['--sequence', 'stall', '--workers', String(PROCESSES)];
  const server: Server = keep(await startCli({ flags, logs: 'silent', collectable: true, pinned: false }));
  return { ports: [server.port], pids: treeOf(server.pid) };
}

function several(kind: 'dsh' | 'aimock') {
  return async (keep: Keep): Promise<Servers> => {
    const servers: Server[] = [];
    for (let n = 0; n < PROCESSES; n++)
      servers.push(keep(await startServer({ kind, role: 'stall', deltas: DELTAS }, { collectable: true })));
    return { ports: servers.map(({ port }) => port), pids: servers.map(({ pid }) => pid) };
  };
}

const CONTENDERS: Readonly<Record<string, (keep: Keep) => Promise<Servers>>> = {
  [`wirefault --workers ${PROCESSES}`]: workers,
  [`dsh, ${PROCESSES} processes`]: several('dsh'),
  [`aimock, ${PROCESSES} processes`]: several('aimock'),
};
const [WIREFAULT = '', ...PEERS] = Object.keys(CONTENDERS);

async function residentOf(pids: readonly number[]): Promise<number> {
  for (const pid of pids) process.kill(pid, 'SIGUSR2');
  await settled();
  await settled();
  return pids.reduce((sum, pid) => sum + residentBytes(pid), 0);
}

function measure(begin: (keep: Keep) => Promise<Servers>, connections: number): Promise<Sample> {
  return withChildren(async (keep) => {
    const { ports, pids } = await begin(keep);
    const clients = Array.from({ length: PROCESSES }, () =>
      keep(startChild(pathOf('client-process.ts'), [], { core: CLIENT_CORE })),
    );
    const hold = (each: number): Promise<unknown> =>
      Promise.all(
        clients.map((client, n) => {
          const port = ports[n % ports.length] ?? 0;
          return client.ask<Held>({ kind: 'hold', port, connections: each, source: `127.0.0.${n + 1}` } satisfies Hold);
        }),
      );
    await hold(WARM_UP_CONNECTIONS);
    await Promise.all(clients.map((client) => client.ask({ kind: 'release' })));
    await settled();
    await Promise.all(pids.map(collectable));
    const before = await residentOf(pids);
    const begun = performance.now();
    await hold(Math.floor(connections / PROCESSES));
    const elapsedMs = performance.now() - begun;
    await settled();
    return {
      residentBytes: ((await residentOf(pids)) - before) / connections,
      perSecond: (connections * 1000) / elapsedMs,
    };
  });
}

export async function crowd({ quick, rounds = 5 }: BenchOptions): Promise<Report> {
  const connections = quick ? 1000 : 50_000;
  const all = quick ? 1 : rounds;
  const samples = new Map<string, Sample[]>();
  for (let round = 1; round <= all; round++) {
    for (const [name, begin] of Object.entries(CONTENDERS)) {
      progress(`crowd: round ${round} of ${all}, ${numeral(connections)} connections, ${name}`);
      samples.set(name, [...(samples.get(name) ?? []), await measure(begin, connections)]);
    }
  }
  const resident = (name: string): number[] => (samples.get(name) ?? []).map((sample) => sample.residentBytes);
  const rows: { name: string; residentBytes: Spread; wirefaultShare: Spread; perSecond: Spread }[] = [...samples].map(
    ([name, list]) => ({
      name,
      residentBytes: spreadOf(resident(name)),
      wirefaultShare: ratioOf(resident(WIREFAULT), resident(name)),
      perSecond: spreadOf(list.map((sample) => sample.perSecond)),
    }),
  );
  return {
    data: { connections, processes: PROCESSES, rounds: all, rows },
    bars: quick
      ? []
      : [
          {
            what: `resident memory of each of ${numeral(connections)} stalled connections`,
            measured: spreadOf(resident(WIREFAULT).map((bytes) => bytes / 1000)),
            bar: { atMost: 4.5 },
            unit: 'kB',
            digits: 2,
          },
          ...PEERS.map((name) => ({
            what: `the same ÷ ${name}`,
            measured: ratioOf(resident(WIREFAULT), resident(name)),
            bar: { atMost: 0.45 },
            unit: '×',
            digits: 2,
          })),
        ],
    charts: [
      {
        name: 'crowd',
        title: `${numeral(connections)} stalled connections`,
        axis: 'resident bytes of each',
        rows: rows.map(({ name, residentBytes: value }) => ({ name, value })),
      },
    ],
    tables: [
      {
        title: `Crowd: ${numeral(connections)} stalled connections from ${PROCESSES} loopback addresses at once; median (min..max) of ${all}`,
        columns: ['', 'resident B/connection', 'wirefault ÷ it', 'connects/s'],
        rows: rows.map((row) => [
          row.name,
          shown(row.residentBytes),
          shown(row.wirefaultShare, 2),
          shown(row.perSecond),
        ]),
        notes: ['Of all processes, the one that the workers belong to included.'],
      },
    ],
  };
}
