import type { Socket } from 'node:net';
import { REQUEST } from './answer.js';
import { connect } from './client-socket.js';

/** Opens connections, sends a request on each, and waits until each has a head. */
export interface Hold {
  readonly kind: 'hold';
  readonly port: number;
  readonly connections: number;
  /** A loopback address: each has ports of its own. */
  readonly source?: string;
}

export interface Held {
  readonly elapsedMs: number;
}

/** Connects under way at a time: the backlog of node:http servers is 511. */
const CONNECTS_UNDER_WAY = 128;

const HELD_TIMEOUT_MS = 300_000;

const held: Socket[] = [];

export function hold({ port, connections, source }: Hold): Promise<Held> {
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
      const onBytes = (): void => {
        if (!waiting) return;
        waiting = false;
        if (++answered === connections) {
          clearTimeout(timer);
          resolve({ elapsedMs: performance.now() - begun });
        } else next();
      };
      const socket = connect(port, onBytes, source);
      socket.on('error', reject);
      socket.write(REQUEST);
      held.push(socket);
    };
    for (let n = 0; n < Math.min(CONNECTS_UNDER_WAY, connections); n++) next();
  });
}

/** Ends what `hold` opened. */
export async function release(): Promise<object> {
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
