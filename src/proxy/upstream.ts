import net, { type Socket } from 'node:net';
import { constants } from 'node:os';
import tls from 'node:tls';
import { errnoOf, messageOf } from '../errors.js';
import type { UpstreamTarget } from './upstream-options.js';

/**
 * Connections to the one server that is ever dialled. Those whose answer was whole are kept, and used again by the
 * next exchange.
 */
export interface Upstream {
  readonly target: UpstreamTarget;
  /** A connection that is open already, or a new one. `fresh`: a new one. */
  take(events: UpstreamEvents, fresh: boolean): UpstreamConnection;
  /** Ends those that are kept. */
  close(): void;
}

export interface UpstreamEvents {
  /** It may be written to; at once where the connection was kept. */
  onConnect(): void;
  onData(bytes: Buffer): void;
  /** It has ended its sending side. */
  onFin(): void;
  /** Nothing more comes. */
  onFailure(failure: UpstreamFailure): void;
}

/** How an upstream fails: before it is connected, while TLS is spoken, or later. */
export interface UpstreamFailure {
  readonly kind: 'refused' | 'unreachable' | 'tls' | 'timeout' | 'reset';
  readonly message: string;
}

export interface UpstreamConnection {
  /** It was used before. */
  readonly reused: boolean;
  /** `undefined` until it is connected. */
  address(): string | undefined;
  write(bytes: Buffer): void;
  /** Ends our sending side. */
  end(): void;
  pause(): void;
  resume(): void;
  /** It is free for another exchange. */
  release(): void;
  /** Nobody wants what is still to come. */
  destroy(): void;
}

/** Kept connections; the ones that were used last are used next. */
const MAX_IDLE = 64;
/** Servers close idle connections after 5 s (Node) to 75 s (nginx); one that is about to is better not used. */
const IDLE_MS = 4000;

interface Line {
  readonly socket: Socket;
  user: UpstreamEvents | undefined;
  connected: boolean;
  secured: boolean;
  idleTimer: NodeJS.Timeout | undefined;
}

const UNREACHABLE = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EACCES']);

export function upstreamOf(target: UpstreamTarget): Upstream {
  const idle: Line[] = [];

  function dial(user: UpstreamEvents): Line {
    const socket = connect(target);
    const line: Line = { socket, user, connected: false, secured: false, idleTimer: undefined };
    const ready = (): void => {
      line.secured = true;
      line.user?.onConnect();
    };
    socket.once('connect', () => {
      line.connected = true;
      if (!target.tls) ready();
    });
    if (target.tls) socket.once('secureConnect', ready);
    if (target.timeoutMs > 0) socket.setTimeout(target.timeoutMs);
    socket.on('timeout', () => {
      if (!line.user) return;
      // While it is our client that doesn't read, the upstream isn't silent.
      if (socket.isPaused()) socket.setTimeout(target.timeoutMs);
      else fail(line, { kind: 'timeout', message: `no byte for ${target.timeoutMs} ms` });
    });
    socket.on('data', (bytes: Buffer) => {
      // An answer that nobody asked for ends a kept connection.
      if (line.user) line.user.onData(bytes);
      else drop(line);
    });
    socket.on('end', () => {
      if (!line.user) drop(line);
      else if (wasReset(socket)) fail(line, { kind: 'reset', message: 'read ECONNRESET' });
      else if (line.secured) line.user.onFin();
    });
    socket.on('error', (error) => fail(line, failureOf(error, line)));
    socket.on('close', () => {
      const message = line.connected && !line.secured ? 'the connection ended in the TLS handshake' : 'closed';
      fail(line, { kind: line.connected && !line.secured ? 'tls' : 'reset', message });
    });
    return line;
  }

  function fail(line: Line, failure: UpstreamFailure): void {
    const { user } = line;
    drop(line);
    user?.onFailure(failure);
  }

  /** Whoever used it hears no more of it. */
  function drop(line: Line): void {
    line.user = undefined;
    clearTimeout(line.idleTimer);
    const at = idle.indexOf(line);
    if (at >= 0) idle.splice(at, 1);
    line.socket.destroy();
  }

  function keep(line: Line): void {
    if (idle.length >= MAX_IDLE || line.socket.destroyed) {
      drop(line);
      return;
    }
    line.user = undefined;
    line.socket.resume();
    idle.push(line);
    line.idleTimer = setTimeout(() => drop(line), IDLE_MS);
    line.idleTimer.unref();
  }

  function connectionOf(line: Line, reused: boolean): UpstreamConnection {
    const { socket } = line;
    return {
      reused,
      address: () => {
        const { remoteAddress, remotePort } = socket;
        return remoteAddress === undefined
          ? undefined
          : net.isIPv6(remoteAddress)
            ? `[${remoteAddress}]:${remotePort}`
            : `${remoteAddress}:${remotePort}`;
      },
      write: (bytes) => {
        socket.write(bytes);
      },
      end: () => {
        socket.end();
      },
      pause: () => {
        socket.pause();
      },
      resume: () => {
        socket.resume();
      },
      release: () => keep(line),
      destroy: () => drop(line),
    };
  }

  return {
    target,
    take: (events, fresh) => {
      const kept = fresh ? undefined : idle.pop();
      if (!kept) return connectionOf(dial(events), false);
      clearTimeout(kept.idleTimer);
      kept.user = events;
      queueMicrotask(() => {
        if (kept.user === events) events.onConnect();
      });
      return connectionOf(kept, true);
    },
    close: () => {
      for (const line of [...idle]) drop(line);
    },
  };
}

function connect({ hostname, port, tls: secure }: UpstreamTarget): Socket {
  const where = { host: hostname, port, noDelay: true, allowHalfOpen: true };
  if (!secure) return net.connect(where);
  const { insecure, ...files } = secure;
  // A name of the server is told to it, an address never (RFC 6066, section 3).
  const name = net.isIP(hostname) === 0 ? { servername: hostname } : {};
  return tls.connect({ ...where, ...files, ...name, rejectUnauthorized: !insecure, ALPNProtocols: ['http/1.1'] });
}

/**
 * Node reads a reset that comes together with data as an end (shared measurements: 88 to 98 % of fast readers). The
 * kernel knows: a socket that was reset has no peer any more, one that was shut still has.
 */
function wasReset(socket: Socket): boolean {
  const handle: unknown = Reflect.get(socket, '_handle');
  const ask: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'getpeername') : undefined;
  return typeof ask === 'function' && ask.call(handle, {}) === -constants.errno.ENOTCONN;
}

function failureOf(error: Error, { connected, secured }: Line): UpstreamFailure {
  const code = errnoOf(error) ?? '';
  const message = messageOf(error) || code;
  if (connected && !secured) return { kind: 'tls', message };
  if (code === 'ETIMEDOUT') return { kind: 'timeout', message };
  // A RST just behind the accept comes before Node knows of the connection; a refusal is ECONNREFUSED.
  if (code === 'ECONNRESET') return { kind: 'reset', message };
  if (!connected && UNREACHABLE.has(code)) return { kind: 'unreachable', message };
  return { kind: connected ? 'reset' : 'refused', message };
}
