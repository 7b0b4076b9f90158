import { type Child, pathOf, startChild, withChildren } from './harness/children.js';
import type { Watched } from './harness/client-process.js';
import { PACE_MS } from './harness/server-process.js';
import { type Server, startServer } from './harness/servers.js';
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
 * How exact paced answers are: 40 deltas, 25 ms after each, at several numbers of streams at once. Seen by the client,
 * so its own delays and the kernel's are in the numbers.
 */
const DELTAS = 40;

/** Streams begin at different moments, as clients do. */
const SPREAD_MS = 200;

interface Sample {
  /** Milliseconds by which a second of stream is too long, for each stream. */
  readonly drifts: readonly number[];
  /** How far each gap is from `PACE_MS`. */
  readonly gapErrors: readonly number[];
  /** Share of one core. */
  readonly serverBusy: number;
}

const NAMES = ['wirefault', 'dsh', 'aimock'] as const;
type Name = (typeof NAMES)[number];

interface Row {
  readonly streams: number;
  readonly name: Name;
  readonly drift: Spread;
  readonly worst: Spread;
  readonly p50: Spread;
  readonly p99: Spread;
  readonly busy: Spread;
}

/** Events before the first pause that come together with the one after them: wirefault's role. */
const TOGETHER: Readonly<Record<Name, number>> = { wirefault: 1, dsh: 0, aimock: 0 };

/** Gaps between the events, but not before the last one, [DONE], which follows at once. */
function gapsOf(arrivals: readonly number[], name: Name): number[] {
  const paced = arrivals.slice(TOGETHER[name], -1);
  return paced.slice(1).map((time, n) => time - (paced[n] ?? Number.NaN));
}

async function measure(name: Name, server: Server, client: Child, streams: number): Promise<Sample> {
  const before = await server.usage();
  const begun = performance.now();
  const { arrivals } = await client.ask<Watched>({ kind: 'watch', port: server.port, streams, spreadMs: SPREAD_MS });
  const elapsedMs = performance.now() - begun;
  const { cpuMicros } = await server.usage();
  const gaps = arrivals.map((times) => gapsOf(times, name));
  const odd = gaps.find((list) => list.length !== gaps[0]?.length || list.length < DELTAS);
  if (odd) throw new Error(`${name}: a stream of ${odd.length} gaps`);
  return {
    drifts: gaps.map(driftOf),
    gapErrors: gaps.flat().map((gap) => Math.abs(gap - PACE_MS)),
    serverBusy: (cpuMicros - before.cpuMicros) / 1000 / elapsedMs,
  };
}

function driftOf(gaps: readonly number[]): number {
  const idealMs = gaps.length * PACE_MS;
  const totalMs = gaps.reduce((sum, gap) => sum + gap, 0);
  return ((totalMs - idealMs) * 1000) / idealMs;
}

function rowOf(streams: number, name: Name, samples: readonly Sample[]): Row {
  const over = (of: (sample: Sample) => number): Spread => spreadOf(samples.map(of));
  return {
    streams,
    name,
    drift: over(({ drifts }) => percentile(drifts, 0.5)),
    worst: over(({ drifts }) => Math.max(...drifts)),
    p50: over(({ gapErrors }) => percentile(gapErrors, 0.5)),
    p99: over(({ gapErrors }) => percentile(gapErrors, 0.99)),
    busy: over(({ serverBusy }) => serverBusy),
  };
}

export function pacing({ quick }: BenchOptions): Promise<Report> {
  const rounds = quick ? 1 : 3;
  return withChildren(async (keep) => {
    const client = keep(startChild(pathOf('client-process.ts'), []));
    const contenders: { name: Name; server: Server; samples: Map<number, Sample[]> }[] = [];
    for (const name of NAMES) {
      const server = keep(await startServer({ kind: name, role: 'paced', deltas: DELTAS }));
      await measure(name, server, client, 50);
      contenders.push({ name, server, samples: new Map() });
    }
    const counts = quick ? [1, 100] : [1, 100, 1000];
    for (const streams of counts) {
      for (let round = 1; round <= rounds; round++) {
        progress(`pacing: ${numeral(streams)} streams, round ${round} of ${rounds}, ${NAMES.length} servers`);
        for (const { name, server, samples } of contenders) {
          samples.set(streams, [...(samples.get(streams) ?? []), await measure(name, server, client, streams)]);
        }
      }
    }
    const rows = counts.flatMap((streams) =>
      contenders.map(({ name, samples }) => rowOf(streams, name, samples.get(streams) ?? [])),
    );
    return {
      data: { deltas: DELTAS, paceMs: PACE_MS, rounds, rows },
      tables: [
        {
          title: `Pacing: ${DELTAS} deltas, ${PACE_MS} ms after each, seen by the client; median (min..max) of ${rounds} rounds`,
          columns: ['streams', 'server', 'drift ms/s', 'worst', 'gap error p50', 'p99 ms', 'CPU'],
          rows: rows.map((row) => [
            numeral(row.streams),
            row.name,
            shown(row.drift, 1),
            numeral(row.worst.median, 1),
            numeral(row.p50.median, 2),
            shown(row.p99, 1),
            `${numeral(row.busy.median * 100)} %`,
          ]),
        },
      ],
    };
  });
}
