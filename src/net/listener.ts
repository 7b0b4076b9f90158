import net from 'node:net';
import { errnoOf, messageOf, WirefaultError } from '../errors.js';

/**
 * The listening socket, which can be taken away for a while: connects are then refused by the kernel, while open
 * connections live on and the port stays ours.
 */
export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Closes the port, in this very tick, and opens it again after `ms`. A window in a window adds up. */
  refuse(ms: number): void;
  /** Resolves when the port accepts connections; at once if it does. Rejects if it can't be opened again. */
  whenListening(): Promise<void>;
  /** Stops listening for good. Connections are the owner's to end. */
  close(): Promise<void>;
}

export interface ListenerHooks {
  /** The port is known and ours; nothing else has happened yet. */
  onBound(address: { readonly port: number }): void;
  onConnection(socket: net.Socket): void;
  onRefusing(ms: number): void;
  onListening(): void;
  /** The port could not be opened again after a window. */
  onLost(error: WirefaultError): void;
}

/** Long enough for a stress run's burst of connects; the kernel caps it at net.core.somaxconn. */
const BACKLOG = 4096;

/** Binds, and refuses for `refuseFirstMs` before the first connection where that is over 0. */
export async function listen(
  options: { readonly host: string; readonly port: number; readonly refuseFirstMs: number },
  hooks: ListenerHooks,
): Promise<Listener> {
  const { host } = options;
  let server = await bind(host, options.port, hooks);
  const { port } = addressOf(server);
  hooks.onBound({ port });
  let holder: Holder | undefined;
  let timer: NodeJS.Timeout | undefined;
  let openAtMs = 0;
  let closed = false;
  let waiting: { resolve(): void; reject(error: WirefaultError): void }[] = [];

  function refuse(ms: number): void {
    if (closed) return;
    openAtMs = Math.max(openAtMs, performance.now()) + ms;
    clearTimeout(timer);
    timer = setTimeout(reopen, openAtMs - performance.now());
    if (server.listening) {
      // The descriptor is closed in this tick. The callback isn't waited for: it waits for the open connections.
      server.close();
      holder = holdPort(host, port);
    }
    hooks.onRefusing(ms);
  }

  async function reopen(): Promise<void> {
    timer = undefined;
    try {
      await holder?.release();
      holder = undefined;
      const again = await bind(host, port, hooks);
      if (closed || timer) {
        again.close();
        return;
      }
      server = again;
      hooks.onListening();
      for (const { resolve } of waiting.splice(0)) resolve();
    } catch (thrown) {
      if (!(thrown instanceof WirefaultError)) throw thrown;
      hooks.onLost(thrown);
      for (const { reject } of waiting.splice(0)) reject(thrown);
    }
  }

  if (options.refuseFirstMs > 0) refuse(options.refuseFirstMs);
  else hooks.onListening();

  return {
    host,
    port,
    refuse,
    whenListening: () =>
      server.listening ? Promise.resolve() : new Promise((resolve, reject) => waiting.push({ resolve, reject })),
    close: async () => {
      closed = true;
      clearTimeout(timer);
      waiting = [];
      if (server.listening) server.close();
      await holder?.release();
    },
  };
}

async function bind(host: string, port: number, hooks: ListenerHooks): Promise<net.Server> {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => hooks.onConnection(socket));
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, backlog: BACKLOG }, resolve);
    });
  } catch (thrown) {
    throw bindError(thrown, host, port);
  }
  // Out of file descriptors, say: the connection is lost, the server isn't.
  server.removeAllListeners('error').on('error', () => {});
  return server;
}

function bindError(thrown: unknown, host: string, port: number): WirefaultError {
  const code = errnoOf(thrown);
  const where = `${bracketed(host)}:${port}`;
  if (code === 'EADDRINUSE') {
    const message = `port ${port}: ${where} is in use by another program; choose another port, or 0 for a free one`;
    return new WirefaultError('port_in_use', message, { cause: thrown });
  }
  const hint =
    code === 'EACCES'
      ? 'this port needs more rights; choose one above 1023'
      : code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND'
        ? 'this machine has no such address'
        : messageOf(thrown);
  return new WirefaultError('listen_failed', `host ${host}: can't listen on ${where}: ${hint}`, { cause: thrown });
}

function addressOf(server: net.Server): net.AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address while it listens');
  return address;
}

/** IPv6 addresses stand in brackets in URLs (RFC 3986, section 3.2.2). */
export function bracketed(host: string): string {
  return net.isIPv6(host) ? `[${host}]` : host;
}

interface Holder {
  release(): Promise<void>;
}

/**
 * Keeps a port from being taken by others while it refuses: a connected socket bound to it doesn't listen, so
 * connects get a RST, and the kernel gives the port to nobody else (measured).
 */
function holdPort(host: string, port: number): Holder {
  // A wildcard address can't be connected from; its port is held on loopback.
  const localAddress = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const helper = net.createServer();
  let socket: net.Socket | undefined;
  let released = false;
  helper.on('error', () => {});
  helper.listen({ host: localAddress, port: 0 }, () => {
    if (released) return;
    socket = net.connect({ host: localAddress, port: addressOf(helper).port, localAddress, localPort: port });
    socket.on('error', () => {}); // best effort: without it the port is only not listening
  });
  return {
    release: async () => {
      released = true;
      if (socket && !socket.destroyed) {
        const gone = new Promise<void>((resolve) => socket?.once('close', () => resolve()));
        // A reset leaves no TIME_WAIT behind, in which the port could not be bound again everywhere.
        socket.resetAndDestroy();
        await gone;
      }
      helper.close();
    },
  };
}
