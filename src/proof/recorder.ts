import type { Socket } from 'node:net';
import { type Counters, flushedOf, handleOf, type Kernel, type SocketProbe } from './counters.js';
import { clientOf, type Endpoint, serverOf } from './endpoints.js';
import type { Line, Question, Rounds } from './rounds.js';
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

/** What is watched is told by whoever listens to the socket: a listener of its own would cost each connection another. */
export interface ConnectionRecorder {
  /** The exchange's bytes begin here. */
  exchange(): ExchangeRecorder;
  /** The client's FIN has come. */
  clientEnded(): void;
  /** The socket has failed, which is what a reset of the client's looks like. */
  clientReset(): void;
  /** The socket is closed. */
  closed(): void;
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

/** For a socket whose events the connection tells; before anything else is done about them. */
export function recordConnection(socket: Socket, kernel: Kernel, askers: Askers): ConnectionRecorder {
  return new RecordedConnection(socket, kernel, askers);
}

/** What ended a connection, as far as it has ended. */
interface ConnectionEnd {
  readonly by: EndedBy | undefined;
  readonly clientEndAtMs: number | undefined;
}

/**
 * Classes, here and in what else each connection has one of: their methods are there once, where closures cost each of
 * 10,000 connections 64 bytes a function and their shared context (bench/stalled: 5 of 14 kB).
 */
class RecordedConnection implements ConnectionRecorder, SocketProbe {
  readonly socket: Socket;
  readonly askers: Askers;
  private readonly kernel: Kernel;
  private readonly handle: ReturnType<typeof handleOf>;
  private probe: SocketProbe | undefined;
  private asked: Line | undefined;
  private endedBy: EndedBy | undefined;
  private clientEndAtMs: number | undefined;
  /** What the kernel had taken when the client reset the connection. */
  takenAtReset: number | undefined;
  /** What was seen last: a socket can be gone when it is asked again, and the client's goes before ours. */
  last: Counters | undefined;
  /** What the client had read when it was last asked is less than what has been flushed since. */
  stale = false;
  private client: Endpoint | undefined;
  private server: Endpoint | undefined;
  private current: RecordedExchange | undefined;

  constructor(socket: Socket, kernel: Kernel, askers: Askers) {
    this.socket = socket;
    this.kernel = kernel;
    this.askers = askers;
    this.handle = handleOf(socket);
  }

  exchange(): ExchangeRecorder {
    // What ends the connection from now on ends another exchange.
    this.current?.close();
    // Asked for at the first exchange: a socket that is gone doesn't know its peer any more.
    this.ofClient();
    this.ofServer();
    this.current = new RecordedExchange(this);
    return this.current;
  }

  ofClient(): Endpoint {
    this.client ??= clientOf(this.socket);
    return this.client;
  }

  ofServer(): Endpoint {
    this.server ??= serverOf(this.socket);
    return this.server;
  }

  clientEnded(): void {
    this.ended('client_fin');
    // The socket may be gone before the exchange's turn to be asked about comes.
    this.look();
  }

  clientReset(): void {
    this.ended('client_rst');
    // The socket has let go of its handle, which still counts what it could not hand over, until it is closed.
    this.takenAtReset = this.handle && this.handle.bytesWritten - this.handle.writeQueueSize;
  }

  closed(): void {
    this.endedBy ??= 'server';
  }

  /** Where our FIN has gone out before, what comes from the client is its answer to that. */
  private ended(by: EndedBy): void {
    this.endedBy ??= this.socket.writableFinished ? 'server' : by;
    this.clientEndAtMs ??= performance.now();
  }

  weEnd(): void {
    this.endedBy ??= 'server';
  }

  end(): ConnectionEnd {
    const { writableEnded, destroyed } = this.socket;
    return {
      by: this.endedBy ?? (writableEnded || destroyed ? 'server' : undefined),
      clientEndAtMs: this.clientEndAtMs,
    };
  }

  look(): Counters | undefined | Promise<Counters | undefined> {
    this.probe ??= this.kernel.probe(this.socket);
    const looked = this.probe.look();
    return looked instanceof Promise ? looked.then((counters) => this.saw(counters)) : this.saw(looked);
  }

  private saw(counters: Counters | undefined): Counters | undefined {
    if (!counters) return undefined;
    const { last } = this;
    const { flushed, acked, read } = counters;
    this.stale = read === null && typeof last?.read === 'number' && last.read < flushed;
    this.last = { flushed, acked: acked ?? last?.acked ?? null, read: read ?? last?.read ?? null };
    return counters;
  }

  /** Asks now and then, once there is something to be asked about. */
  line(): Line {
    this.asked ??= this.askers.rounds.of(this);
    return this.asked;
  }
}

class RecordedExchange implements ExchangeRecorder {
  private readonly connection: RecordedConnection;
  /** Bytes of the connection before the exchange's first. */
  private readonly base: number;
  private settled: Settled | undefined;
  private written = 0;
  private flushed: number;
  private tornDown = false;
  private ended: ConnectionEnd | undefined;

  constructor(connection: RecordedConnection) {
    this.connection = connection;
    this.base = connection.socket.bytesWritten;
    this.flushed = this.base;
  }

  /** What ends the connection later isn't this exchange's end. */
  close(): void {
    this.ended ??= this.connection.end();
  }

  settle(until: EvidenceLevel, timeoutMs: number, resume: () => void): void {
    const { connection } = this;
    // All that was handed over, of which a part may still wait in user land.
    const request = { probe: connection, until, target: connection.socket.bytesWritten, timeoutMs };
    connection.askers.settler.settle(request, (result) => {
      this.settled = result;
      setTimeout(resume, GRACE_MS[result.level]);
    });
  }

  beforeTeardown(): void {
    const { connection } = this;
    this.written = connection.socket.bytesWritten - this.base;
    // A source that answers later answers too late; what settling saw is the last that is known.
    connection.look();
    this.flushed = this.flushedNow();
    this.tornDown = true;
    connection.weEnd();
  }

  evidence({ flushedBytes, timeoutMs, goesOn }: EvidenceWanted, done: (seen: ExchangeEvidence) => void): void {
    const { connection, base } = this;
    if (!goesOn && !this.tornDown) connection.look();
    this.written = Math.max(this.written, connection.socket.bytesWritten - base);
    this.flushed = Math.max(this.flushedNow(), base + flushedBytes);
    if (this.tornDown) setImmediate(() => done(this.evidenceNow(false)));
    else connection.line().ask(new EvidenceQuestion(this, this.flushed, done), timeoutMs);
  }

  private flushedNow(): number {
    const { socket, takenAtReset, last } = this.connection;
    return Math.max(this.flushed, flushedOf(socket) ?? takenAtReset ?? last?.flushed ?? this.base);
  }

  /** The exchange's part of a count of the connection. */
  private own(count: number): number {
    return Math.max(0, Math.min(count - this.base, this.written));
  }

  private part(count: number | null | undefined): number | null {
    return count === null || count === undefined ? null : Math.min(this.own(count), this.own(this.flushed));
  }

  evidenceNow(gone: boolean): ExchangeEvidence {
    const { connection, written, flushed } = this;
    const { last, stale } = connection;
    const { by, clientEndAtMs } = this.ended ?? connection.end();
    return {
      client: connection.ofClient(),
      server: connection.ofServer(),
      connectionOffset: this.base,
      bytes: { written, flushed: this.own(flushed), acked: this.part(last?.acked), read: this.part(last?.read) },
      // What is known to have been read stays so, whatever became of the socket.
      stale: !(typeof last?.read === 'number' && last.read >= flushed) && (stale || gone),
      settled: this.settled,
      endedBy: by,
      clientEndAtMs,
    };
  }
}

/** What became of an exchange's bytes, and who wants to know. */
class EvidenceQuestion implements Question {
  readonly target: number;
  sinceMs = 0;
  untilMs = 0;
  after: Question | undefined;
  private readonly exchange: RecordedExchange;
  private readonly done: (seen: ExchangeEvidence) => void;

  constructor(exchange: RecordedExchange, target: number, done: (seen: ExchangeEvidence) => void) {
    this.exchange = exchange;
    this.target = target;
    this.done = done;
  }

  answered(gone: boolean): void {
    this.done(this.exchange.evidenceNow(gone));
  }
}
