import net, { type Socket } from 'node:net';

/** Servers of our own that do as little as can be done: no parser, no routes, no record. The others are held against them. */

export async function listening(onRequest: (socket: Socket) => void): Promise<number> {
  const server = net.createServer({ noDelay: true }, (socket) => answerEach(socket, onRequest));
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, resolve));
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

/** Calls `onRequest` for each whole request. */
export function answerEach(socket: Socket, onRequest: (socket: Socket) => void): void {
  let pending: Buffer | undefined;
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    let seen = pending ? Buffer.concat([pending, bytes]) : bytes;
    while (seen.length > 0) {
      const head = seen.indexOf('\r\n\r\n');
      if (head < 0) break;
      const length = /content-length: (\d+)/i.exec(seen.toString('latin1', 0, head))?.[1] ?? '0';
      const end = head + 4 + Number(length);
      if (seen.length < end) break;
      onRequest(socket);
      seen = seen.subarray(end);
    }
    pending = seen.length > 0 ? seen : undefined;
  });
}

/** Writes the same block again and again, as fast as the client reads. */
export async function writeBlocks(socket: Socket, head: string, block: Buffer, times: number): Promise<void> {
  socket.write(head);
  for (let n = 0; n < times && !socket.destroyed; n++) {
    if (!socket.write(block)) await new Promise((resolve) => socket.once('drain', resolve));
  }
  socket.write('0\r\n\r\n');
}

/** A chunk of a chunked body. */
export function chunkOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}
