import { readFileSync } from 'node:fs';

/** What a server on this host leaves unread can be seen there. */
export const unreadSeen = process.platform === 'linux';

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');

/**
 * Bytes of a client that lie in the kernel's receive queue of the server's socket, and so were not read: neither Node's
 * nor our word for it. `undefined` where there is no such connection (proc(5), on 127.0.0.1).
 */
export function unreadBytes(serverPort: number, clientPort: number): number | undefined {
  const row = new RegExp(`:${hexPort(serverPort)} [0-9A-F]+:${hexPort(clientPort)} [0-9A-F]+ [0-9A-F]+:([0-9A-F]+) `);
  const queue = row.exec(readFileSync('/proc/net/tcp', 'latin1'))?.[1];
  return queue === undefined ? undefined : Number.parseInt(queue, 16);
}
