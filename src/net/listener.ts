import net from 'node:net';
import { errnoOf, messageOf, WirefaultError } from '../errors.js';
import { MAX_TIMER_MS } from '../options.js';

/**
 * The listening socket, which can be taken away for a while: connects are then refused by the kernel, while open
 * connections live on and the port stays reserved.
 */
export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Closes the port, in this very tick, and opens it again after `ms`. A window in a window adds up. */
  refuse(ms: number): void;
  /** Resolves when the port accepts connections; at once if it does. Rejects if that can't come any more. */
  whenListening(): Promise<void>;
  /** Stops listening for good. Connections are the owner's to end. */
  close(): Promise<void>;
}

export interface ListenerHooks {
  /** The port is known and ours; nothing else has happened yet. */
  onBound(address: { readonly port: number }): void;
  onConnection(socket: net.Socket): void;
  /** Connects are refused for `ms` from now. */
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
  const { address, port } = addressOf(server);
  hooks.onBound({ port });
  let hold: Hold | undefined;
  let timer: NodeJS.Timeout | undefined;
  let openAtMs = 0;
  let reopening: Promise<void> | undefined;
  /** Why the port will never be opened again. */
  let over: WirefaultError | undefined;
  const waiting: { resolve(): void; reject(error: WirefaultError): void }[] = [];

  function refuse(ms: number): void {
    if (over) return;
    const nowMs = performance.now();
    openAtMs = Math.max(openAtMs, nowMs) + ms;
    if (server.listening) shut(server);
    hooks.onRefusing(Math.round(openAtMs - nowMs));
  }

  function shut(open: net.Server): void {
    // The descriptor is closed in this tick. The callback isn't waited for: it waits for the open connections.
    open.close();
    hold = holdPort(address, port);
    openLater();
  }

  /** Looks again when it wakes: the window may have grown, or be longer than a timer can be. */
  function openLater(): void {
    const leftMs = openAtMs - performance.now();
    if (leftMs > 0) timer = setTimeout(openLater, Math.min(leftMs, MAX_TIMER_MS));
    else reopening = reopen();
  }

  async function reopen(): Promise<void> {
    try {
      await hold?.release();
      const again = await bind(address, port, hooks);
      if (over) again.close();
      else if (openAtMs > performance.now()) shut(again);
      else {
        server = again;
        hooks.onListening();
        for (const { resolve } of waiting.splice(0)) resolve();
      }
    } catch (thrown) {
      if (!(thrown instanceof WirefaultError)) throw thrown;
      if (over) return;
      giveUp(thrown);
      hooks.onLost(thrown);
    }
  }

  function giveUp(error: WirefaultError): void {
    over ??= error;
    for (const { reject } of waiting.splice(0)) reject(error);
  }

  function whenListening(): Promise<void> {
    if (over) return Promise.reject(over);
    if (server.listening) return Promise.resolve();
    const listening = new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
    // One who waited for something else meanwhile must not end the process by it.
    listening.catch(() => {});
    return listening;
  }

  if (options.refuseFirstMs > 0) refuse(options.refuseFirstMs);
  else hooks.onListening();

  return {
    host,
    port,
    refuse,
    whenListening,
    close: async () => {
      giveUp(new WirefaultError('listen_failed', `port ${port}: the server was closed`));
      clearTimeout(timer);
      if (server.listening) server.close();
      // Whoever has waited for this may bind the port.
      await reopening;
      await hold?.release();
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

interface Hold {
  release(): Promise<void>;
}

/**
 * Keeps a refusing port from being given away: a socket that is bound to it and connected to itself (the simultaneous
 * open of RFC 9293, section 3.5) doesn't listen, so connects get a RST; and the kernel picks the port neither for
 * `port: 0` nor for an outgoing connection (measured). Only a server with SO_REUSEADDR that asks for this very
 * port gets it.
 */
function holdPort(address: string, port: number): Hold {
  // One doesn't connect to a wildcard address; its port is held on loopback.
  const self = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;
  const socket = net.connect({ host: self, port, localAddress: self, localPort: port });
  socket.on('error', () => {}); // best effort: without it the port is only not listening
  const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return {
    release: () => {
      // A reset leaves no TIME_WAIT behind, in which the port could not be bound again everywhere. Node would put it
      // off until a pending connect is through.
      if (socket.connecting) socket.destroy();
      else socket.resetAndDestroy();
      return gone;
    },
  };
}
