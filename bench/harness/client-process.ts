import net from 'node:net';
import { END_OF_ANSWER, REQUEST } from './answer.js';

/** The client of all benches: raw sockets in a process of its own, one command at a time. */
export type Command =
  /** Requests one after the other on each of `connections`, for `durationMs`. */
  | { readonly kind: 'load'; readonly port: number; readonly connections: number; readonly durationMs: number }
  /** Opens connections, sends a request on each, and waits until each has a head. */
  | { readonly kind: 'hold'; readonly port: number; readonly connections: number }
  /** Ends what `hold` opened. */
  | { readonly kind: 'release' }
  /** One answer on each of `streams` connections, begun within `spreadMs`; the events' times of arrival. */
  | { readonly kind: 'watch'; readonly port: number; readonly streams: number; readonly spreadMs: number };

export interface Load {
  readonly requests: number;
  readonly elapsedMs: number;
}

export interface Held {
  readonly elapsedMs: number;
}

export interface Watched {
  /** For each stream, when each of its events came, in milliseconds. */
  readonly arrivals: readonly (readonly number[])[];
}

/** Connects under way at a time: the backlog of node:http servers is 511. */
const CONNECTS_UNDER_WAY = 128;

const HELD_TIMEOUT_MS = 30_000;

const END = Buffer.from(END_OF_ANSWER);

// All sockets read into the same memory: one reads at a time, and nothing of it is kept.
const buffer = Buffer.allocUnsafe(65_536);

function connect(port: number, onBytes: (bytes: Buffer) => void): net.Socket {
  const callback = (length: number): boolean => {
    onBytes(buffer.subarray(0, length));
    return true;
  };
  return net.connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } });
}

function load({ port, connections, durationMs }: Command & { kind: 'load' }): Promise<Load> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    let requests = 0;
    let open = connections;
    // The client never sleeps: the kernel charges the waking of a sleeping client to the server's write (measured here:
    // 20 µs a request), and a server that keeps its client busy, as the ceiling does, would be spared that.
    const stayAwake = (): void => {
      if (open > 0) setImmediate(stayAwake);
    };
    stayAwake();
    const finish = (): void => resolve({ requests, elapsedMs: performance.now() - begun });
    for (let n = 0; n < connections; n++) {
      let atStart = true;
      /** The last bytes of a read that was shorter than the end that is looked for. */
      let tail = Buffer.alloc(0);
      let done = false;
      const socket = connect(port, (bytes) => {
        if (atStart && bytes.length > 9 && bytes[9] !== 0x32) reject(new Error(`not a 200: ${bytes.toString()}`));
        atStart = false;
        const last = bytes.length >= END.length ? bytes : Buffer.concat([tail, bytes]);
        tail = Buffer.alloc(0);
        if (!last.subarray(-END.length).equals(END)) {
          tail = Buffer.from(last.subarray(-END.length));
          return;
        }
        requests++;
        atStart = true;
        if (performance.now() - begun < durationMs) {
          socket.write(REQUEST);
          return;
        }
        done = true;
        socket.destroy();
        if (--open === 0) finish();
      });
      socket.on('error', reject);
      socket.on('close', () => done || reject(new Error('the server closed a connection')));
      socket.write(REQUEST);
    }
  });
}

const held: net.Socket[] = [];

function hold({ port, connections }: Command & { kind: 'hold' }): Promise<Held> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    let opened = 0;
    let answered = 0;
    const timer = setTimeout(
      () => reject(new Error(`${answered} of ${connections} connections have a head`)),
      HELD_TIMEOUT_MS,
    );
    const next = (): void => {
      if (opened === connections) return;
      opened++;
      let waiting = true;
      const socket = connect(port, () => {
        if (!waiting) return;
        waiting = false;
        if (++answered === connections) {
          clearTimeout(timer);
          resolve({ elapsedMs: performance.now() - begun });
        } else next();
      });
      socket.on('error', reject);
      socket.write(REQUEST);
      held.push(socket);
    };
    for (let n = 0; n < CONNECTS_UNDER_WAY; n++) next();
  });
}

async function release(): Promise<object> {
  // Resets leave no TIME_WAIT behind.
  const closed = held.splice(0).map(
    (socket) =>
      new Promise((resolve) => {
        socket.once('close', resolve);
        socket.resetAndDestroy();
      }),
  );
  await Promise.all(closed);
  return {};
}

async function watch({ port, streams, spreadMs }: Command & { kind: 'watch' }): Promise<Watched> {
  const begun = performance.now();
  const each = Array.from({ length: streams }, (_, n) => watchOne(port, begun + 300 + (n * spreadMs) / streams));
  return { arrivals: await Promise.all(each) };
}

/** Connects now, asks at `startMs`. */
function watchOne(port: number, startMs: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const arrivals: number[] = [];
    const socket = connect(port, (bytes) => {
      const now = Math.round(performance.now() * 1000) / 1000;
      for (let at = bytes.indexOf('data: '); at >= 0; at = bytes.indexOf('data: ', at + 6)) arrivals.push(now);
      if (!bytes.includes(END)) return;
      resolve(arrivals);
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
    setTimeout(() => socket.write(REQUEST), startMs - performance.now());
  });
}

function run(command: Command): Promise<object> {
  switch (command.kind) {
    case 'load':
      return load(command);
    case 'hold':
      return hold(command);
    case 'release':
      return release();
    case 'watch':
      return watch(command);
    default:
      return command satisfies never;
  }
}

process.on('message', async (command: Command) => {
  try {
    process.send?.(await run(command));
  } catch (thrown) {
    process.send?.({ failed: String(thrown) });
  }
});
process.on('disconnect', () => process.exit(0));
