import type { Socket } from 'node:net';

/**
 * How long a closed connection is still read after its last byte, and in all, so that bytes under way don't turn our
 * FIN into a reset that makes the client lose the answer (RFC 9112, section 9.6).
 */
const LINGER_MS = 1000;
const MAX_LINGER_MS = 30_000;

/** Ends a connection that has got our FIN and doesn't end it itself. */
export class Linger {
  private readonly endMs = performance.now() + MAX_LINGER_MS;
  private readonly timer: NodeJS.Timeout;

  constructor(socket: Socket) {
    this.timer = setTimeout(() => socket.destroy(), LINGER_MS);
  }

  /** Something has come. A client that reads only once it has sent everything is given the time for that. */
  heard(): void {
    if (performance.now() < this.endMs) this.timer.refresh();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
