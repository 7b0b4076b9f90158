import { END_OF_ANSWER, REQUEST } from './answer.js';
import { connect } from './client-socket.js';
import { percentile } from './stats.js';

/** One paced answer on each of `streams` connections, begun within `spreadMs`. */
export interface Watch {
  readonly kind: 'watch';
  readonly port: number;
  readonly streams: number;
  readonly spreadMs: number;
  /** What should lie between two events. */
  readonly paceMs: number;
  /** Gaps of each stream. */
  readonly gaps: number;
  /** Events before the first pause that come together with the one after them. */
  readonly together: number;
}

/** In milliseconds. */
export interface Watched {
  /** How far gaps between two events are from the pace. */
  readonly gapErrors: { readonly p50: number; readonly p99: number; readonly max: number };
  /** Of each stream: by how much its last paced event is later than the pace says, counted from its first. */
  readonly endDrifts: readonly number[];
}

const END = Buffer.from(END_OF_ANSWER);

/** Connects under way at a time: the backlog of node:http servers is 511. */
const CONNECTS_UNDER_WAY = 128;

/** Between the last connect and the first request. */
const REST_MS = 300;

export async function watch(command: Watch): Promise<Watched> {
  const { streams, spreadMs, paceMs, gaps, together } = command;
  const opened: Stream[] = [];
  while (opened.length < streams) {
    const wave = Math.min(CONNECTS_UNDER_WAY, streams - opened.length);
    opened.push(...(await Promise.all(Array.from({ length: wave }, () => open(command)))));
  }
  const begun = performance.now() + REST_MS;
  const arrivals = await Promise.all(opened.map(({ ask }, n) => ask(begun + (n * spreadMs) / streams)));
  const errors = new Float64Array(streams * gaps);
  arrivals.forEach((times, stream) => {
    for (let n = 0; n < gaps; n++) {
      const gapMs = (times[together + n + 1] ?? Number.NaN) - (times[together + n] ?? Number.NaN);
      errors[stream * gaps + n] = Math.abs(gapMs - paceMs);
    }
  });
  errors.sort();
  const sorted = Array.from(errors);
  return {
    gapErrors: { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), max: sorted.at(-1) ?? Number.NaN },
    endDrifts: arrivals.map(
      (times) => (times[together + gaps] ?? Number.NaN) - (times[together] ?? Number.NaN) - gaps * paceMs,
    ),
  };
}

interface Stream {
  /** Asks at `startMs`. When each event came. */
  ask(startMs: number): Promise<Float64Array>;
}

/** Resolves with the connection. */
function open({ port, gaps, together }: Watch): Promise<Stream> {
  // [DONE] comes at once behind the last.
  const expected = together + gaps + 2;
  const arrivals = new Float64Array(expected);
  let events = 0;
  return new Promise((resolve, reject) => {
    let onEnd: (() => void) | undefined;
    let fail = reject;
    const socket = connect(port, (bytes) => {
      const now = performance.now();
      for (let at = bytes.indexOf('data: '); at >= 0; at = bytes.indexOf('data: ', at + 6)) arrivals[events++] = now;
      if (!bytes.includes(END)) return;
      if (events === expected) onEnd?.();
      else fail(new Error(`a stream of ${events} events; expected ${expected}`));
      socket.destroy();
    });
    socket.on('error', (error) => fail(error));
    socket.on('close', () => fail(new Error('the server closed a connection')));
    socket.once('connect', () =>
      resolve({
        ask: (startMs) =>
          new Promise((told, refused) => {
            onEnd = () => told(arrivals);
            fail = refused;
            setTimeout(() => socket.write(REQUEST), startMs - performance.now());
          }),
      }),
    );
  });
}
