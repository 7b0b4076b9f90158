import net from 'node:net';
import { errnoOf, messageOf, WirefaultError } from '../errors.js';
import { joined, type OpenWindow, openerOf, type Window, type WindowKind } from './listener-window.js';

/**
 * The listening socket, which can be taken away for a while: connects are then refused, or hang, while open
 * connections live on and the port stays reserved.
 *
 * Each kind of window begins in the very tick of its call. One in another of its kind makes that longer; one of another
 * kind follows it. After a refusal for a time the port is bound anew, so a connect may come through before what follows.
 */
export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Connects are refused for `ms`. */
  refuse(ms: number): void;
  /**
   * Connects are refused until that many were; the next one is accepted.
   * @throws WirefaultError `window_impossible` where `listen` wasn't told of the kind
   */
  refuseAttempts(attempts: number): void;
  /**
   * Connects hang for `ms`: nothing answers them. A client that tries again by itself gets in afterwards.
   * @throws WirefaultError `window_impossible` where `listen` wasn't told of the kind
   */
  blackhole(ms: number): void;
  /** Resolves when the port accepts connections; at once if it does. Rejects if that can't come any more. */
  whenListening(): Promise<void>;
  /** Stops listening for good. Connections are the owner's to end. */
  close(): Promise<void>;
}

export interface ListenerHooks {
  /** The port is known and ours; nothing else has happened yet. */
  onBound(address: { readonly port: number }): void;
  onConnection(socket: net.Socket): void;
  /** A window has begun, or grown: what is left of it from now. */
  onWindow(window: Window): void;
  onListening(): void;
  /** The port could not be opened again after a window, or a window could not be opened. */
  onLost(error: WirefaultError): void;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Connects are refused for that long before the first connection, where it is over 0. */
  readonly refuseFirstMs: number;
  /** More windows before the first connection, one after the other. */
  readonly first?: readonly Window[];
  /** What windows there may be later, besides refusals for a time: what they need is made ready. */
  readonly kinds?: readonly WindowKind[];
}

/** Long enough for a stress run's burst of connects; the kernel caps it at net.core.somaxconn. */
const BACKLOG = 4096;

/**
 * Binds, and opens the first windows before the first connection.
 * @throws WirefaultError `port_in_use`, `listen_failed`, or `window_impossible` where a window can't be had here
 */
export async function listen(options: ListenOptions, hooks: ListenerHooks): Promise<Listener> {
  const { host, refuseFirstMs, first = [], kinds = [] } = options;
  const opener = await openerOf([...kinds, ...first.map(({ kind }) => kind)]);
  let server = await bind(host, options.port, hooks).catch(async (error) => {
    await opener.close();
    throw error;
  });
  const { address, port } = addressOf(server);
  hooks.onBound({ port });
  let open: OpenWindow | undefined;
  /** Windows that follow the open one. */
  const later: Window[] = [];
  let reopening: Promise<void> | undefined;
  /** Why the port will never be opened again. */
  let over: WirefaultError | undefined;
  const waiting: { resolve(): void; reject(error: WirefaultError): void }[] = [];

  function add(window: Window): void {
    if (over) return;
    const { kind } = window;
    if (!opener.opens(kind)) {
      throw new WirefaultError('window_impossible', `port ${port}: no ${kind} window was prepared for it`);
    }
    if (open?.kind === kind && later.length === 0) {
      hooks.onWindow(open.extend(window));
      return;
    }
    put(window);
    // While the port is being bound again there is nothing to shut.
    if (!open && server.listening) goOn();
  }

  function put(window: Window): void {
    const last = later.at(-1);
    const both = last && joined(last, window);
    if (both) later.splice(-1, 1, both);
    else later.push(window);
  }

  /** Opens the next window, or the port is open. */
  function goOn(): void {
    const window = later.shift();
    if (!window) {
      hooks.onListening();
      for (const { resolve } of waiting.splice(0)) resolve();
      return;
    }
    try {
      open = opener.open(window, { server, address, port }, windowOver);
    } catch (thrown) {
      lose(thrown);
      return;
    }
    hooks.onWindow(window);
  }

  function windowOver(): void {
    const free = open?.lift();
    open = undefined;
    if (free) reopening = reopen(free);
    else goOn();
  }

  async function reopen(free: Promise<void>): Promise<void> {
    try {
      await free;
      const again = await bind(address, port, hooks);
      if (over) again.close();
      else {
        server = again;
        goOn();
      }
    } catch (thrown) {
      lose(thrown);
    }
  }

  function lose(thrown: unknown): void {
    if (!(thrown instanceof WirefaultError)) throw thrown;
    if (over) return;
    giveUp(thrown);
    if (server.listening) server.close();
    hooks.onLost(thrown);
  }

  function giveUp(error: WirefaultError): void {
    over ??= error;
    for (const { reject } of waiting.splice(0)) reject(error);
  }

  function whenListening(): Promise<void> {
    if (over) return Promise.reject(over);
    if (server.listening && !open) return Promise.resolve();
    const listening = new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
    // One who waited for something else meanwhile must not end the process by it.
    listening.catch(() => {});
    return listening;
  }

  if (refuseFirstMs > 0) put({ kind: 'refuse', ms: refuseFirstMs });
  for (const window of first) put(window);
  goOn();

  return {
    host,
    port,
    refuse: (ms) => add({ kind: 'refuse', ms }),
    refuseAttempts: (attempts) => add({ kind: 'refuse_attempts', attempts }),
    blackhole: (ms) => add({ kind: 'blackhole', ms }),
    whenListening,
    close: async () => {
      giveUp(new WirefaultError('listen_failed', `port ${port}: the server was closed`));
      const free = open?.lift();
      open = undefined;
      if (server.listening) server.close();
      // Whoever has waited for this may bind the port.
      await free;
      await reopening;
      await opener.close();
    },
  };
}

async function bind(host: string, port: number, hooks: ListenerHooks): Promise<net.Server> {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) =>
    hooks.onConnection(socket),
  );
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
