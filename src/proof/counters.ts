import type { Socket } from 'node:net';

/** What can be known of a connection's bytes, whatever the source. Counts are of the whole connection. */
export const EVIDENCE_SOURCES = ['koffi', 'procfs', 'so_nwrite', 'callbacks'] as const;
/**
 * `koffi`: SIOCOUTQ and sock_diag by direct system calls. `procfs`: the same from /proc/net/tcp, slower.
 * `so_nwrite`: macOS. `callbacks`: nothing but Node's own write callbacks.
 */
export type EvidenceSource = (typeof EVIDENCE_SOURCES)[number];

/** A level that the source can't give is `null`, never guessed. */
export interface Counters {
  /** Bytes taken by our kernel. */
  readonly flushed: number;
  /** Bytes acknowledged by the peer's TCP. Exact where it equals `flushed`, else a lower bound. */
  readonly acked: number | null;
  /** Bytes that the client program has taken out of its kernel: same host only. */
  readonly read: number | null;
}

export interface SocketProbe {
  /** The counters now; `undefined` where the socket is gone. */
  look(): Counters | undefined | Promise<Counters | undefined>;
}

export interface Kernel {
  readonly source: EvidenceSource;
  probe(socket: Socket): SocketProbe;
}

/** The parts of Node's TCP handle that tell what the kernel has taken; undocumented, and looked at with care. */
interface TcpHandle {
  readonly fd?: number;
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

export function handleOf(socket: Socket): TcpHandle | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (typeof handle !== 'object' || handle === null) return undefined;
  const { bytesWritten, writeQueueSize } = handle as Partial<TcpHandle>;
  return typeof bytesWritten === 'number' && typeof writeQueueSize === 'number' ? (handle as TcpHandle) : undefined;
}

/** Bytes that the kernel has taken: `bytesWritten` of the handle counts what still waits in user land, too (measured). */
export function flushedOf(socket: Socket): number | undefined {
  const handle = handleOf(socket);
  return handle && handle.bytesWritten - handle.writeQueueSize;
}

/**
 * Of `counted` bytes in a queue of the kernel, those of the answer: a FIN that nobody has taken yet counts as one
 * (Linux: `write_seq` and `rcv_nxt` step over it), and ours is there once the socket has finished.
 */
export function withoutFin(counted: number, finished: boolean): number {
  return finished ? Math.max(0, counted - 1) : counted;
}
