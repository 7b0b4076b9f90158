import { once } from 'node:events';
import type { Socket } from 'node:net';

/**
 * Writes lines as they come, each as a chunk, for as long as the client stays. A client that doesn't read holds the
 * lines back, and so whoever makes them.
 */
export async function pumpLines(socket: Socket, lines: AsyncIterableIterator<string>): Promise<void> {
  const gone = new AbortController();
  socket.once('close', () => {
    gone.abort();
    void lines.return?.();
  });
  try {
    for await (const line of lines) {
      if (socket.destroyed) return;
      const size = Buffer.byteLength(line).toString(16);
      if (!socket.write(`${size}\r\n${line}\r\n`)) await once(socket, 'drain', { signal: gone.signal });
    }
    if (!socket.destroyed) socket.end('0\r\n\r\n');
  } catch {
    // The client went while it was waited for.
  }
}
