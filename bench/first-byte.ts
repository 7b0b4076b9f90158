import { DELTAS } from './harness/answer.js';
import { withChildren } from './harness/children.js';
import type { Timed } from './harness/client-time.js';
import { startClient } from './harness/contest.js';
import { fetchAnswer, type Server, startServer } from './harness/servers.js';
import { type BenchOptions, progress, type Report, type Spread, shown, spreadOf } from './harness/stats.js';

/**
 * From the write of a request to the first byte of its answer, one request at a time: on a connection that is kept, and
 * on a new one each time. What is added is the difference to a bare server in the same round.
 */
const KINDS = { kept: 'a kept connection', fresh: 'a new connection' } as const;
type Kind = keyof typeof KINDS;

interface Contender {
  readonly name: string;
  readonly server: Server;
  readonly samples: Record<Kind, Timed[]>;
}

export function firstByte({ quick, rounds = 7 }: BenchOptions): Promise<Report> {
  const count = quick ? 200 : 1000;
  const all = quick ? 1 : rounds;
  return withChildren(async (keep) => {
    const role = 'success';
    const deltas = DELTAS;
    const contenders: Contender[] = [];
    const add = async (name: string, starting: Promise<Server>): Promise<Server> => {
      const server = keep(await starting);
      contenders.push({ name, server, samples: { kept: [], fresh: [] } });
      return server;
    };
    const { port } = await add('wirefault', startServer({ kind: 'wirefault', role, deltas }));
    const answer = (await fetchAnswer(port)).toString('base64');
    await add('bare net', startServer({ kind: 'bare', role, deltas, answer }));
    await add('dsh', startServer({ kind: 'dsh', role, deltas: DELTAS + 1 }));
    await add('aimock', startServer({ kind: 'aimock', role, deltas }));
    const client = keep(startClient());
    // The first is a warm-up.
    for (let round = 0; round <= all; round++) {
      for (const kind of Object.keys(KINDS) as Kind[]) {
        for (const { server, samples } of contenders) {
          const sample = await client.ask<Timed>({ kind: 'time', port: server.port, count, fresh: kind === 'fresh' });
          if (round > 0) samples[kind].push(sample);
        }
      }
      progress(`first-byte: round ${round} of ${all}`);
    }
    const of = (name: string, kind: Kind, key: keyof Timed): number[] =>
      contenders.find((one) => one.name === name)?.samples[kind].map((sample) => sample[key]) ?? [];
    const added = (name: string, kind: Kind, key: keyof Timed): Spread =>
      spreadOf(of(name, kind, key).map((ms, round) => ms - (of('bare net', kind, key)[round] ?? Number.NaN)));
    const rows = (Object.keys(KINDS) as Kind[]).flatMap((kind) =>
      contenders.map(({ name }) => ({
        kind,
        name,
        p50Ms: spreadOf(of(name, kind, 'p50Ms')),
        p99Ms: spreadOf(of(name, kind, 'p99Ms')),
        addedMs: added(name, kind, 'p50Ms'),
      })),
    );
    return {
      data: { count, rounds: all, rows },
      bars: quick
        ? []
        : (Object.keys(KINDS) as Kind[]).map((kind) => ({
            what: `time to the first byte on ${KINDS[kind]}, added to a bare net server, p50`,
            measured: added('wirefault', kind, 'p50Ms'),
            bar: { atMost: 0.3 },
            unit: 'ms',
            digits: 3,
          })),
      charts: [
        {
          name: 'first-byte',
          title: 'Time to the first byte, p50',
          axis: 'milliseconds',
          rows: rows.map(({ kind, name, p50Ms }) => ({ name, group: KINDS[kind], value: p50Ms })),
        },
      ],
      tables: [
        {
          title: `First byte: ${count} requests one after the other; median (min..max) of ${all} rounds, in milliseconds`,
          columns: ['', 'p50', 'added to bare net', 'p99'],
          rows: rows.map(({ kind, name, p50Ms, p99Ms, addedMs }) => [
            `${name}, ${KINDS[kind]}`,
            shown(p50Ms, 3),
            shown(addedMs, 3),
            shown(p99Ms, 3),
          ]),
        },
      ],
    };
  });
}
