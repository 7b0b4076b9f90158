import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import type { buildConnector } from 'undici';
import { TIMED_OUT } from './ends.js';

/**
 * Connections of the load, made here and not by the HTTP client for two reasons: the socket's own word on how it ended is
 * kept, and a slow reader takes little steps out of the kernel, so that the server feels it.
 */
export interface ConnectOptions {
  /** The most that is read in a second; absent: as fast as it comes. */
  readonly readBytesPerSecond: number | undefined;
  readonly timeoutMs: number;
  readonly ca: Buffer | undefined;
  /** The server's certificate isn't checked. */
  readonly insecure: boolean;
}

export interface Connecting {
  readonly connect: buildConnector.connector;
  /** How many connections were made. */
  readonly made: number;
  /** Of the newest connection. */
  readonly ended: boolean;
  readonly errno: string | undefined;
  /** Gives up a connection that is being made. */
  stop(): void;
}

const READ_BYTES = 65_536;
/** A limited speed is kept in steps of this length. */
const STEPS_PER_SECOND = 20;

class TimedOut extends Error {
  readonly code = TIMED_OUT;
}

/** The error of an exchange, or of a connection, in which nothing came for too long. */
export function timedOut(timeoutMs: number): Error {
  return new TimedOut(`nothing came for ${timeoutMs} ms`);
}

export function connecting(options: ConnectOptions): Connecting {
  let made = 0;
  let ended = false;
  let errno: string | undefined;
  let pending: Socket | undefined;

  const connect: buildConnector.connector = ({ hostname, port, protocol, servername }, callback) => {
    const secure = protocol === 'https:';
    const where = { host: hostname, port: Number(port || (secure ? 443 : 80)), noDelay: true, ...slow(() => socket) };
    const socket: Socket = secure
      ? tls.connect({
          ...where,
          ...(options.ca ? { ca: options.ca } : {}),
          rejectUnauthorized: !options.insecure,
          ALPNProtocols: ['http/1.1'],
          ...(net.isIP(hostname) === 0 ? { servername: servername ?? hostname } : {}),
        })
      : net.connect(where);
    pending = socket;
    const timer = setTimeout(() => socket.destroy(timedOut(options.timeoutMs)), options.timeoutMs);
    const onFailure = (error: Error): void => {
      clearTimeout(timer);
      pending = undefined;
      callback(error, null);
    };
    socket.once('error', onFailure);
    socket.once('close', () => clearTimeout(timer));
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      pending = undefined;
      socket.off('error', onFailure);
      made++;
      ended = false;
      errno = undefined;
      // Before the HTTP client's own listeners, which act on these at once.
      socket.once('end', () => {
        ended = true;
      });
      socket.on('error', (error: NodeJS.ErrnoException) => {
        // The HTTP client's reasons to give a connection up are errors of the socket, too, but no system errors.
        if (error.syscall !== undefined) errno ??= error.code;
      });
      callback(null, socket);
    });
  };

  /**
   * Each step is held back until its turn, and nothing is read meanwhile; only then it goes to the HTTP client, and the
   * next is read.
   */
  function slow(socketOf: () => Socket): { onread?: net.OnReadOpts } {
    const { readBytesPerSecond: speed } = options;
    if (speed === undefined) return {};
    let dueMs = 0;
    return {
      onread: {
        buffer: Buffer.alloc(Math.max(1, Math.min(READ_BYTES, Math.floor(speed / STEPS_PER_SECOND)))),
        callback: (count, buffer) => {
          const step = Buffer.from(buffer.subarray(0, count));
          dueMs = Math.max(dueMs, performance.now()) + (count / speed) * 1000;
          const give = (): void => {
            const socket = socketOf();
            if (!socket.destroyed) socket.push(step);
          };
          setTimeout(give, Math.max(1, dueMs - performance.now()));
          return false;
        },
      },
    };
  }

  return {
    connect,
    get made() {
      return made;
    },
    get ended() {
      return ended;
    },
    get errno() {
      return errno;
    },
    stop: () => pending?.destroy(),
  };
}
