import type { Socket } from 'node:net';
import type { KnownHeads } from '../http/known-heads.js';
import type { BadRequest, Request, RequestHead } from '../http/request.js';
import { type ParserLimits, type RequestParser, requestParser } from '../http/request-parser.js';
import type { Later } from '../later.js';
import type { HeadDecision, Job } from './job.js';

export interface ReaderDeps {
  readonly limits: ParserLimits;
  readonly heads: KnownHeads;
  /** From the first byte of a request to its last; 0 for no limit. */
  readonly requestTimeoutMs: number;
}

export interface ReaderEvents {
  /** Whether the first bytes of a request, so many, are the last that are looked at here. */
  begun(bytes: number): Later<boolean>;
  head(head: RequestHead): Later<HeadDecision>;
  /** A whole request has come. `alone`: nothing came with it, so it can be answered at once where nothing else is. */
  request(request: Request, alone: boolean): void;
  /** A request is answered with what follows its head unread. */
  unread(job: Job): void;
  bad(bad: BadRequest): void;
  /** What was decided about a head came when there was nobody to be answered any more. */
  late(job: Job): void;
  isOver(): boolean;
  /** A decision was waited for, and all that came meanwhile has been looked at. */
  decided(): void;
}

const CUT_SHORT: BadRequest = { status: 400, reason: 'the connection ended inside a request' };

/** Blank lines begin no request (RFC 9112, section 2.2). */
function isBlank(bytes: Buffer): boolean {
  for (let n = 0; n < bytes.length; n++) if (bytes[n] !== 0x0d && bytes[n] !== 0x0a) return false;
  return true;
}

/**
 * From the bytes of a connection to its requests. Where somebody else has to be asked about a head, or about the first
 * byte of a request, nothing is made of what comes until there is an answer; then the head is parsed once more.
 */
export class RequestReader {
  private readonly socket: Socket;
  private readonly deps: ReaderDeps;
  private readonly on: ReaderEvents;
  /** Lives only while it is needed: 10,000 stalled connections keep none. */
  private parser: RequestParser | undefined;
  private timer: NodeJS.Timeout | undefined;
  private continueWanted = false;
  /** What came while a decision is waited for on which it depends what is made of it. */
  private held: Buffer[] | undefined;
  /** The decision about a head that is parsed for the second time, now that there is one. */
  private decision: HeadDecision | undefined;

  constructor(socket: Socket, deps: ReaderDeps, on: ReaderEvents) {
    this.socket = socket;
    this.deps = deps;
    this.on = on;
  }

  /** Whether something may have come of the bytes. `free`: nothing is going on, so they may be the first of a request. */
  take(bytes: Buffer, free: boolean): boolean {
    if (this.held) {
      this.held.push(bytes);
      return false;
    }
    if (free && !this.parser && !isBlank(bytes)) {
      const begun = this.on.begun(bytes.length);
      if (begun instanceof Promise) {
        this.hold(begun, bytes);
        return false;
      }
      if (begun) return false;
    }
    this.parse(bytes, true);
    return true;
  }

  /**
   * Holds what comes until it is decided whether the connection is read. `first`: bytes that came before those that are
   * held, where it is.
   */
  hold(done: Promise<boolean>, first?: Buffer): void {
    this.held = first ? [first] : [];
    this.socket.pause();
    void done.then((isDone) => {
      const came = this.held ?? [];
      this.held = undefined;
      if (isDone) return;
      for (const bytes of came) this.more(bytes);
      if (!this.held && !this.socket.destroyed) this.on.decided();
    });
  }

  isHeld(): boolean {
    return this.held !== undefined;
  }

  /** The client will send nothing more. */
  ended(): void {
    if (this.parser?.midRequest()) this.on.bad(CUT_SHORT);
  }

  /** Whether the client waits for its 100; asked once. */
  takeContinue(): boolean {
    const wanted = this.continueWanted;
    this.continueWanted = false;
    return wanted;
  }

  /** Nothing more is made of what comes. */
  stop(): void {
    this.parser = undefined;
    this.disarm();
  }

  /** Bytes that were held. */
  private more(bytes: Buffer): void {
    if (this.held) this.held.push(bytes);
    else if (!this.on.isOver() && !this.socket.destroyed) this.parse(bytes, false);
  }

  /** `last`: nothing more is there to be parsed. */
  private parse(bytes: Buffer, last: boolean): void {
    const { heads } = this.deps;
    const known = this.parser || this.decision !== undefined ? undefined : heads.request(bytes);
    if (known) {
      if (this.decide(known)) this.whole(known, last);
      // Decided later: then it is looked at once more.
      else this.held?.unshift(bytes);
    } else this.parseAfresh(bytes);
  }

  /** Not where heads are known: what its functions hold is made room for each time that it is called (100 bytes, measured). */
  private parseAfresh(bytes: Buffer): void {
    const { heads } = this.deps;
    const fresh = !this.parser;
    let last: Request | undefined;
    this.parser ??= requestParser(this.deps.limits, {
      onHead: (head) => this.decide(head),
      onRequest: (request) => {
        last = request;
        this.whole(request, false);
      },
      onBad: (bad) => this.on.bad(bad),
    });
    const feeding = this.parser;
    feeding.feed(bytes);
    if (this.held) {
      this.held.unshift(feeding.taken());
      this.stop();
      return;
    }
    // A refusal has ended the parser already.
    if (this.parser?.midRequest()) {
      this.arm();
      return;
    }
    if (fresh && last && this.parser) heads.learn(bytes, last);
    this.stop();
  }

  private whole(request: Request, alone: boolean): void {
    this.continueWanted = false;
    this.disarm();
    this.on.request(request, alone);
  }

  /** Whether the parser shall go on. */
  private decide(head: RequestHead): boolean {
    const decided = this.decision ?? this.on.head(head);
    this.decision = undefined;
    if (decided instanceof Promise) {
      this.holdUntil(decided);
      return false;
    }
    if (decided === 'read') this.continueWanted = head.expectsContinue;
    if (typeof decided === 'string') return true;
    this.on.unread(decided);
    return false;
  }

  private holdUntil(decided: Promise<HeadDecision>): void {
    this.hold(
      decided.then((later) => {
        this.decision = later;
        if (typeof later === 'object' && (this.on.isOver() || this.socket.destroyed)) this.on.late(later);
        return false;
      }),
    );
  }

  private arm(): void {
    const { requestTimeoutMs } = this.deps;
    if (requestTimeoutMs > 0) this.timer ??= setTimeout(() => this.expire(), requestTimeoutMs);
  }

  private expire(): void {
    this.timer = undefined;
    // While it is the client that waits, for its 100 or for room in the queue, its time doesn't run out.
    if (this.continueWanted || this.socket.isPaused()) this.arm();
    else {
      const { requestTimeoutMs } = this.deps;
      this.on.bad({ status: 408, reason: `the request was not complete after ${requestTimeoutMs} ms` });
    }
  }

  private disarm(): void {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
