import { END_OF_ANSWER, REQUEST } from './answer.js';
import { connect } from './client-socket.js';
import { percentile } from './stats.js';

/** Requests one after the other, each timed from its write to the first byte of its answer. */
export interface Time {
  readonly kind: 'time';
  readonly port: number;
  readonly count: number;
  /** A connection for each. */
  readonly fresh: boolean;
}

export interface Timed {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** One answer, of which nothing is kept. */
export interface Drain {
  readonly kind: 'drain';
  readonly port: number;
  /** It is over with so many, whatever frames them. */
  readonly leastBytes: number;
}

export interface Drained {
  readonly bytes: number;
  /** From the write of the request to the last byte. */
  readonly elapsedMs: number;
}

const END = Buffer.from(END_OF_ANSWER);

export async function time({ port, count, fresh }: Time): Promise<Timed> {
  const times: number[] = [];
  if (fresh) for (let n = 0; n < count; n++) times.push(...(await timesOf(port, 1)));
  else times.push(...(await timesOf(port, count)));
  return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) };
}

/** `count` answers on one connection. */
function timesOf(port: number, count: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const times: number[] = [];
    let askedMs = 0;
    let waiting = false;
    /** The last bytes of what came, where an end may be in two reads. */
    let tail = Buffer.alloc(0);
    const ask = (): void => {
      waiting = true;
      tail = Buffer.alloc(0);
      askedMs = performance.now();
      socket.write(REQUEST);
    };
    const socket = connect(port, (bytes) => {
      if (waiting) times.push(performance.now() - askedMs);
      waiting = false;
      tail = Buffer.concat([tail, bytes]).subarray(-END.length);
      if (!tail.equals(END)) return;
      if (times.length < count) return ask();
      resolve(times);
      socket.resetAndDestroy();
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
    socket.once('connect', ask);
  });
}

export function drain({ port, leastBytes }: Drain): Promise<Drained> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    let begun = 0;
    const socket = connect(port, (read) => {
      bytes += read.length;
      if (bytes < leastBytes) return;
      resolve({ bytes, elapsedMs: performance.now() - begun });
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
    socket.once('connect', () => {
      begun = performance.now();
      socket.write(REQUEST);
    });
  });
}
