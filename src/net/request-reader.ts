import type { Socket } from 'node:net';
import type { KnownHeads } from '../http/known-heads.js';
import type { BadRequest, Request, RequestHead } from '../http/request.js';
import { type ParserLimits, type RequestParser, requestParser } from '../http/request-parser.js';
import type { Later } from '../later.js';
import type { HeadDecision, Job } from './job.js';

/**
 * From the bytes of a connection to its requests. Where somebody else has to be asked about a head, or about the first
 * byte of a request, nothing is made of what comes until there is an answer; then the head is parsed once more.
 */
export interface RequestReader {
  /** Whether something may have come of the bytes. `free`: nothing is going on, so they may be the first of a request. */
  take(bytes: Buffer, free: boolean): boolean;
  /** Holds what comes until it is decided whether the connection is read. */
  hold(done: Promise<boolean>): void;
  isHeld(): boolean;
  /** The client will send nothing more. */
  ended(): void;
  /** Whether the client waits for its 100; asked once. */
  takeContinue(): boolean;
  /** Nothing more is made of what comes. */
  stop(): void;
}

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
  /** A whole request has come. */
  request(request: Request): void;
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
  return bytes.every((byte) => byte === 0x0d || byte === 0x0a);
}

export function requestReader(socket: Socket, deps: ReaderDeps, on: ReaderEvents): RequestReader {
  let parser: RequestParser | undefined;
  let timer: NodeJS.Timeout | undefined;
  let continueWanted = false;
  /** What came while a decision is waited for on which it depends what is made of it. */
  let held: Buffer[] | undefined;
  /** The decision about a head that is parsed for the second time, now that there is one. */
  let decision: HeadDecision | undefined;

  function take(bytes: Buffer, free: boolean): boolean {
    if (held) {
      held.push(bytes);
      return false;
    }
    if (free && !parser && !isBlank(bytes)) {
      const begun = on.begun(bytes.length);
      if (begun instanceof Promise) {
        hold(begun, bytes);
        return false;
      }
      if (begun) return false;
    }
    parse(bytes);
    return true;
  }

  /** `first`: bytes that came before those that are held, where the connection is read. */
  function hold(done: Promise<boolean>, first?: Buffer): void {
    held = first ? [first] : [];
    socket.pause();
    void done.then((isDone) => {
      const came = held ?? [];
      held = undefined;
      if (isDone) return;
      for (const bytes of came) more(bytes);
      if (!held && !socket.destroyed) on.decided();
    });
  }

  /** Bytes that were held. */
  function more(bytes: Buffer): void {
    if (held) held.push(bytes);
    else if (!on.isOver() && !socket.destroyed) parse(bytes);
  }

  function parse(bytes: Buffer): void {
    const known = parser || decision !== undefined ? undefined : deps.heads.request(bytes);
    if (known) {
      if (decide(known)) whole(known);
      // Decided later: then it is looked at once more.
      else held?.unshift(bytes);
      return;
    }
    const fresh = !parser;
    let last: Request | undefined;
    // The parser lives only while it is needed: 10,000 stalled connections keep none.
    parser ??= requestParser(deps.limits, {
      onHead: decide,
      onRequest: (request) => {
        last = request;
        whole(request);
      },
      onBad: on.bad,
    });
    const feeding = parser;
    feeding.feed(bytes);
    if (held) {
      held.unshift(feeding.taken());
      stop();
      return;
    }
    // A refusal has ended the parser already.
    if (parser?.midRequest()) {
      arm();
      return;
    }
    if (fresh && last && parser) deps.heads.learn(bytes, last);
    stop();
  }

  function whole(request: Request): void {
    continueWanted = false;
    disarm();
    on.request(request);
  }

  /** Whether the parser shall go on. */
  function decide(head: RequestHead): boolean {
    const decided = decision ?? on.head(head);
    decision = undefined;
    if (decided instanceof Promise) {
      hold(
        decided.then((later) => {
          decision = later;
          if (typeof later === 'object' && (on.isOver() || socket.destroyed)) on.late(later);
          return false;
        }),
      );
      return false;
    }
    if (decided === 'read') continueWanted = head.expectsContinue;
    if (typeof decided === 'string') return true;
    on.unread(decided);
    return false;
  }

  function arm(): void {
    if (deps.requestTimeoutMs > 0) timer ??= setTimeout(expire, deps.requestTimeoutMs);
  }

  function expire(): void {
    timer = undefined;
    // While it is the client that waits, for its 100 or for room in the queue, its time doesn't run out.
    if (continueWanted || socket.isPaused()) arm();
    else on.bad({ status: 408, reason: `the request was not complete after ${deps.requestTimeoutMs} ms` });
  }

  function disarm(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  function stop(): void {
    parser = undefined;
    disarm();
  }

  return {
    take,
    hold,
    isHeld: () => held !== undefined,
    ended: () => {
      if (parser?.midRequest()) on.bad(CUT_SHORT);
    },
    takeContinue: () => {
      const wanted = continueWanted;
      continueWanted = false;
      return wanted;
    },
    stop,
  };
}
