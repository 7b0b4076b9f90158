import type { Socket } from 'node:net';

/**
 * A paced answer at its barest: its bytes in pieces, all streams on one wheel of milliseconds with one timer, and nothing
 * else. What a server adds to the lateness of the machine, of Node and of its client is seen beside it.
 */
interface Stream {
  readonly socket: Socket;
  readonly startMs: number;
  next: number;
}

const SLOTS = 256;

/**
 * The pieces of an answer whose chunks are events: the head with the first event and the first delta, each further
 * delta, and the last delta's followers together. So does a server write it that pauses after each delta.
 */
export function piecesOf(answer: Buffer, deltas: number): Buffer[] {
  const ends: number[] = [];
  let at = answer.indexOf('\r\n\r\n') + 4;
  while (at < answer.length) {
    const sizeEnd = answer.indexOf('\r\n', at);
    const size = Number.parseInt(answer.toString('latin1', at, sizeEnd), 16);
    at = sizeEnd + 2 + size + 2;
    ends.push(at);
  }
  const borders = [0, ...ends.slice(1, 1 + deltas), answer.length];
  return borders.slice(1).map((end, n) => answer.subarray(borders[n], end));
}

/** Plays `pieces` to each socket that it is called with, `paceMs` apart; at most `SLOTS` - 1. */
export function wheelOf(pieces: readonly Buffer[], paceMs: number): (socket: Socket) => void {
  const slots: Stream[][] = Array.from({ length: SLOTS }, () => []);
  let cursorMs = Math.floor(performance.now());
  let turning = false;
  let streams = 0;

  function put(stream: Stream): void {
    // The slot of `cursorMs` is being emptied.
    const dueMs = Math.max(Math.ceil(stream.startMs + stream.next * paceMs), cursorMs + 1);
    slots[dueMs % SLOTS]?.push(stream);
  }

  function write(stream: Stream): void {
    const piece = pieces[stream.next];
    if (piece && !stream.socket.destroyed) stream.socket.write(piece);
    stream.next++;
    if (stream.next < pieces.length && !stream.socket.destroyed) put(stream);
    else streams--;
  }

  function turn(): void {
    const nowMs = performance.now();
    for (; cursorMs <= nowMs; cursorMs++) {
      const slot = cursorMs % SLOTS;
      const due = slots[slot] ?? [];
      slots[slot] = [];
      for (const stream of due) write(stream);
    }
    turning = streams > 0;
    if (turning) setTimeout(turn, 1);
  }

  return (socket) => {
    const startMs = performance.now();
    streams++;
    if (!turning) {
      turning = true;
      cursorMs = Math.floor(startMs);
      setTimeout(turn, 1);
    }
    write({ socket, startMs, next: 0 });
  };
}
