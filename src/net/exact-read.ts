import { readSync } from 'node:fs';
import type { Socket } from 'node:net';
import { errnoOf } from '../errors.js';
import { handleOf } from '../proof/counters.js';

/** The part of Node's TCP handle that reads; undocumented, and looked at with care. */
interface ReadingHandle {
  reading: boolean;
  readStart(): number;
  readStop(): number;
}

function readingOf(socket: Socket): ReadingHandle | undefined {
  const handle = handleOf(socket) as Partial<ReadingHandle> | undefined;
  return typeof handle?.reading === 'boolean' && handle.readStart && handle.readStop
    ? (handle as ReadingHandle)
    : undefined;
}

/**
 * Leaves with the kernel what comes from now on. `pause` alone doesn't: it lets Node read until its own buffer is full,
 * and Node starts to read again by itself (measured: `_read` is called in the tick behind each read).
 */
export function leaveUnread(socket: Socket): void {
  socket.pause();
  const handle = readingOf(socket);
  if (!handle) return;
  socket._read = () => {};
  handle.reading = false;
  handle.readStop();
}

/** Undoes `leaveUnread`. */
export function readOn(socket: Socket): void {
  if (socket.destroyed) return;
  Reflect.deleteProperty(socket, '_read');
  const handle = readingOf(socket);
  if (handle && !handle.reading) {
    handle.reading = true;
    handle.readStart();
  }
  socket.resume();
}

/** The descriptor doesn't block, so what isn't there yet is asked for again, first soon and then less and less. */
const FIRST_POLL_MS = 1;
const LONGEST_POLL_MS = 32;

/**
 * Reads exactly so many bytes of a socket that is left unread, and leaves the rest to the kernel: Node's own reads take
 * up to 64 KiB at once.
 *
 * Calls `done` with the count once it is reached, or the client has ended before. The returned function gives up, and
 * says how many were read.
 */
export function readExactly(socket: Socket, bytes: number, done: (read: number) => void): () => number {
  const buffer = Buffer.alloc(Math.min(Math.max(bytes, 1), 65_536));
  let read = 0;
  let timer: NodeJS.Timeout | undefined;
  let pollMs = FIRST_POLL_MS;
  const step = (): void => {
    while (read < bytes) {
      const taken = take(socket, buffer, Math.min(buffer.length, bytes - read));
      if (taken === undefined) {
        timer = setTimeout(step, pollMs);
        pollMs = Math.min(pollMs * 2, LONGEST_POLL_MS);
        return;
      }
      if (taken === 0) break;
      read += taken;
      pollMs = FIRST_POLL_MS;
    }
    done(read);
  };
  // Never within the caller's turn, who has to have the returned function first.
  timer = setTimeout(step, 0);
  return () => {
    clearTimeout(timer);
    return read;
  };
}

/** Bytes taken; 0 at the end of what comes; `undefined` where nothing is there yet. */
function take(socket: Socket, buffer: Buffer, length: number): number | undefined {
  const fd = handleOf(socket)?.fd;
  if (fd === undefined || fd < 0 || socket.destroyed) return 0;
  try {
    return readSync(fd, buffer, 0, length, null);
  } catch (thrown) {
    // A client that has reset the connection has nothing more to say.
    return errnoOf(thrown) === 'EAGAIN' ? undefined : 0;
  }
}
