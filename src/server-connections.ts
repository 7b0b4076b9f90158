import type { Connection } from './net/connection-deps.js';

/** The connections that are open, which end with the server. */
export interface OpenConnections {
  /** The number of another one: they are numbered on from `first`. */
  number(): number;
  add(connection: Connection): void;
  /** It is closed. */
  remove(connection: Connection): void;
  readonly count: number;
  destroyAll(): Promise<void>;
}

export function openConnections(first: number): OpenConnections {
  const open = new Set<Connection>();
  let count = first;
  let onEmpty: (() => void) | undefined;
  return {
    number: () => ++count,
    add: (connection) => open.add(connection),
    remove: (connection) => {
      open.delete(connection);
      if (open.size === 0) onEmpty?.();
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
