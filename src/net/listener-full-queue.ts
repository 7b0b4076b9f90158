import { once } from 'node:events';
import net from 'node:net';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { WirefaultError } from '../errors.js';
import { addressBytes } from '../proof/address.js';
import { type Barrier, type BarrierMaker, type BoundPort, selfAddress } from './listener-barrier.js';

/**
 * Connects hang since the accept queue is full: Linux drops a SYN then (`tcp_conn_request` in net/ipv4/tcp_input.c).
 * Node accepts whatever comes, so a thread listens in our place and stands still in `Atomics.wait`; connections of its
 * own fill the queue, which the kernel shows as the `rx_queue` of the listening socket in /proc/net/tcp (proc(5)).
 *
 * Two moments are not covered. Between our closing the port and the thread's listening connects are refused, for
 * 0.14 ms (median of 100; 3 ms the first time), and so they are at the end until the port is bound again. Connections
 * that wait to be accepted at the beginning are reset, as by every closing of a port. Our own thread waits until the
 * queue is full: 2 ms (median), most of it for one reading of /proc/net/tcp, and 15 ms the first time.
 */

/** The queue is full with one more than this (`sk_acceptq_is_full`). Of 0, Node makes its default. */
const BACKLOG = 1;
/** Some milliseconds, on a working machine. */
const LIMIT_MS = 5000;
/** Of the shared memory: the thread has answered; it may go on. */
const ANSWERED = 0;
const RELEASED = 1;

/** What the thread is told. */
interface Order {
  readonly host: string;
  readonly port: number;
  /** Where its own connects go. */
  readonly self: string;
  /** The file with the state of its socket, and how the socket's address stands there. */
  readonly table: string;
  readonly row: string;
}

/** `undefined` for a full queue. */
interface Answer {
  readonly failed: string | undefined;
}

/**
 * A string, since a file would have to be found both from the sources and from the compiled program. Nothing in it goes
 * back to the event loop, which would accept, between `listen` and the end: connects are made by `process.nextTick`.
 */
const THREAD = `
const net = require('node:net');
const { readFileSync } = require('node:fs');
const { link, signal } = require('node:worker_threads').workerData;
const pause = new Int32Array(new SharedArrayBuffer(4));

function answer(failed) {
  link.postMessage({ failed });
  Atomics.store(signal, ${ANSWERED}, 1);
  Atomics.notify(signal, ${ANSWERED});
}

/** LISTEN is state 0A; the queues stand as tx_queue:rx_queue, in hexadecimal. */
function queued({ table, row }) {
  for (const line of readFileSync(table, 'latin1').split('\\n')) {
    const [, local, , state, queues] = line.trim().split(/\\s+/);
    if (local === row && state === '0A') return Number.parseInt(queues.split(':')[1], 16);
  }
  return 0;
}

function isFull(order) {
  const limit = performance.now() + ${LIMIT_MS / 2};
  while (queued(order) <= ${BACKLOG}) {
    if (performance.now() > limit) return false;
    Atomics.wait(pause, 0, 0, 1);
  }
  return true;
}

link.on('message', (order) => {
  const server = net.createServer();
  server.once('error', (error) => answer(error.message));
  server.listen({ host: order.host, port: order.port, backlog: ${BACKLOG} }, () => {
    const fillers = [];
    while (fillers.length <= ${BACKLOG}) fillers.push(net.connect(order.port, order.self).on('error', () => {}));
    process.nextTick(() => {
      let failed = 'its accept queue could not be filled';
      try {
        if (isFull(order)) failed = undefined;
      } catch (error) {
        failed = error.message;
      }
      answer(failed);
      if (failed === undefined) Atomics.wait(signal, ${RELEASED}, 0);
      // The listener first: the kernel then resets what is in its queue, and leaves no TIME_WAIT.
      server.close();
      for (const filler of fillers) filler.destroy();
      link.postMessage('closed');
    });
  });
});
`;

/** Starts the thread, which then waits without holding the process. */
export async function fullQueues(): Promise<BarrierMaker> {
  const { port1: link, port2 } = new MessageChannel();
  const signal = new Int32Array(new SharedArrayBuffer(8));
  // Without our own options: a loader that they name is of no use to it, and would be loaded.
  const worker = new Worker(THREAD, {
    eval: true,
    execArgv: [],
    workerData: { link: port2, signal },
    transferList: [port2],
  });
  await once(worker, 'online');
  worker.on('error', () => {}); // it doesn't answer any more: told by `make`
  const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  worker.unref();
  return {
    make: (bound) => {
      const barrier = fullQueue(link, signal, bound);
      // Its listener went with it.
      return { lift: () => Promise.race([barrier.lift(), gone]) };
    },
    close: () => worker.terminate(),
  };
}

interface ThreadBarrier extends Barrier {
  lift(): Promise<void>;
}

function fullQueue(link: MessagePort, signal: Int32Array, { server, address, port }: BoundPort): ThreadBarrier {
  signal.fill(0);
  server.close();
  const order: Order = { host: address, port, self: selfAddress(address), ...socketRow(address, port) };
  link.postMessage(order);
  // In this very tick: what is written after it must not reach a client before the port is shut.
  Atomics.wait(signal, ANSWERED, 0, LIMIT_MS);
  const answer: Answer | undefined = receiveMessageOnPort(link)?.message;
  if (!answer || answer.failed !== undefined) {
    const why = answer?.failed ?? 'the thread that was to hold it gave no answer';
    throw new WirefaultError('window_impossible', `blackhole: port ${port}: ${why}`);
  }
  return {
    lift: () => {
      const closed = new Promise<void>((resolve) => link.once('message', () => resolve()));
      Atomics.store(signal, RELEASED, 1);
      Atomics.notify(signal, RELEASED);
      return closed;
    },
  };
}

/** The kernel prints each 32-bit word of an address in the byte order of the host. */
function socketRow(address: string, port: number): Pick<Order, 'table' | 'row'> {
  const plain = addressBytes(address) ?? Buffer.alloc(4);
  const mapped = net.isIPv6(address) && plain.length === 4;
  const words = Buffer.from(plain).swap32().toString('hex').toUpperCase();
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  return {
    table: net.isIPv6(address) ? '/proc/net/tcp6' : '/proc/net/tcp',
    row: `${mapped ? '0000000000000000FFFF0000' : ''}${words}:${hexPort}`,
  };
}
