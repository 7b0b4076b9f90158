import { EventEmitter, once } from 'node:events';
import net from 'node:net';
import os from 'node:os';
import { onTestFinished } from 'vitest';
import type { WirefaultError } from '../../src/errors.js';
import type { ListenerHooks, ListenOptions, listen } from '../../src/net/listener.js';
import type { Window } from '../../src/net/listener-window.js';

export const ipv6 = Object.values(os.networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
);

/** Where the server listens, and where its client connects to. */
export const WAYS = [
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ...(ipv6
    ? ([
        ['::1', '::1'],
        ['::', '::1'],
        ['::', '127.0.0.1'],
      ] as const)
    : []),
] as const;

export interface Listening {
  readonly listener: Awaited<ReturnType<typeof listen>>;
  readonly port: number;
  /** What happened, in order: `listening`, `lost`, the kinds of windows, and what clients note. */
  readonly log: readonly string[];
  readonly windows: readonly Window[];
  readonly errors: readonly WirefaultError[];
  note(what: string): void;
  /** Resolves when it has happened, or has before. */
  until(what: string): Promise<void>;
}

/** A listener that sends back whatever it gets, closed at the end of the test. */
export async function listening(
  listenOn: typeof listen,
  options: Partial<ListenOptions>,
  onConnection: ListenerHooks['onConnection'] = () => {},
): Promise<Listening> {
  const log: string[] = [];
  const windows: Window[] = [];
  const errors: WirefaultError[] = [];
  const happening = new EventEmitter();
  const note = (what: string): void => {
    log.push(what);
    happening.emit(what);
  };
  const sockets = new Set<net.Socket>();
  const listener = await listenOn(
    { host: '127.0.0.1', port: 0, refuseFirstMs: 0, ...options },
    {
      onBound: () => {},
      onConnection: (socket) => {
        sockets.add(socket);
        socket.on('error', () => {}).pipe(socket);
        onConnection(socket);
      },
      onWindow: (window) => {
        windows.push(window);
        note(window.kind);
      },
      onListening: () => note('listening'),
      onLost: (error) => {
        errors.push(error);
        note('lost');
      },
    },
  );
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await listener.close();
  });
  const until = async (what: string): Promise<void> => {
    if (!log.includes(what)) await once(happening, what);
  };
  return { listener, port: listener.port, log, windows, errors, note, until };
}

/** A client's socket, ended with the test. */
export function client(port: number, host = '127.0.0.1'): net.Socket {
  const socket = net.connect({ port, host, noDelay: true });
  socket.on('error', () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

/** `connected`, or the code of the error. */
export function outcome(socket: net.Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('connect', () => resolve('connected'));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
  });
}

export const connects = (port: number, host?: string): Promise<string> => outcome(client(port, host));

/** Sends, and waits for it to come back. */
export async function echoed(socket: net.Socket, text: string): Promise<string> {
  const back = once(socket, 'data');
  socket.write(text);
  return String((await back)[0]);
}
