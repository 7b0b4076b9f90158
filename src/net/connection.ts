import type { Socket } from 'node:net';
import { replyPlan } from '../fault/reply-plan.js';
import type { WirePlan } from '../fault/wire-plan.js';
import { badRequestReply } from '../http/reply.js';
import type { BadRequest, Request, RequestHead } from '../http/request.js';
import { type ParserLimits, type RequestParser, requestParser } from '../http/request-parser.js';
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
  play?(socket: Socket, hooks: PlayHooks): Playback;
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

/** Who decides what the requests of a connection get. */
export interface Handler {
  /** Asked when a connection is accepted, and at the first byte of each later request. */
  early(): EarlyJob | undefined;
  head(head: RequestHead): HeadDecision;
  request(request: Request): Job;
}

export interface ConnectionDeps {
  readonly limits: ParserLimits;
  /** From the first byte of a request to its last; 0 for no limit. */
  readonly requestTimeoutMs: number;
  readonly recorder: ConnectionRecorder;
  readonly handler: Handler;
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

  socket.on('data', (bytes) => {
    if (closing) {
      // Read and dropped. A client that reads only once it has sent everything is given the time for that.
      if (performance.now() < lingerEndMs) lingerTimer?.refresh();
      return;
    }
    if (!parser && !playback && queue.length === 0 && !isBlank(bytes) && begun(bytes)) return;
    parse(bytes);
    next();
  });

  /** Whether the first bytes of a request get something before it is looked at. */
  function begun(bytes: Buffer): boolean {
    if (idle?.onRequest()) return true;
    const job = handler.early();
    if (!job) return false;
    startEarly(job, bytes.length);
    return true;
  }

  function parse(bytes: Buffer): void {
    // The parser lives only while it is needed: 10,000 stalled connections keep none.
    parser ??= requestParser(deps.limits, {
      onHead: (head) => decide(head),
      onRequest: (request) => {
        continueWanted = false;
        disarm();
        enqueue({ kind: 'request', request });
      },
      onBad: refuse,
    });
    parser.feed(bytes);
    // A refusal has ended the parser already.
    if (parser?.midRequest) arm();
    else {
      parser = undefined;
      disarm();
    }
  }

  /** Whether the parser shall go on. */
  function decide(head: RequestHead): boolean {
    const decision = handler.head(head);
    if (decision === 'read') continueWanted = head.expectsContinue;
    if (typeof decision === 'string') return true;
    stopReading();
    enqueue({ kind: 'unread', job: decision });
    return false;
  }

  socket.on('end', () => {
    clientEnded = true;
    if (parser?.midRequest) refuse({ status: 400, reason: 'the connection ended inside a request' });
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
    if (playback || socket.destroyed) return;
    const item = queue.shift();
    if (queue.length < MAX_QUEUED && !unread) socket.resume();
    switch (item?.kind) {
      case 'request':
        start(handler.request(item.request), item.request.keepAlive);
        break;
      case 'unread':
        start(item.job, false);
        break;
      case 'bad':
        deps.onBad(item.bad);
        start({ plan: replyPlan(badRequestReply(item.bad), { keepAlive: false }) }, false);
        break;
      case undefined:
        if (closing || clientEnded) finish();
        else invite();
        break;
      default:
        item satisfies never;
    }
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
    playback = job.play ? job.play(socket, hooks) : play(socket, job.plan, hooks);
    if (clientEnded) playback.clientEnded();
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
    else if (playback?.silent) readRest();
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
    if (!unread) socket.resume();
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
  if (first) startEarly(first, 0);
  else socket.resume();

  return {
    destroy: () => {
      giveUp?.('server_closed');
      playback?.abort('server');
      forget('server_closed');
      socket.destroy();
    },
  };
}
