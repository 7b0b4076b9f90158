import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import type { buildConnector } from 'undici';
import { TIMED_OUT } from './ends.js';

/**
 * Connections of the load, made here and not by the HTTP client: the socket's own word on how it ended is kept, and it is
 * read in steps, little ones for a slow reader, so that the server feels it.
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
/** Of all connections: what is read into it is taken out in the same call. */
const SHARED = Buffer.alloc(READ_BYTES);
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
  /** Of the newest connection. */
  let end: { ended: boolean; errno: string | undefined } = { ended: false, errno: undefined };
  let pending: Socket | undefined;

  const connect: buildConnector.connector = ({ hostname, port, protocol, servername }, callback) => {
    const secure = protocol === 'https:';
    const where = {
      host: hostname,
      port: Number(port || (secure ? 443 : 80)),
      noDelay: true,
      onread: steps(() => socket),
    };
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
      const own: typeof end = { ended: false, errno: undefined };
      end = own;
      // Before the HTTP client's own listeners, which act on these at once.
      socket.once('end', () => {
        own.ended = true;
      });
      socket.on('error', (error: NodeJS.ErrnoException) => {
        // The HTTP client's reasons to give a connection up are errors of the socket, too, but no system errors.
        if (error.syscall !== undefined) own.errno ??= error.code;
      });
      callback(null, socket);
    });
  };

  /**
   * Nothing is read between a read and the turn of its bytes. Without a speed that is the next turn of the event loop:
   * while libuv reads on, it takes a reset right behind data for an end (measured in proof/witness).
   */
  function steps(socketOf: () => Socket): net.OnReadOpts {
    const { readBytesPerSecond: speed } = options;
    let dueMs = 0;
    return {
      buffer:
        speed === undefined
          ? SHARED
          : Buffer.alloc(Math.max(1, Math.min(READ_BYTES, Math.floor(speed / STEPS_PER_SECOND)))),
      callback: (count, buffer) => {
        const step = Buffer.from(buffer.subarray(0, count));
        const give = (): void => {
          const socket = socketOf();
          if (!socket.destroyed) socket.push(step);
        };
        if (speed === undefined) setImmediate(give);
        else {
          dueMs = Math.max(dueMs, performance.now()) + (count / speed) * 1000;
          setTimeout(give, Math.max(1, dueMs - performance.now()));
        }
        return false;
      },
    };
  }

  return {
    connect,
    get made() {
      return made;
    },
    get ended() {
      return end.ended;
    },
    get errno() {
      return end.errno;
    },
    stop: () => pending?.destroy(),
  };
}
