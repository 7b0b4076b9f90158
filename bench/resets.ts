import net from 'node:net';
import { type Reading, type ReadResult, startReaders } from '../test/support/readers.js';
import { resetTrials } from '../test/support/reset-trials.js';
import { type BenchOptions, numeral, progress, type Report } from './harness/stats.js';

/** Does everything that was written before a reset arrive, and does the client see that it was a reset? */
type Strategy = 'same tick' | 'write callback' | 'after 10 ms' | 'settled';

interface Cell {
  readonly trials: number;
  /** Trials in which the reader got less than was written. */
  readonly lossy: number;
  /** Trials in which the reader saw a clean end instead of a reset. */
  readonly masked: number;
}

const BODIES = [1, 1_000, 100_000, 5_000_000];
const READINGS: readonly Reading[] = ['fast', 'slow'];
const CONCURRENCY = 8;

/** Resets a socket that was just given `body`. */
const UNPROVEN: Readonly<Record<Exclude<Strategy, 'settled'>, (socket: net.Socket, body: Buffer) => void>> = {
  'same tick': (socket, body) => {
    socket.write(body);
    socket.resetAndDestroy();
  },
  'write callback': (socket, body) => {
    socket.write(body, () => socket.resetAndDestroy());
  },
  'after 10 ms': (socket, body) => {
    socket.write(body, () => setTimeout(() => socket.resetAndDestroy(), 10));
  },
};

async function unproven(
  strategy: keyof typeof UNPROVEN,
  bodyBytes: number,
  reading: Reading,
  count: number,
): Promise<Cell> {
  const body = Buffer.alloc(bodyBytes, 'x');
  const server = net.createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => UNPROVEN[strategy](socket, body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const readers = startReaders();
  try {
    const requests = Array.from({ length: count }, () => 'go');
    const task = { port: address.port, host: '127.0.0.1', reading, requests, concurrency: CONCURRENCY };
    return cellOf(await readers.run(task), () => bodyBytes);
  } finally {
    readers.stop();
    server.close();
  }
}

async function settled(bodyBytes: number, reading: Reading, count: number): Promise<Cell> {
  const trials = await resetTrials({ count, bodyBytes, reading });
  return cellOf(
    trials.map(({ got }) => got),
    (n) => trials[n]?.ledger.bytes.written ?? 0,
  );
}

function cellOf(results: readonly ReadResult[], writtenOf: (n: number) => number): Cell {
  return {
    trials: results.length,
    lossy: results.filter(({ received }, n) => received < writtenOf(n)).length,
    masked: results.filter(({ end }) => end === 'fin').length,
  };
}

function percent(count: number, trials: number): string {
  return numeral((100 * count) / trials, 1);
}

export async function resets({ quick }: BenchOptions): Promise<Report> {
  const strategies: readonly Strategy[] = ['same tick', 'write callback', 'after 10 ms', 'settled'];
  const data: Record<string, Cell> = {};
  const rows: string[][] = [];
  for (const bodyBytes of BODIES) {
    // 5 MB take their time; a share of the trials tells enough here, the slow tests run them all.
    const count = quick ? 10 : bodyBytes > 1_000_000 ? 200 : 1000;
    for (const reading of READINGS) {
      progress(`resets: ${bodyBytes} bytes, ${reading} reader`);
      const cells: string[] = [];
      for (const strategy of strategies) {
        const cell =
          strategy === 'settled'
            ? await settled(bodyBytes, reading, count)
            : await unproven(strategy, bodyBytes, reading, count);
        data[`${bodyBytes}/${reading}/${strategy}`] = cell;
        cells.push(`${percent(cell.lossy, cell.trials)} / ${percent(cell.masked, cell.trials)}`);
      }
      rows.push([`${numeral(bodyBytes)} B, ${reading}, ${count} trials`, ...cells]);
    }
  }
  const title = 'Resets: trials with any loss / trials whose reader saw a clean end, in percent';
  const notes = [
    'settled is wirefault: it waits until the client has read what was written. The others are bare net servers.',
    'Its body has a head and some JSON around the bytes.',
  ];
  return { tables: [{ title, columns: ['body and reader', ...strategies], rows, notes }], data };
}
