import type { Socket } from 'node:net';
import { type Counters, flushedOf, handleOf, type Kernel, type SocketProbe } from './counters.js';
import type { Line, Rounds } from './rounds.js';
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
  /** When the client's FIN or RST came, by `performance.now()`; `undefined` where it hasn't. */
  readonly clientEndAtMs?: number | undefined;
}

export interface EvidenceWanted {
  readonly flushedBytes: number;
  readonly timeoutMs: number;
  /** The connection is there to be asked about later, too. */
  readonly goesOn: boolean;
}

export interface ExchangeRecorder {
  /** Waits for evidence before a teardown, and then for the grace that its level needs. */
  settle(until: EvidenceLevel, timeoutMs: number, resume: () => void): void;
  /** The last look before a teardown of ours, after which the kernel forgets the socket at once. */
  beforeTeardown(): void;
  /**
   * The evidence once all that was flushed has settled, or can't any more; never within this turn, in which the
   * connection may be ended by us.
   * `flushedBytes` is what the write callbacks told, which is all there is where the socket is gone already.
   */
  evidence(end: EvidenceWanted, done: (seen: ExchangeEvidence) => void): void;
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

/** Who asks the kernel: at once before a teardown, now and then about what has ended. */
export interface Askers {
  readonly settler: Settler;
  readonly rounds: Rounds;
}

export function recordConnection(socket: Socket, kernel: Kernel, { settler, rounds }: Askers): ConnectionRecorder {
  const watched = watch(kernel.probe(socket));
  const line = rounds.of(watched);
  let endedBy: EndedBy | undefined;
  let clientEndAtMs: number | undefined;
  const handle = handleOf(socket);
  /** What the kernel had taken when the client reset the connection. */
  let takenAtReset: number | undefined;
  // Where our FIN has gone out before, what comes from the client is its answer to that.
  const ended = (by: EndedBy): void => {
    endedBy ??= socket.writableFinished ? 'server' : by;
    clientEndAtMs ??= performance.now();
  };
  socket.on('end', () => {
    ended('client_fin');
    // The socket may be gone before the exchange's turn to be asked about comes.
    watched.look();
  });
  socket.on('error', () => {
    ended('client_rst');
    // The socket has let go of its handle, which still counts what it could not hand over, until it is closed.
    takenAtReset = handle && handle.bytesWritten - handle.writeQueueSize;
  });
  socket.on('close', () => {
    endedBy ??= 'server';
  });
  const end = (): ConnectionEnd => ({
    by: endedBy ?? (socket.writableEnded || socket.destroyed ? 'server' : undefined),
    clientEndAtMs,
  });
  let endpoints: Endpoints | undefined;
  const connection: Recorded = {
    socket,
    watched,
    line,
    settler,
    // Asked for at the first exchange: a socket that is gone doesn't know its peer any more.
    endpoints: () => {
      endpoints ??= {
        client: endpointOf(socket.remoteAddress, socket.remotePort),
        server: endpointOf(socket.localAddress, socket.localPort),
      };
      return endpoints;
    },
    takenAtReset: () => takenAtReset,
    end,
    weEnd: () => {
      endedBy ??= 'server';
    },
  };
  let close: (() => void) | undefined;
  return {
    exchange: () => {
      // What ends the connection from now on ends another exchange.
      close?.();
      const recorded = recordExchange(connection);
      close = recorded.close;
      return recorded.recorder;
    },
  };
}

interface Endpoints {
  readonly client: Endpoint;
  readonly server: Endpoint;
}

/** What ended a connection, as far as it has ended. */
interface ConnectionEnd {
  readonly by: EndedBy | undefined;
  readonly clientEndAtMs: number | undefined;
}

/** What the exchanges of a connection share. */
interface Recorded {
  readonly socket: Socket;
  readonly watched: Watched;
  readonly line: Line;
  readonly settler: Settler;
  endpoints(): Endpoints;
  takenAtReset(): number | undefined;
  end(): ConnectionEnd;
  weEnd(): void;
}

export function endpointOf(address: string | undefined, port: number | undefined): Endpoint {
  return { address: address ?? null, port: port ?? null };
}

/** Remembers what was seen last: a socket can be gone when it is asked again, and the client's goes before ours. */
interface Watched extends SocketProbe {
  last(): Counters | undefined;
  /** What the client had read when it was last asked is less than what has been flushed since. */
  stale(): boolean;
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
    last: () => last,
    stale: () => stale,
  };
}

function recordExchange(connection: Recorded): { readonly recorder: ExchangeRecorder; close(): void } {
  const { socket, watched, settler, takenAtReset } = connection;
  const base = socket.bytesWritten;
  const { client, server } = connection.endpoints();
  let settled: Settled | undefined;
  let written = 0;
  let flushed = base;
  let tornDown = false;
  let ended: ConnectionEnd | undefined;

  const flushedNow = (): number =>
    Math.max(flushed, flushedOf(socket) ?? takenAtReset() ?? watched.last()?.flushed ?? base);
  /** The exchange's part of a count of the connection. */
  const own = (count: number): number => Math.max(0, Math.min(count - base, written));

  function evidenceNow(gone: boolean): ExchangeEvidence {
    const last = watched.last();
    const { by, clientEndAtMs } = ended ?? connection.end();
    const part = (count: number | null | undefined): number | null =>
      count === null || count === undefined ? null : Math.min(own(count), own(flushed));
    return {
      client,
      server,
      connectionOffset: base,
      bytes: { written, flushed: own(flushed), acked: part(last?.acked), read: part(last?.read) },
      // What is known to have been read stays so, whatever became of the socket.
      stale: !(typeof last?.read === 'number' && last.read >= flushed) && (watched.stale() || gone),
      settled,
      endedBy: by,
      clientEndAtMs,
    };
  }

  const recorder: ExchangeRecorder = {
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
      connection.weEnd();
    },
    evidence: ({ flushedBytes, timeoutMs, goesOn }, done) => {
      if (!goesOn && !tornDown) watched.look();
      written = Math.max(written, socket.bytesWritten - base);
      flushed = Math.max(flushedNow(), base + flushedBytes);
      if (tornDown) setImmediate(() => done(evidenceNow(false)));
      else connection.line.ask(flushed, timeoutMs, (gone) => done(evidenceNow(gone)));
    },
  };
  return {
    recorder,
    close: () => {
      ended ??= connection.end();
    },
  };
}
