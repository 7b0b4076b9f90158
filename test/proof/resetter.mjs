import net from 'node:net';

/** A server in a process of its own: to each connection 1,000 bytes, and a reset in the same tick. */
const server = net.createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', () => {
    socket.write(Buffer.alloc(1000));
    socket.resetAndDestroy();
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(address !== null && typeof address === 'object' ? address.port : 0);
});
