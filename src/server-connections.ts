import type { Socket } from 'node:net';
import type { Connection } from './net/connection.js';

/** The connections that are open, which end with the server. */
export interface OpenConnections {
  /** Connections are numbered on from `first`. */
  add(socket: Socket, serve: (number: number) => Connection): void;
  readonly count: number;
  destroyAll(): Promise<void>;
}

export function openConnections(first: number): OpenConnections {
  const open = new Map<Connection, Promise<void>>();
  let count = first;
  return {
    add: (socket, serve) => {
      const connection = serve(++count);
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      open.set(connection, closed);
      closed.then(() => open.delete(connection));
    },
    get count() {
      return open.size;
    },
    destroyAll: async () => {
      for (const connection of open.keys()) connection.destroy();
      await Promise.all(open.values());
    },
  };
}
