import { type Child, withChildren } from './harness/children.js';
import type { Watch, Watched } from './harness/client-watch.js';
import { startClient } from './harness/contest.js';
import { PACE_MS, type ServerSpec } from './harness/server-process.js';
import { fetchAnswer, type Server, startServer } from './harness/servers.js';
import {
  type BenchOptions,
  numeral,
  percentile,
  progress,
  type Report,
  ratioOf,
  type Spread,
  shown,
  spreadOf,
} from './harness/stats.js';

/**
 * How exact paced answers are, at several numbers of streams at once: how far each gap between two events is from the
 * pace, and how late the last event is. Seen by the client, so its own delays and the kernel's are in the numbers; what
 * they are is seen beside a bare wheel that writes the same bytes (harness/wheel.ts).
 */
const SHORT_DELTAS = 40;
/** A minute of them. */
const LONG_DELTAS = 60_000 / PACE_MS;

/** Streams begin at different moments, as clients do. */
const SPREAD_MS = 200;

const NAMES = ['wirefault', 'bare wheel', 'dsh', 'aimock'] as const;
type Name = (typeof NAMES)[number];

/** What each sends beside the deltas: wirefault's role comes together with the first delta, aimock's has a pause of its own. */
const SHAPES: Readonly<Record<Name, { together: number; more: number }>> = {
  wirefault: { together: 1, more: 0 },
  'bare wheel': { together: 1, more: 0 },
  dsh: { together: 0, more: 0 },
  aimock: { together: 0, more: 1 },
};

interface Sample extends Watched {
  /** Share of one core. */
  readonly serverBusy: number;
}

interface Contender {
  readonly name: Name;
  readonly server: Server;
  readonly deltas: number;
}

async function start(deltas: number, keep: <C extends Child>(child: C) => C): Promise<Contender[]> {
  const role = 'paced';
  const wirefault = keep(await startServer({ kind: 'wirefault', role, deltas }));
  const fast = { options: { timeScale: 1000 } };
  const answer = await withChildren(async (brief) => {
    const server = brief(await startServer({ kind: 'wirefault', role, deltas, ...fast }));
    return (await fetchAnswer(server.port)).toString('base64');
  });
  const specs: readonly { name: Name; spec: ServerSpec }[] = [
    { name: 'bare wheel', spec: { kind: 'wheel', role, deltas, answer } },
    { name: 'dsh', spec: { kind: 'dsh', role, deltas } },
    { name: 'aimock', spec: { kind: 'aimock', role, deltas } },
  ];
  const contenders: Contender[] = [{ name: 'wirefault', server: wirefault, deltas }];
  for (const { name, spec } of specs) contenders.push({ name, server: keep(await startServer(spec)), deltas });
  return contenders;
}

async function measure({ name, server, deltas }: Contender, client: Child, streams: number): Promise<Sample> {
  const { together, more } = SHAPES[name];
  const before = await server.usage();
  const begun = performance.now();
  const command = { kind: 'watch', port: server.port, streams, spreadMs: SPREAD_MS, paceMs: PACE_MS } as const;
  const watched = await client.ask<Watched>({ ...command, gaps: deltas + more, together } satisfies Watch);
  const elapsedMs = performance.now() - begun;
  const { cpuMicros } = await server.usage();
  return { ...watched, serverBusy: (cpuMicros - before.cpuMicros) / 1000 / elapsedMs };
}

interface Row {
  readonly streams: number;
  readonly name: Name;
  readonly rounds: number;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  /** p99 over that of the bare wheel in the same round. */
  readonly p99ToWheel: Spread;
  readonly driftMs: Spread;
  readonly worstDriftMs: Spread;
  readonly busy: Spread;
}

function rowsOf(streams: number, samples: ReadonlyMap<Name, readonly Sample[]>): Row[] {
  const column = (name: Name, of: (sample: Sample) => number): number[] => (samples.get(name) ?? []).map(of);
  return NAMES.flatMap((name) => {
    const p99 = column(name, ({ gapErrors }) => gapErrors.p99);
    if (p99.length === 0) return [];
    const wheel = column('bare wheel', ({ gapErrors }) => gapErrors.p99);
    return {
      streams,
      name,
      rounds: p99.length,
      p50Ms: spreadOf(column(name, ({ gapErrors }) => gapErrors.p50)),
      p99Ms: spreadOf(p99),
      p99ToWheel: ratioOf(p99, wheel),
      driftMs: spreadOf(column(name, ({ endDrifts }) => percentile(endDrifts.map(Math.abs), 0.5))),
      worstDriftMs: spreadOf(column(name, ({ endDrifts }) => Math.max(...endDrifts.map(Math.abs)))),
      busy: spreadOf(column(name, ({ serverBusy }) => serverBusy)),
    };
  });
}

/** All contenders in turn, `rounds` times; those of `once` in the first round alone. */
async function turns(
  contenders: readonly Contender[],
  client: Child,
  { streams, rounds, once = [] }: { streams: number; rounds: number; once?: readonly Name[] },
): Promise<Row[]> {
  const samples = new Map<Name, Sample[]>();
  for (let round = 1; round <= rounds; round++) {
    for (const contender of contenders) {
      const { name } = contender;
      if (round > 1 && once.includes(name)) continue;
      progress(`pacing: ${numeral(streams)} streams, round ${round} of ${rounds}, ${name}`);
      samples.set(name, [...(samples.get(name) ?? []), await measure(contender, client, streams)]);
    }
  }
  return rowsOf(streams, samples);
}

function tableOf(title: string, rows: readonly Row[]) {
  return {
    title,
    columns: ['streams, server', 'gap error p50 ms', 'p99 ms', 'p99 ÷ wheel', 'end drift ms', 'worst', 'CPU'],
    rows: rows.map((row) => [
      `${numeral(row.streams)}, ${row.name}`,
      shown(row.p50Ms, 2),
      shown(row.p99Ms, 1),
      shown(row.p99ToWheel, 2),
      shown(row.driftMs, 1),
      numeral(row.worstDriftMs.median, 1),
      `${numeral(row.busy.median * 100)} %`,
    ]),
  };
}

export async function pacing({ quick, rounds = 5 }: BenchOptions): Promise<Report> {
  const counts = quick ? [50] : [1, 1000, 5000];
  const longRounds = quick ? 0 : Math.min(rounds, 2);
  const short = await withChildren(async (keep) => {
    const client = keep(startClient());
    const contenders = await start(SHORT_DELTAS, keep);
    for (const contender of contenders) await measure(contender, client, 50);
    const rows: Row[] = [];
    for (const streams of counts)
      rows.push(...(await turns(contenders, client, { streams, rounds: quick ? 1 : rounds })));
    return rows;
  });
  const long =
    longRounds === 0
      ? []
      : await withChildren(async (keep) => {
          const client = keep(startClient());
          const contenders = await start(LONG_DELTAS, keep);
          return turns(contenders, client, { streams: 1000, rounds: longRounds, once: ['dsh', 'aimock'] });
        });
  const find = (rows: readonly Row[], streams: number): Row | undefined =>
    rows.find((row) => row.name === 'wirefault' && row.streams === streams);
  const thousand = find(short, 1000);
  const fiveThousand = find(short, 5000);
  const minute = find(long, 1000);
  return {
    data: { paceMs: PACE_MS, shortDeltas: SHORT_DELTAS, longDeltas: LONG_DELTAS, short, long },
    bars: [
      ...(thousand
        ? [
            {
              what: 'gap error at 1,000 streams, p50',
              measured: thousand.p50Ms,
              bar: { atMost: 1 },
              unit: 'ms',
              digits: 2,
            },
            {
              what: 'gap error at 1,000 streams, p99 ÷ bare wheel',
              measured: thousand.p99ToWheel,
              bar: { atMost: 1.5 },
              unit: '×',
              digits: 2,
            },
          ]
        : []),
      ...(fiveThousand
        ? [
            {
              what: 'gap error at 5,000 streams, p99 ÷ bare wheel',
              measured: fiveThousand.p99ToWheel,
              bar: { atMost: 1.5 },
              unit: '×',
              digits: 2,
            },
          ]
        : []),
      ...(minute
        ? [
            {
              what: 'end drift after 60 s at 1,000 streams, median of the streams',
              measured: minute.driftMs,
              bar: { atMost: 5 },
              unit: 'ms',
              digits: 1,
            },
          ]
        : []),
    ],
    charts: quick
      ? []
      : [
          {
            name: 'pacing',
            title: `Paced answers, ${PACE_MS} ms: error of the gaps, p99`,
            axis: 'milliseconds',
            scale: 'log' as const,
            rows: short.map(({ streams, name, p99Ms }) => ({
              name,
              group: `${numeral(streams)} streams`,
              value: p99Ms,
            })),
          },
        ],
    tables: [
      tableOf(
        `Pacing: ${SHORT_DELTAS} deltas, ${PACE_MS} ms after each, seen by the client; median (min..max) of ${quick ? 1 : rounds} rounds`,
        short,
      ),
      ...(long.length > 0 ? [tableOf(`Pacing: a minute of it; ${longRounds} rounds, the peers one`, long)] : []),
    ],
  };
}
