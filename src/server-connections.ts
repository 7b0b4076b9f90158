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
  const open = new Set<Connection>();
  let count = first;
  let onEmpty: (() => void) | undefined;
  return {
    add: (socket, serve) => {
      const connection = serve(++count);
      open.add(connection);
      socket.on('close', () => {
        open.delete(connection);
        if (open.size === 0) onEmpty?.();
      });
    },
    get count() {
      return open.size;
    },
    destroyAll: async () => {
      for (const connection of open) connection.destroy();
      if (open.size === 0) return;
      await new Promise<void>((resolve) => {
        onEmpty = resolve;
      });
    },
  };
}
