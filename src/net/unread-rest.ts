import type { Socket } from 'node:net';
import { leaveUnread, readExactly, readOn } from './exact-read.js';
import { type PeerState, watchPeer } from './peer.js';

/** What a client sends from now on is left to the kernel. */
export class UnreadRest {
  private readonly socket: Socket;
  private readonly silent: () => boolean;
  private left = true;

  /** `silent`: whether nothing more is to come of us until somebody ends it. */
  constructor(socket: Socket, silent: () => boolean) {
    this.socket = socket;
    this.silent = silent;
    leaveUnread(socket);
    // Nobody reads, so nobody sees the client go.
    watchPeer(socket, (state) => this.onPeer(state));
  }

  /** Whether it still is. */
  isLeft(): boolean {
    return this.left;
  }

  readOn(): void {
    if (!this.left) return;
    this.left = false;
    readOn(this.socket);
  }

  /**
   * Reads so many bytes of it all the same; fewer where the client ends before, or `timeoutMs` are over (0 for no
   * limit). Calls `done` with their number; the returned function gives up, and says how many were read.
   */
  take(bytes: number, timeoutMs: number, done: (read: number) => void): () => number {
    let timer: NodeJS.Timeout | undefined;
    const stop = readExactly(this.socket, bytes, (read) => {
      clearTimeout(timer);
      done(read);
    });
    if (timeoutMs > 0) timer = setTimeout(() => done(stop()), timeoutMs);
    return () => {
      clearTimeout(timer);
      return stop();
    };
  }

  /** A client that has shut its side may still read: what there is to come comes first, with its bytes unread. */
  private onPeer(state: PeerState): void {
    if (!this.left) return;
    // As a read would tell it; but with bytes before it Node reads a reset as an end (measured).
    if (state === 'gone') this.socket.destroy(new Error('the client has reset the connection'));
    else if (this.silent()) this.readOn();
  }
}
