import type { Socket } from 'node:net';
import { koffiKernel } from './kernel-koffi.js';
import { procfsKernel } from './kernel-procfs.js';

/**
 * What the kernel knows about the bytes of a connection, from the best source that this machine has.
 * Counts are of the whole connection; the recorder takes its exchanges out of them.
 */
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

/** Without the kernel's help: what Node's own counters say. */
export const callbacksKernel: Kernel = {
  source: 'callbacks',
  probe: (socket) => ({
    look: () => {
      const flushed = flushedOf(socket);
      return flushed === undefined ? undefined : { flushed, acked: null, read: null };
    },
  }),
};

/** The best source here, or the one that is asked for; `undefined` where that one isn't to be had. */
export async function kernelOf(wanted: EvidenceSource | 'auto'): Promise<Kernel | undefined> {
  if (wanted === 'callbacks') return callbacksKernel;
  const makers = { koffi: koffiKernel, so_nwrite: koffiKernel, procfs: procfsKernel };
  if (wanted !== 'auto') {
    const kernel = await makers[wanted]();
    return kernel?.source === wanted ? kernel : undefined;
  }
  return (await koffiKernel()) ?? (await procfsKernel()) ?? callbacksKernel;
}
