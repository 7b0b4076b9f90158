import type net from 'node:net';

/** The port of a listener while it is bound. */
export interface BoundPort {
  readonly server: net.Server;
  /** As the kernel has it: no name, and perhaps a wildcard. */
  readonly address: string;
  readonly port: number;
}

/** What keeps connects from coming through. It stands from the call that makes it: nothing of that is left to later. */
export interface Barrier {
  /**
   * Takes it away. Where that needed the server closed, the promise tells that the port may be bound again; otherwise
   * there is none, and the server accepts connections from this very call on.
   */
  lift(): Promise<void> | undefined;
}

/** Where a connect to the listener itself goes: one doesn't connect to a wildcard address, so it is loopback there. */
export function selfAddress(address: string): string {
  return address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;
}

/** The server's file descriptor, of which Node has no public word. */
export function fdOf(server: net.Server): number | undefined {
  const handle: unknown = Reflect.get(server, '_handle');
  if (typeof handle !== 'object' || handle === null) return undefined;
  const { fd } = handle as { readonly fd?: unknown };
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}

/** Makes the barriers of one listener. */
export interface BarrierMaker {
  /** @throws WirefaultError `window_impossible` where the kernel doesn't do its part; the server may be closed then */
  make(port: BoundPort): Barrier;
  /** No barrier is needed any more. */
  close(): Promise<unknown> | undefined;
}
