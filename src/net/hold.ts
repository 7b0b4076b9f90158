import net from 'node:net';
import { type Barrier, type BoundPort, selfAddress } from './listener-barrier.js';

/** Connects are refused by the kernel, while open connections live on and the port stays reserved. */
export function closedPort({ server, address, port }: BoundPort): Barrier {
  // The descriptor is closed in this tick. The callback isn't waited for: it waits for the open connections.
  server.close();
  const hold = holdPort(address, port);
  return { lift: hold.release };
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
  const self = selfAddress(address);
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
