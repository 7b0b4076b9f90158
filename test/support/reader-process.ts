import net from 'node:net';

/**
 * A process of readers: clients that know nothing of wirefault, and count what they get. It talks to its parent by
 * messages. Each client sends one request, reads in its way, and tells how many bytes it got and how it ended.
 */
export type Reading = 'fast' | 'slow' | 'paused';

export interface ReadTask {
  readonly port: number;
  readonly host: string;
  readonly reading: Reading;
  /** The requests, one for each client. */
  readonly requests: readonly string[];
  readonly concurrency: number;
}

export interface ReadResult {
  readonly received: number;
  readonly end: 'fin' | 'rst';
}

/** A slow reader takes this much, then lets the loop turn for a millisecond. */
const SLOW_STEP_BYTES = 262_144;

/** Clients that wait for the parent to say that everything has happened. */
const paused: (() => void)[] = [];

function read(task: ReadTask, request: string): Promise<ReadResult> {
  return new Promise((resolve) => {
    const socket = net.connect({ port: task.port, host: task.host, noDelay: true });
    let seen = 0;
    const end = (how: ReadResult['end']): void => {
      // What Node took out of the kernel. A paused stream drops what it has buffered when a reset comes (measured).
      const received = socket.bytesRead;
      socket.destroy();
      resolve({ received, end: how });
    };
    socket.on('end', () => end('fin'));
    socket.on('error', () => end('rst'));
    socket.on('connect', () => socket.write(request));
    switch (task.reading) {
      case 'fast':
        socket.resume();
        break;
      case 'slow':
        socket.on('data', (bytes) => {
          seen += bytes.length;
          if (seen % SLOW_STEP_BYTES < bytes.length) {
            socket.pause();
            setTimeout(() => socket.resume(), 1);
          }
        });
        break;
      case 'paused':
        paused.push(() => socket.resume());
        break;
      default:
        task.reading satisfies never;
    }
  });
}

async function run(task: ReadTask): Promise<ReadResult[]> {
  const results: ReadResult[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let n = next++; n < task.requests.length; n = next++) {
      results[n] = await read(task, task.requests[n] ?? '');
    }
  };
  await Promise.all(Array.from({ length: task.concurrency }, client));
  return results;
}

process.on('message', async (message: ReadTask | 'resume') => {
  if (message === 'resume') {
    for (const resume of paused.splice(0)) resume();
    return;
  }
  process.send?.(await run(message));
});
