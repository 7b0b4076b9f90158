import net from 'node:net';

// All sockets read into the same memory: one reads at a time, and nothing of it is kept.
const buffer = Buffer.allocUnsafe(65_536);

/** `source`: the loopback address that the connection comes from. */
export function connect(port: number, onBytes: (bytes: Buffer) => void, source?: string): net.Socket {
  const callback = (length: number): boolean => {
    onBytes(buffer.subarray(0, length));
    return true;
  };
  const from = source === undefined ? {} : { localAddress: source };
  return net.connect({ port, host: '127.0.0.1', noDelay: true, ...from, onread: { buffer, callback } });
}
