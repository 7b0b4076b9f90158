import { END_OF_ANSWER, REQUEST } from './answer.js';
import { type Hold, hold, release } from './client-hold.js';
import { connect } from './client-socket.js';
import { type Drain, drain, type Time, time } from './client-time.js';
import { type Watch, watch } from './client-watch.js';

/** The client of all benches: raw sockets in a process of its own, one command at a time. */
type Command = LoadCommand | Hold | { readonly kind: 'release' } | Watch | Time | Drain;

/** Requests one after the other on each of `connections`, for `durationMs`. */
interface LoadCommand {
  readonly kind: 'load';
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
}

export interface Load {
  readonly requests: number;
  readonly elapsedMs: number;
}

const END = Buffer.from(END_OF_ANSWER);

function load({ port, connections, durationMs }: LoadCommand): Promise<Load> {
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
    case 'time':
      return time(command);
    case 'drain':
      return drain(command);
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
