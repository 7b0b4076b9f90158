import type { Socket } from 'node:net';
import { type Counters, flushedOf, type Kernel, type SocketProbe } from './counters.js';
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

export interface ExchangeEvidence {
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
  const probe = kernel.probe(socket);
  let endedBy: EndedBy | undefined;
  socket.once('end', () => {
    endedBy ??= 'client_fin';
  });
  socket.once('error', () => {
    endedBy ??= 'client_rst';
  });
  socket.once('close', () => {
    endedBy ??= 'server';
  });
  return {
    exchange: () =>
      recordExchange(
        socket,
        probe,
        settler,
        () => endedBy,
        () => {
          endedBy ??= 'server';
        },
      ),
  };
}

function recordExchange(
  socket: Socket,
  probe: SocketProbe,
  settler: Settler,
  endedBy: () => EndedBy | undefined,
  weEnd: () => void,
): ExchangeRecorder {
  const base = socket.bytesWritten;
  let last: Counters | undefined;
  let settled: Settled | undefined;
  let written = 0;
  let tornDown = false;

  let stale = false;
  const seen = (counters: Counters | undefined): void => {
    if (!counters) return;
    // The client's socket can go before ours: what it had read by then is the last that is known.
    stale = counters.read === null && typeof last?.read === 'number' && last.read < counters.flushed;
    last = { ...counters, acked: counters.acked ?? last?.acked ?? null, read: counters.read ?? last?.read ?? null };
  };
  const flushedNow = (): number => flushedOf(socket) ?? last?.flushed ?? base;
  /** The exchange's part of a count of the connection. */
  const own = (count: number): number => Math.max(0, Math.min(count - base, written));

  function evidenceNow(gone: boolean, flushed: number): ExchangeEvidence {
    const part = (count: number | null | undefined): number | null =>
      count === null || count === undefined ? null : Math.min(own(count), own(flushed));
    return {
      bytes: { written, flushed: own(flushed), acked: part(last?.acked), read: part(last?.read) },
      stale: stale || gone,
      settled,
      endedBy: endedBy(),
    };
  }

  return {
    settle: (until, timeoutMs, resume) => {
      // All that was handed over, of which a part may still wait in user land.
      const request = { probe, until, target: socket.bytesWritten, timeoutMs };
      settler.settle(request, (result) => {
        settled = result;
        seen(result.counters);
        setTimeout(resume, GRACE_MS[result.level]);
      });
    },
    beforeTeardown: () => {
      written = socket.bytesWritten - base;
      const looked = probe.look();
      // A source that answers later answers too late; what settling saw is the last that is known.
      if (!(looked instanceof Promise)) seen(looked);
      last = last && { ...last, flushed: Math.max(last.flushed, flushedNow()) };
      tornDown = true;
      weEnd();
    },
    evidence: (flushedBytes, timeoutMs) =>
      new Promise((resolve) => {
        written = Math.max(written, socket.bytesWritten - base);
        const target = Math.max(flushedNow(), base + flushedBytes);
        if (tornDown) {
          resolve(evidenceNow(false, target));
          return;
        }
        settler.settle({ probe, until: 'read', target, timeoutMs }, (result) => {
          seen(result.counters);
          resolve(evidenceNow(result.gone, target));
        });
      }),
  };
}
