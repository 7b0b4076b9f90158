import net from 'node:net';

/**
 * A raw client: it stores every byte, and how the connection ended. It knows nothing of wirefault or of HTTP.
 */
export type WireEnd = 'fin' | 'rst' | 'refused' | 'closed_by_witness';

export interface Witness {
  /** All bytes so far. */
  readonly received: Buffer;
  /** The same as they were read, one after the other. */
  readonly reads: readonly Buffer[];
  /** Bytes of writes that aren't through: the kernel has no room for all of them. */
  readonly unsent: number;
  send(bytes: string | Buffer): void;
  /** Shuts the sending side. */
  halfClose(): void;
  /** Resolves once `wanted` holds for what was received; rejects if the connection ends before. */
  until(wanted: (received: Buffer) => boolean): Promise<Buffer>;
  /** How the connection ended: resolves after the last byte. */
  readonly ended: Promise<WireEnd>;
  readonly connected: Promise<void>;
  /** Its port, once it is connected. */
  readonly localPort: number;
  pause(): void;
  resume(): void;
  close(): void;
  /** Closes by a RST. */
  reset(): void;
}

/** `staysOpen`: a FIN is not answered by one. */
export function witness(port: number, host = '127.0.0.1', { staysOpen = false } = {}): Witness {
  const socket = net.connect({ port, host, allowHalfOpen: true, noDelay: true });
  let received = Buffer.alloc(0);
  const reads: Buffer[] = [];
  let outcome: WireEnd | undefined;
  const watchers = new Set<() => void>();
  const tell = (): void => {
    for (const watcher of watchers) watcher();
  };

  const ended = new Promise<WireEnd>((resolve) => {
    const end = (how: WireEnd): void => {
      outcome ??= how;
      resolve(outcome);
      tell();
    };
    socket.on('end', () => {
      end('fin');
      if (!staysOpen) socket.end();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED' ? 'refused' : 'rst'));
    socket.on('close', () => end('closed_by_witness'));
  });
  const connected = new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  connected.catch(() => {}); // told by `ended` as well
  socket.on('data', (bytes) => {
    received = Buffer.concat([received, bytes]);
    reads.push(bytes);
    tell();
  });

  return {
    get received() {
      return received;
    },
    reads,
    get unsent() {
      return socket.writableLength;
    },
    send: (bytes) => {
      socket.write(bytes);
    },
    halfClose: () => {
      socket.end();
    },
    until: (wanted) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (wanted(received)) resolve(received);
          else if (outcome === undefined) return;
          else reject(new Error(`connection ended by ${outcome} after ${JSON.stringify(received.toString('latin1'))}`));
          watchers.delete(look);
        };
        watchers.add(look);
        look();
      }),
    ended,
    connected,
    pause: () => {
      socket.pause();
    },
    resume: () => {
      socket.resume();
    },
    close: () => {
      socket.destroy();
    },
    reset: () => {
      socket.resetAndDestroy();
    },
    get localPort() {
      return socket.localPort ?? 0;
    },
  };
}

/** The text of a request with a JSON body. */
export function post(path: string, body: unknown, headers: Record<string, string> = {}): string {
  const json = typeof body === 'string' ? body : JSON.stringify(body);
  const lines = Object.entries({ Host: 'x', 'Content-Length': String(Buffer.byteLength(json)), ...headers });
  return `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${json}`;
}

/** Sends `request` on a connection of its own and waits for its end. */
export async function witnessed(port: number, request: string | Buffer): Promise<{ bytes: Buffer; end: WireEnd }> {
  const client = witness(port);
  client.send(request);
  const end = await client.ended;
  return { bytes: client.received, end };
}
