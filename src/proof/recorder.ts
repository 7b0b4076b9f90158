import type { Socket } from 'node:net';
import { type Counters, flushedOf, handleOf, type Kernel, type SocketProbe } from './counters.js';
import type { EvidenceLevel, Settled, Settler } from './settle.js';

/**
 * Watches one connection from outside of the player, and knows nothing of faults: how many bytes were written, taken
 * by the kernel, acknowledged by the client's TCP, and read by the client's program; and who ended it first.
 */
export interface ByteCounts {
  /** Handed to the socket. */
  readonly written: number;
  /** Taken by our kernel. */
  readonly flushed: number;
  /** Acknowledged by the client's TCP; a lower bound where it is below `flushed`. */
  readonly acked: number | null;
  /** Taken out of its kernel by the client's program; same host only. */
  readonly read: number | null;
}

export type EndedBy = 'client_fin' | 'client_rst' | 'server';

export interface Endpoint {
  readonly address: string | null;
  readonly port: number | null;
}

export interface ExchangeEvidence {
  readonly client: Endpoint;
  readonly server: Endpoint;
  /** Bytes of the connection before the exchange's first. */
  readonly connectionOffset: number;
  readonly bytes: ByteCounts;
  /** The counts of the kernel are the last that were known: the socket went before it could be asked again. */
  readonly stale: boolean;
  /** Of the settling before a reset; `undefined` where there was none. */
  readonly settled: Settled | undefined;
  readonly endedBy: EndedBy | undefined;
}

export interface ExchangeRecorder {
  /** Waits for evidence before a teardown, and then for the grace that its level needs. */
  settle(until: EvidenceLevel, timeoutMs: number, resume: () => void): void;
  /** The last look before a teardown of ours, after which the kernel forgets the socket at once. */
  beforeTeardown(): void;
  /**
   * The evidence once all that was flushed has settled, or can't any more.
   * `flushedBytes` is what the write callbacks told, which is all there is where the socket is gone already.
   */
  evidence(flushedBytes: number, timeoutMs: number): Promise<ExchangeEvidence>;
}

export interface ConnectionRecorder {
  /** The exchange's bytes begin here. */
  exchange(): ExchangeRecorder;
}

/**
 * The pause between evidence and a reset. A program that has read its bytes may still have to act on them: 2 ms masked
 * no end in thousands of trials. Acknowledged bytes aren't read yet, and merely flushed ones are under way
 * (shared measurements: 50 ms lost nothing of what a reading client could get).
 */
const GRACE_MS: Readonly<Record<EvidenceLevel, number>> = { read: 2, acked: 50, flushed: 50 };

export function recordConnection(socket: Socket, kernel: Kernel, settler: Settler): ConnectionRecorder {
  const watched = watch(kernel.probe(socket));
  let endedBy: EndedBy | undefined;
  const handle = handleOf(socket);
  /** What the kernel had taken when the client reset the connection. */
  let takenAtReset: number | undefined;
  // Where our FIN has gone out before, what comes from the client is its answer to that.
  const ended = (by: EndedBy): void => {
    endedBy ??= socket.writableFinished ? 'server' : by;
  };
  socket.once('end', () => {
    ended('client_fin');
    // The socket may be gone before the exchange's turn to be asked about comes.
    watched.look();
  });
  socket.once('error', () => {
    ended('client_rst');
    // The socket has let go of its handle, which still counts what it could not hand over, until it is closed.
    takenAtReset = handle && handle.bytesWritten - handle.writeQueueSize;
  });
  socket.once('close', () => {
    endedBy ??= 'server';
  });
  return {
    exchange: () =>
      recordExchange(
        socket,
        watched,
        settler,
        () => takenAtReset,
        () => endedBy ?? (socket.writableEnded || socket.destroyed ? 'server' : undefined),
        () => {
          endedBy ??= 'server';
        },
      ),
  };
}

export function endpointOf(address: string | undefined, port: number | undefined): Endpoint {
  return { address: address ?? null, port: port ?? null };
}

/** Remembers what was seen last: a socket can be gone when it is asked again, and the client's goes before ours. */
interface Watched extends SocketProbe {
  readonly last: Counters | undefined;
  /** What the client had read when it was last asked is less than what has been flushed since. */
  readonly stale: boolean;
}

function watch(probe: SocketProbe): Watched {
  let last: Counters | undefined;
  let stale = false;
  const seen = (counters: Counters | undefined): Counters | undefined => {
    if (!counters) return undefined;
    stale = counters.read === null && typeof last?.read === 'number' && last.read < counters.flushed;
    last = { ...counters, acked: counters.acked ?? last?.acked ?? null, read: counters.read ?? last?.read ?? null };
    return counters;
  };
  return {
    look: () => {
      const looked = probe.look();
      return looked instanceof Promise ? looked.then(seen) : seen(looked);
    },
    get last() {
      return last;
    },
    get stale() {
      return stale;
    },
  };
}

function recordExchange(
  socket: Socket,
  watched: Watched,
  settler: Settler,
  takenAtReset: () => number | undefined,
  endedBy: () => EndedBy | undefined,
  weEnd: () => void,
): ExchangeRecorder {
  const base = socket.bytesWritten;
  // Asked for now: a socket that is gone doesn't know its peer any more.
  const client = endpointOf(socket.remoteAddress, socket.remotePort);
  const server = endpointOf(socket.localAddress, socket.localPort);
  let settled: Settled | undefined;
  let written = 0;
  let flushed = base;
  let tornDown = false;

  const flushedNow = (): number =>
    Math.max(flushed, flushedOf(socket) ?? takenAtReset() ?? watched.last?.flushed ?? base);
  /** The exchange's part of a count of the connection. */
  const own = (count: number): number => Math.max(0, Math.min(count - base, written));

  function evidenceNow(gone: boolean): ExchangeEvidence {
    const { last, stale } = watched;
    const part = (count: number | null | undefined): number | null =>
      count === null || count === undefined ? null : Math.min(own(count), own(flushed));
    return {
      client,
      server,
      connectionOffset: base,
      bytes: { written, flushed: own(flushed), acked: part(last?.acked), read: part(last?.read) },
      stale: stale || gone,
      settled,
      endedBy: endedBy(),
    };
  }

  return {
    settle: (until, timeoutMs, resume) => {
      // All that was handed over, of which a part may still wait in user land.
      const request = { probe: watched, until, target: socket.bytesWritten, timeoutMs };
      settler.settle(request, (result) => {
        settled = result;
        setTimeout(resume, GRACE_MS[result.level]);
      });
    },
    beforeTeardown: () => {
      written = socket.bytesWritten - base;
      // A source that answers later answers too late; what settling saw is the last that is known.
      watched.look();
      flushed = flushedNow();
      tornDown = true;
      weEnd();
    },
    evidence: async (flushedBytes, timeoutMs) => {
      written = Math.max(written, socket.bytesWritten - base);
      flushed = Math.max(flushedNow(), base + flushedBytes);
      const request = { probe: watched, until: 'read', target: flushed, timeoutMs } as const;
      // After this very turn, in which the connection may be ended by us.
      const gone = !tornDown && (await new Promise<Settled>((resolve) => settler.settle(request, resolve))).gone;
      return evidenceNow(gone);
    },
  };
}
