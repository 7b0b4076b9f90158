import net from 'node:net';
import type { FaultServer } from '../src/fault-server.js';
import { DELTAS, END_OF_ANSWER, REQUEST, textOf } from './harness/answer.js';
import { answerEach } from './harness/bare-servers.js';
import { type BenchOptions, numeral, percentile, progress, type Report, shown, spreadOf } from './harness/stats.js';

/**
 * Accept, refuse, listen again, over and over on one port: is every answer whole that should be, is every connect refused
 * that should be, and how late does the port listen again? Beside it a bare server that is closed and listens again after
 * the same time. One process, which has nothing else to do.
 */
const WINDOW_MS = 4;

interface Port {
  readonly port: number;
  /** Closes the port for `WINDOW_MS`. Resolves when it listens again. */
  refuse(): Promise<void>;
  close(): Promise<void>;
}

interface Cycles {
  /** How much later than `WINDOW_MS` the port listened again, of each cycle. */
  readonly lateMs: readonly number[];
  /** Answers that weren't whole, and connects that should have been refused and weren't. */
  readonly lost: number;
}

async function wirefault(): Promise<Port> {
  const built = new URL('../dist/index.js', import.meta.url).href;
  const { startFaultServer } = (await import(built)) as typeof import('../src/index.js');
  const server: FaultServer = await startFaultServer({ successText: textOf(DELTAS) });
  return {
    port: server.port,
    refuse: () => {
      server.refuse(WINDOW_MS);
      return server.whenListening();
    },
    close: () => server.close(),
  };
}

async function bare(answer: Buffer): Promise<Port> {
  const server = net.createServer({ noDelay: true }, (socket) => answerEach(socket, () => socket.write(answer)));
  const listen = (at: number): Promise<void> =>
    new Promise((resolve) => server.listen({ port: at, host: '127.0.0.1' }, resolve));
  await listen(0);
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    port,
    refuse: async () => {
      server.close();
      await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
      await listen(port);
    },
    close: async () => void server.close(),
  };
}

/** A connection of the client's, for one answer after the other. */
interface Asker {
  /** The answer, or what came instead. */
  ask(): Promise<Buffer | string>;
  end(): void;
}

function asker(port: number): Asker {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
  let parts: Buffer[] = [];
  let failed: string | undefined;
  let told: ((answer: Buffer | string) => void) | undefined;
  const fail = (how: string): void => {
    failed ??= how;
    told?.(failed);
  };
  socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
  socket.on('close', () => fail('closed'));
  socket.on('data', (bytes) => {
    parts.push(bytes);
    if (bytes.includes(END_OF_ANSWER)) told?.(Buffer.concat(parts));
  });
  return {
    ask: () =>
      new Promise((resolve) => {
        parts = [];
        told = resolve;
        if (failed !== undefined) resolve(failed);
        else socket.write(REQUEST);
      }),
    // Resets leave no TIME_WAIT behind.
    end: () => socket.resetAndDestroy(),
  };
}

async function cyclesOf({ port, refuse }: Port, count: number): Promise<Cycles> {
  const lateMs: number[] = [];
  let lost = 0;
  const kept = asker(port);
  const whole = async (by: Asker): Promise<void> => {
    if (typeof (await by.ask()) === 'string') lost++;
  };
  const once = async (): Promise<void> => {
    const fresh = asker(port);
    await whole(fresh);
    fresh.end();
  };
  await whole(kept);
  for (let cycle = 0; cycle < count; cycle++) {
    const begun = performance.now();
    const again = refuse().then(() => lateMs.push(performance.now() - begun - WINDOW_MS));
    const refused = asker(port);
    if ((await refused.ask()) !== 'ECONNREFUSED') lost++;
    refused.end();
    // What is open lives on.
    await whole(kept);
    await again;
    await once();
  }
  kept.end();
  return { lateMs, lost };
}

export async function listening({ quick, rounds = 5 }: BenchOptions): Promise<Report> {
  const count = quick ? 20 : 1000 / rounds;
  const all = quick ? 1 : rounds;
  const ports = {
    wirefault: await wirefault(),
    'bare net': await bare(Buffer.from(`HTTP/1.1 200 OK${END_OF_ANSWER}`)),
  };
  const names = Object.keys(ports) as (keyof typeof ports)[];
  const results = new Map<string, Cycles[]>();
  for (let round = 1; round <= all; round++) {
    for (const name of names) results.set(name, [...(results.get(name) ?? []), await cyclesOf(ports[name], count)]);
    progress(`listening: round ${round} of ${all}, ${count} cycles each`);
  }
  for (const name of names) await ports[name].close();
  const rows = names.map((name) => {
    const cycles = results.get(name) ?? [];
    const share = (part: number) => spreadOf(cycles.map(({ lateMs }) => percentile(lateMs, part)));
    return {
      name,
      cycles: count * all,
      lost: cycles.reduce((sum, { lost }) => sum + lost, 0),
      p50Ms: share(0.5),
      p99Ms: share(0.99),
    };
  });
  const [own] = rows;
  return {
    data: { windowMs: WINDOW_MS, rounds: all, rows },
    bars:
      quick || !own
        ? []
        : [
            {
              what: `answers and refusals lost in ${numeral(own.cycles)} cycles`,
              measured: spreadOf([own.lost]),
              bar: { atMost: 0 },
              unit: '',
              digits: 0,
            },
            {
              what: 'the port listens again so long after its time, p50',
              measured: own.p50Ms,
              bar: { atMost: 2 },
              unit: 'ms',
              digits: 2,
            },
          ],
    tables: [
      {
        title: `Listening: ${numeral(count * all)} cycles of accept, refuse for ${WINDOW_MS} ms, listen again; median (min..max) of ${all} rounds`,
        columns: ['', 'lost', 'late p50 ms', 'p99 ms'],
        rows: rows.map((row) => [row.name, String(row.lost), shown(row.p50Ms, 2), shown(row.p99Ms, 2)]),
        notes: [
          'Each cycle: a connect in the window has to be refused, a connection from before has to get its answer, and a ' +
            'connect right behind the window too. Timers of Node fire up to a millisecond late by themselves.',
        ],
      },
    ],
  };
}
