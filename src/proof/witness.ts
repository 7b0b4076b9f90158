import { createHash } from 'node:crypto';
import net from 'node:net';
import { errnoOf, messageOf, WirefaultError } from '../errors.js';
import { endpointOf } from './endpoints.js';
import type { WitnessEnd, WitnessRecord, WitnessSegment } from './witness-record.js';

/**
 * A raw client: it sends bytes, keeps every byte that comes back with its time, and how the connection ended.
 * It knows nothing of the protocol; `requestBytes` is there for those who do.
 */
export interface WitnessOptions {
  readonly host: string;
  readonly port: number;
  /** What the record names as the place that was asked. */
  readonly url: string;
  /** The request as it goes on the wire. */
  readonly request: Buffer;
  /** The most that is read in a second; absent: as fast as it comes. */
  readonly readBytesPerSecond?: number;
  /** Stops reading once this many bytes have come; 0: before the first. */
  readonly pauseAtBytes?: number;
  /** How long that lasts; absent: for ever. */
  readonly pauseMs?: number;
  /** Shuts the sending side after the request. */
  readonly halfClose?: boolean;
  /** From the connect to the end; absent or 0: no limit. */
  readonly timeoutMs?: number;
  /** Closes the connection; the record ends with `closed`. */
  readonly signal?: AbortSignal;
  /** Called for each segment as it comes, with the number of bytes so far. */
  onSegment?(segment: WitnessSegment, receivedBytes: number): void;
}

const READ_BYTES = 65_536;
/** A limited speed is kept in steps of this length. */
const STEPS_PER_SECOND = 20;

/**
 * Resolves when the connection has ended, whatever the end.
 * @throws WirefaultError `witness_failed` where no connection can be tried (an unknown host, no route)
 */
export function witness(options: WitnessOptions): Promise<WitnessRecord> {
  const { readBytesPerSecond, pauseAtBytes, pauseMs, timeoutMs = 0, halfClose = false, signal } = options;
  const startedAt = new Date();
  const startMs = performance.now();
  const sinceStart = (): number => Math.round((performance.now() - startMs) * 1000) / 1000;
  const segments: WitnessSegment[] = [];
  const space = Buffer.alloc(
    readBytesPerSecond === undefined
      ? READ_BYTES
      : Math.max(1, Math.min(READ_BYTES, Math.floor(readBytesPerSecond / STEPS_PER_SECOND))),
  );
  let received = 0;
  let paused = false;
  /** Until a pause is over, or its turn comes at a limited speed. */
  let stopped = pauseAtBytes === 0;
  let waiting: NodeJS.Timeout | undefined;
  let outcome: Pick<WitnessRecord, 'end' | 'stopped' | 'atMs'> | undefined;
  let failure: Error | undefined;
  let peers = { local: endpointOf(undefined, undefined), remote: endpointOf(undefined, undefined) };

  /** Each read ends exactly where the pause begins. */
  const nextSpace = (): Buffer => {
    const left = pauseAtBytes === undefined ? 0 : pauseAtBytes - received;
    return left > 0 ? space.subarray(0, left) : space;
  };

  function take(count: number, bytes: Uint8Array): boolean {
    const segment = { atMs: sinceStart(), bytes: Buffer.from(bytes.subarray(0, count)) };
    segments.push(segment);
    received += count;
    options.onSegment?.(segment, received);
    readOn();
    // Reading always stops in between. While libuv reads, it takes a hang-up that comes together with data for an end,
    // and a reset looks like a FIN (measured: 2 of 3 resets right behind the data; with the stop none of 900).
    return false;
  }

  function readOn(): void {
    if (pauseAtBytes !== undefined && received >= pauseAtBytes && !paused) {
      paused = true;
      stopped = true;
      if (pauseMs !== undefined) waiting = setTimeout(readOn, pauseMs);
      return;
    }
    const dueMs = readBytesPerSecond === undefined ? 0 : startMs + (received / readBytesPerSecond) * 1000;
    const inMs = dueMs - performance.now();
    stopped = inMs > 0;
    // A timer can be early by a millisecond, so the time is looked at once more.
    if (stopped) waiting = setTimeout(readOn, inMs);
    else setImmediate(resume);
  }

  const resume = (): void => {
    stopped = false;
    if (!socket.destroyed) socket.resume();
  };

  const socket = net.connect({
    host: options.host,
    port: options.port,
    allowHalfOpen: true,
    noDelay: true,
    // Bytes go from the kernel into the record at once; none wait in a stream's buffer, which a reset would empty.
    onread: { buffer: nextSpace, callback: take },
  });
  if (pauseAtBytes === 0) {
    socket.pause();
    socket.once('connect', readOn);
  }

  const finish = (end: WitnessEnd): void => {
    outcome ??= { end, stopped, atMs: sinceStart() };
    socket.destroy();
  };
  const timer = timeoutMs > 0 ? setTimeout(finish, timeoutMs, 'timeout') : undefined;
  const onAbort = (): void => finish('closed');
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });

  socket.once('connect', () => {
    peers = {
      local: endpointOf(socket.localAddress, socket.localPort),
      remote: endpointOf(socket.remoteAddress, socket.remotePort),
    };
    if (halfClose) socket.end(options.request);
    else socket.write(options.request);
  });
  socket.once('end', () => finish('fin'));
  socket.once('error', (error) => {
    const end = endOf(error, peers.local.port !== null);
    if (end === undefined) failure = error;
    else finish(end);
  });

  return new Promise((resolve, reject) => {
    socket.once('close', () => {
      clearTimeout(timer);
      clearTimeout(waiting);
      signal?.removeEventListener('abort', onAbort);
      if (failure) {
        const message = `witness: can't connect to ${options.host} port ${options.port}: ${messageOf(failure)}`;
        reject(new WirefaultError('witness_failed', message, { cause: failure }));
        return;
      }
      resolve({
        url: options.url,
        ...peers,
        requestSha256: createHash('sha256').update(options.request).digest('hex'),
        halfClose,
        startedAt: startedAt.toISOString(),
        segments,
        ...(outcome ?? { end: 'closed', stopped, atMs: sinceStart() }),
      });
    });
  });
}

/** `undefined` where there was no connection to end. */
function endOf(error: Error, connected: boolean): WitnessEnd | undefined {
  const errno = errnoOf(error);
  if (errno === 'ECONNREFUSED') return 'refused';
  if (connected && errno === 'ETIMEDOUT') return 'timeout';
  // A reset can come while the kernel still makes the connection, and while the request is sent.
  return connected || errno === 'ECONNRESET' ? 'rst' : undefined;
}

export interface HttpRequest {
  readonly url: URL;
  /** Default: POST with a body, else GET. */
  readonly method?: string;
  /** These take the place of the ones that are there without them. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: Buffer;
}

/** An HTTP/1.1 request on a connection of its own, with a body of JSON where there is one. */
export function requestBytes({ url, method, headers = [], body }: HttpRequest): Buffer {
  const own: (readonly [string, string])[] = [
    ['Host', url.host],
    ...(body ? ([['Content-Type', 'application/json']] as const) : []),
    ['Connection', 'close'],
    ...(body ? ([['Content-Length', String(body.length)]] as const) : []),
  ];
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  const lines = [...own.filter(([name]) => !given.has(name.toLowerCase())), ...headers].map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const line = `${method ?? (body ? 'POST' : 'GET')} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  return Buffer.concat([Buffer.from(`${line}${lines.join('')}\r\n`, 'latin1'), body ?? Buffer.alloc(0)]);
}

/** Where a URL is asked for: host and port of a connection. IPv6 without its brackets. */
export function addressOf(url: URL): { host: string; port: number } {
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 80) };
}
