import type { Socket } from 'node:net';
import { handleOf } from './counters.js';

/** Who the two ends of a connection are. */
export interface Endpoint {
  readonly address: string | null;
  readonly port: number | null;
}

export function endpointOf(address: string | undefined, port: number | undefined): Endpoint {
  return { address: address ?? null, port: port ?? null };
}

/** The part of Node's TCP handle that asks the kernel; undocumented, and looked at with care. */
interface NamedHandle {
  getpeername(out: Name): number;
  getsockname(out: Name): number;
}

interface Name {
  address?: string | undefined;
  port?: number | undefined;
}

function namedOf(socket: Socket): NamedHandle | undefined {
  const handle = handleOf(socket) as Partial<NamedHandle> | undefined;
  return handle?.getpeername && handle.getsockname ? (handle as NamedHandle) : undefined;
}

/** Addresses come again and again; a socket that is asked for its own keeps an object and a string of each. */
const addresses = new Map<string, string>();
const MAX_ADDRESSES = 1000;
let lastServer: Endpoint = endpointOf(undefined, undefined);

export function clientOf(socket: Socket): Endpoint {
  const handle = namedOf(socket);
  if (!handle) return endpointOf(socket.remoteAddress, socket.remotePort);
  const name: Name = {};
  handle.getpeername(name);
  return endpointOf(interned(name.address), name.port);
}

/** One object for all connections to one address. */
export function serverOf(socket: Socket): Endpoint {
  const handle = namedOf(socket);
  const name: Name = handle ? {} : { address: socket.localAddress, port: socket.localPort };
  handle?.getsockname(name);
  if (lastServer.address !== name.address || lastServer.port !== name.port) {
    lastServer = endpointOf(interned(name.address), name.port);
  }
  return lastServer;
}

function interned(address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  const known = addresses.get(address);
  if (known !== undefined) return known;
  if (addresses.size < MAX_ADDRESSES) addresses.set(address, address);
  return address;
}
