import type { Socket } from 'node:net';
import { replyPlan } from '../fault/reply-plan.js';
import type { WirePlan } from '../fault/wire-plan.js';
import type { KnownHeads } from '../http/known-heads.js';
import { badRequestReply } from '../http/reply.js';
import type { BadRequest, Request, RequestHead } from '../http/request.js';
import { type ParserLimits, type RequestParser, requestParser } from '../http/request-parser.js';
import type { Later } from '../later.js';
import type { ConnectionRecorder, ExchangeRecorder } from '../proof/recorder.js';
import { leaveUnread, readExactly, readOn } from './exact-read.js';
import { type IdleEvent, type IdleWatch, watchIdle } from './idle.js';
import { pumpLines } from './live.js';
import { type PeerState, watchPeer } from './peer.js';
import { type Playback, type PlayEnd, type PlayHooks, play } from './player.js';

/**
 * One accepted connection: requests in, plans played, one after the other in the order of the requests
 * (RFC 9112, section 9.3.2). What the bytes mean is the parser's matter, what is answered the handler's.
 */
export interface Job {
  readonly plan: WirePlan;
  /** Plays what comes from somewhere else, instead of the plan; the end tells the plan that it came to be. */
  readonly play?: ((socket: Socket, hooks: PlayHooks) => Playback) | undefined;
  /** Lines that follow the plan, as they come; the plan ends in silence then. */
  readonly lines?: AsyncIterableIterator<string>;
  onLast?(): void;
  onWrite?(segment: Buffer): void;
  /** Just before a reset or a FIN of the plan's. */
  onTeardown?(): void;
  /** `requestBytes` were read of a request that was not looked at. */
  onEnd?(end: PlayEnd, recorder: ExchangeRecorder, requestBytes: number): void;
}

/** A job that doesn't wait for a request: it begins once so many bytes of it were read. */
export interface EarlyJob extends Job {
  readonly requestBytes: number;
}

/** What is done about a request whose head has come: read on, read on without the 100 that it waits for, or answer now. */
export type HeadDecision = 'read' | 'withhold' | Job;

/** Who decides what the requests of a connection get. What is decided later is waited for; promises never reject. */
export interface Handler {
  /** Asked when a connection is accepted, and at the first byte of each later request. */
  early(): Later<EarlyJob | undefined>;
  head(head: RequestHead): Later<HeadDecision>;
  request(request: Request): Later<Job>;
}

export interface ConnectionDeps {
  readonly limits: ParserLimits;
  /** From the first byte of a request to its last; 0 for no limit. */
  readonly requestTimeoutMs: number;
  readonly recorder: ConnectionRecorder;
  readonly handler: Handler;
  readonly heads: KnownHeads;
  readonly timeScale: PlayHooks['timeScale'];
  readonly gate: PlayHooks['gate'];
  onBad(bad: BadRequest): void;
  onIdle(event: IdleEvent): void;
}

export interface Connection {
  /** Ends what is going on, now. */
  destroy(): void;
}

/** Requests that were read ahead of their turn; beyond that the client has to wait. */
const MAX_QUEUED = 16;

/**
 * How long a closed connection is still read after its last byte, and in all, so that bytes under way don't turn our
 * FIN into a reset that makes the client lose the answer (RFC 9112, section 9.6).
 */
const LINGER_MS = 1000;
const MAX_LINGER_MS = 30_000;

const CUT_SHORT: BadRequest = { status: 400, reason: 'the connection ended inside a request' };

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

type Queued =
  | { readonly kind: 'request'; readonly request: Request }
  /** Answered with its body unread. */
  | { readonly kind: 'unread'; readonly job: Job }
  | { readonly kind: 'bad'; readonly bad: BadRequest };

/** Whether the connection can be used again after the plan. */
function leavesOpen({ steps, closes }: WirePlan): boolean {
  const end = steps.at(-1);
  return !closes && end?.op === 'teardown' && (end.kind === 'keep_alive' || end.kind === 'eof');
}

/** Blank lines begin no request (RFC 9112, section 2.2). */
function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x0d || byte === 0x0a);
}

/** Serves a socket that isn't being read yet. */
export function serveConnection(socket: Socket, deps: ConnectionDeps): Connection {
  const { handler } = deps;
  const queue: Queued[] = [];
  let parser: RequestParser | undefined;
  let playback: Playback | undefined;
  let requestTimer: NodeJS.Timeout | undefined;
  let lingerTimer: NodeJS.Timeout | undefined;
  let lingerEndMs = 0;
  let idle: IdleWatch | undefined;
  /** Gives up the job that waits for bytes of a request. */
  let giveUp: ((how: PlayEnd['how']) => void) | undefined;
  /** No more is made of what this connection sends; what was read before is still answered. */
  let closing = false;
  /** What still comes stays with the kernel. */
  let unread = false;
  let clientEnded = false;
  let continueWanted = false;
  /** What came while a decision is waited for on which it depends what is made of it. */
  let held: Buffer[] | undefined;
  /** The decision about a head that is parsed for the second time, now that there is one. */
  let decided: HeadDecision | undefined;
  /** An answer is being decided on. */
  let deciding = false;
  /** Who ends what was decided on too late. */
  let goneBy: PlayEnd['how'] = 'client_closed';

  socket.on('data', onData);

  function onData(bytes: Buffer): void {
    if (closing) {
      // Read and dropped. A client that reads only once it has sent everything is given the time for that.
      if (performance.now() < lingerEndMs) lingerTimer?.refresh();
      return;
    }
    if (held) {
      held.push(bytes);
      return;
    }
    if (!parser && !playback && !deciding && queue.length === 0 && !isBlank(bytes) && begun(bytes)) return;
    parse(bytes);
    next();
  }

  /** Whether the first bytes of a request get something before it is looked at. */
  function begun(bytes: Buffer): boolean {
    if (idle?.onRequest()) return true;
    const job = handler.early();
    if (job instanceof Promise) {
      hold(job, (later) => {
        if (later) beginEarly(later, bytes.length);
        else more(bytes);
        return later === undefined;
      });
      return true;
    }
    if (!job) return false;
    startEarly(job, bytes.length);
    return true;
  }

  /** Nothing is made of what comes until there is a decision. `then` tells whether the connection is read on. */
  function hold<T>(later: Promise<T>, then: (decision: T) => boolean): void {
    held = [];
    socket.pause();
    void later.then((decision) => {
      const came = held ?? [];
      held = undefined;
      if (!then(decision)) return;
      for (const bytes of came) more(bytes);
      if (held || socket.destroyed) return;
      if (clientEnded && parser?.midRequest()) refuse(CUT_SHORT);
      if (queue.length < MAX_QUEUED && !unread) socket.resume();
      next();
    });
  }

  /** Bytes that were held. */
  function more(bytes: Buffer): void {
    if (held) held.push(bytes);
    else if (!closing && !socket.destroyed) parse(bytes);
  }

  /** Of a decision that may have come too late. */
  function beginEarly(job: EarlyJob, read: number): void {
    if (closing || socket.destroyed) abandon(job, goneBy, read);
    else startEarly(job, read);
  }

  function parse(bytes: Buffer): void {
    const known = parser ? undefined : deps.heads.request(bytes);
    if (known && decided === undefined) {
      takeKnown(known, bytes);
      return;
    }
    const fresh = !parser;
    let first: Request | undefined;
    // The parser lives only while it is needed: 10,000 stalled connections keep none.
    parser ??= requestParser(deps.limits, {
      onHead: (head) => decide(head),
      onRequest: (request) => {
        first = request;
        takeWhole(request);
      },
      onBad: refuse,
    });
    const feeding = parser;
    feeding.feed(bytes);
    if (held) {
      const again = feeding.taken();
      parser = undefined;
      disarm();
      held.unshift(again);
      return;
    }
    // A refusal has ended the parser already.
    if (parser?.midRequest()) {
      arm();
      return;
    }
    if (fresh && first && parser) deps.heads.learn(bytes, first);
    parser = undefined;
    disarm();
  }

  function takeWhole(request: Request): void {
    continueWanted = false;
    disarm();
    enqueue({ kind: 'request', request });
  }

  function takeKnown(request: Request, bytes: Buffer): void {
    if (decide(request)) takeWhole(request);
    // Decided later: then it is looked at once more.
    else held?.unshift(bytes);
  }

  /** Whether the parser shall go on. */
  function decide(head: RequestHead): boolean {
    const decision = decided ?? handler.head(head);
    decided = undefined;
    if (decision instanceof Promise) {
      // The head is parsed once more, with what was decided.
      hold(decision, (later) => {
        decided = later;
        if (typeof later === 'object' && (closing || socket.destroyed)) abandon(later, goneBy, 0);
        return true;
      });
      return false;
    }
    if (decision === 'read') continueWanted = head.expectsContinue;
    if (typeof decision === 'string') return true;
    stopReading();
    enqueue({ kind: 'unread', job: decision });
    return false;
  }

  socket.on('end', () => {
    clientEnded = true;
    if (parser?.midRequest()) refuse(CUT_SHORT);
    playback?.clientEnded();
    next();
  });

  // The error says no more than the close that follows it.
  socket.on('error', () => {});
  socket.on('close', () => {
    disarm();
    clearTimeout(lingerTimer);
    idle?.stop();
    giveUp?.('client_closed');
    playback?.abort('client');
    forget('client_closed');
  });

  function arm(): void {
    if (deps.requestTimeoutMs > 0) requestTimer ??= setTimeout(expire, deps.requestTimeoutMs);
  }

  function expire(): void {
    requestTimer = undefined;
    // While it is the client that waits, for its 100 or for room in the queue, its time doesn't run out.
    if (continueWanted || socket.isPaused()) arm();
    else refuse({ status: 408, reason: `the request was not complete after ${deps.requestTimeoutMs} ms` });
  }

  function disarm(): void {
    clearTimeout(requestTimer);
    requestTimer = undefined;
  }

  function refuse(bad: BadRequest): void {
    if (closing) return;
    closing = true;
    disarm();
    parser = undefined;
    enqueue({ kind: 'bad', bad });
    next();
  }

  function enqueue(item: Queued): void {
    queue.push(item);
    if (queue.length === MAX_QUEUED) socket.pause();
  }

  function next(): void {
    if (playback || deciding || socket.destroyed) return;
    const item = queue.shift();
    if (queue.length < MAX_QUEUED && !unread && !held) socket.resume();
    switch (item?.kind) {
      case 'request':
        answer(item.request);
        break;
      case 'unread':
        start(item.job, false);
        break;
      case 'bad':
        deps.onBad(item.bad);
        start({ plan: replyPlan(badRequestReply(item.bad), { keepAlive: false }) }, false);
        break;
      case undefined:
        if (held) break;
        if (closing || clientEnded) finish();
        else invite();
        break;
      default:
        item satisfies never;
    }
  }

  function answer(request: Request): void {
    const job = handler.request(request);
    if (!(job instanceof Promise)) {
      start(job, request.keepAlive);
      return;
    }
    deciding = true;
    idle?.stop();
    void job.then((later) => {
      deciding = false;
      if (socket.destroyed) abandon(later, goneBy, 0);
      else start(later, request.keepAlive);
    });
  }

  /** The client holds its body back until it is asked for. An interim answer belongs to no plan. */
  function invite(): void {
    if (!continueWanted) return;
    continueWanted = false;
    socket.write(CONTINUE);
  }

  function start(job: Job, keepAlive: boolean, requestBytes = 0): void {
    if (!keepAlive || (!job.play && !leavesOpen(job.plan))) beLast();
    idle?.stop();
    const recorder = deps.recorder.exchange();
    const hooks: PlayHooks = {
      onWrite: (segment) => {
        job.onWrite?.(segment);
        const { lines } = job;
        // Behind this very write, which is the head.
        if (lines) queueMicrotask(() => void pumpLines(socket, lines));
      },
      settle: ({ until, timeoutMs }, resume) => recorder.settle(until, timeoutMs, resume),
      gate: deps.gate,
      timeScale: deps.timeScale,
      beforeReset: () => {
        recorder.beforeTeardown();
        job.onTeardown?.();
      },
      beforeFin: () => job.onTeardown?.(),
      onLast: () => job.onLast?.(),
      onEnd: (end) => {
        playback = undefined;
        job.onEnd?.(end, recorder, requestBytes);
        const { played = job.plan } = end;
        if (end.how !== 'done') beLast(end.how);
        else if (!leavesOpen(played)) beLast();
        else if (!closing && played.idle) idle = watchIdle(socket, played.idle, idleHooks);
        next();
      },
    };
    const playing = job.play ? job.play(socket, hooks) : play(socket, job.plan, hooks);
    playback = playing;
    if (clientEnded) playing.clientEnded();
    playing.begin();
  }

  /** What this connection sends is left to the kernel. */
  function stopReading(): void {
    closing = true;
    unread = true;
    leaveUnread(socket);
    // Nobody reads, so nobody sees the client go.
    watchPeer(socket, onPeer);
  }

  /** A client that has shut its side may still read: what there is to come comes first, with its bytes unread. */
  function onPeer(state: PeerState): void {
    if (!unread) return;
    // As a read would tell it; but with bytes before it Node reads a reset as an end (measured).
    if (state === 'gone') socket.destroy(new Error('the client has reset the connection'));
    else if (playback?.silent()) readRest();
  }

  function readRest(): void {
    unread = false;
    readOn(socket);
  }

  const idleHooks = {
    timeScale: deps.timeScale,
    onEvent: (event: IdleEvent) => {
      if (event.did === 'fin') {
        beLast();
        finish();
      }
      deps.onIdle(event);
    },
  };

  /** Plays a job once so many bytes of a request were read, of which `read` are already. */
  function startEarly(job: EarlyJob, read: number): void {
    stopReading();
    const begin = (more: number): void => {
      giveUp = undefined;
      disarm();
      start(job, false, read + more);
    };
    const stop = readExactly(socket, Math.max(0, job.requestBytes - read), begin);
    // The request may be shorter than that.
    if (deps.requestTimeoutMs > 0) requestTimer = setTimeout(() => begin(stop()), deps.requestTimeoutMs);
    giveUp = (how) => {
      giveUp = undefined;
      abandon(job, how, read + stop());
    };
  }

  /** Ends a job whose turn will never come. */
  function abandon(job: Job, how: PlayEnd['how'], requestBytes: number): void {
    void job.lines?.return?.();
    job.onEnd?.({ how, reached: undefined, flushedBytes: 0 }, deps.recorder.exchange(), requestBytes);
  }

  function forget(how: PlayEnd['how']): void {
    for (const item of queue.splice(0)) if (item.kind === 'unread') abandon(item.job, how, 0);
  }

  /** Nothing is answered after what is played now. What still comes is read all the same, to see the client go. */
  function beLast(how: PlayEnd['how'] = 'server_closed'): void {
    closing = true;
    parser = undefined;
    disarm();
    forget(how);
    goneBy = how;
    if (!unread && !held) socket.resume();
  }

  /** Sends FIN after what was written, and reads on for a while. */
  function finish(): void {
    if (socket.destroyed || lingerTimer) return;
    closing = true;
    socket.end();
    if (unread) readRest();
    if (clientEnded) return;
    lingerEndMs = performance.now() + MAX_LINGER_MS;
    lingerTimer = setTimeout(() => socket.destroy(), LINGER_MS);
  }

  const first = handler.early();
  if (first instanceof Promise) {
    hold(first, (job) => {
      if (job) beginEarly(job, 0);
      return job === undefined;
    });
  } else if (first) startEarly(first, 0);
  else socket.resume();

  return {
    destroy: () => {
      goneBy = 'server_closed';
      giveUp?.('server_closed');
      playback?.abort('server');
      forget('server_closed');
      socket.destroy();
    },
  };
}
