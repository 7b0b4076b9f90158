import type { Socket } from 'node:net';
import { replyPlan } from '../fault/reply-plan.js';
import type { WirePlan } from '../fault/wire-plan.js';
import { badRequestReply } from '../http/reply.js';
import type { BadRequest, Request } from '../http/request.js';
import { type ParserLimits, type RequestParser, requestParser } from '../http/request-parser.js';
import type { ConnectionRecorder, ExchangeRecorder } from '../proof/recorder.js';
import { type Playback, type PlayEnd, play } from './player.js';

/**
 * One accepted connection: requests in, plans played, one after the other in the order of the requests
 * (RFC 9112, section 9.3.2). What the bytes mean is the parser's matter, what is answered the handler's.
 */
export interface Job {
  readonly plan: WirePlan;
  onLast?(): void;
  onWrite?(segment: Buffer): void;
  /** Just before a reset or a FIN of the plan's. */
  onTeardown?(): void;
  onEnd?(end: PlayEnd, recorder: ExchangeRecorder): void;
}

export interface ConnectionDeps {
  readonly limits: ParserLimits;
  /** From the first byte of a request to its last; 0 for no limit. */
  readonly requestTimeoutMs: number;
  readonly recorder: ConnectionRecorder;
  handle(request: Request): Job;
  onBad(bad: BadRequest): void;
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
  | { readonly kind: 'bad'; readonly bad: BadRequest };

/** Whether the connection can be used again after the plan. */
function leavesOpen({ steps }: WirePlan): boolean {
  const end = steps.at(-1);
  return end?.op === 'teardown' && (end.kind === 'keep_alive' || end.kind === 'eof');
}

export function serveConnection(socket: Socket, deps: ConnectionDeps): Connection {
  const queue: Queued[] = [];
  let parser: RequestParser | undefined;
  let playback: Playback | undefined;
  let requestTimer: NodeJS.Timeout | undefined;
  let lingerTimer: NodeJS.Timeout | undefined;
  let lingerEndMs = 0;
  /** No more is made of what this connection sends; what was read before is still answered. */
  let closing = false;
  let clientEnded = false;
  let continueWanted = false;

  socket.on('data', (bytes) => {
    if (closing) {
      // Read and dropped. A client that reads only once it has sent everything is given the time for that.
      if (performance.now() < lingerEndMs) lingerTimer?.refresh();
      return;
    }
    // The parser lives only while it is needed: 10,000 stalled connections keep none.
    parser ??= requestParser(deps.limits, {
      onExpectContinue: () => {
        continueWanted = true;
      },
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
    next();
  });

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
    queue.length = 0;
    playback?.abort('client');
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
    if (queue.length < MAX_QUEUED) socket.resume();
    switch (item?.kind) {
      case 'request':
        start(deps.handle(item.request), item.request.keepAlive);
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

  function start(job: Job, keepAlive: boolean): void {
    if (!keepAlive || !leavesOpen(job.plan)) beLast();
    const recorder = deps.recorder.exchange();
    playback = play(socket, job.plan, {
      onWrite: (segment) => job.onWrite?.(segment),
      settle: ({ until, timeoutMs }, resume) => recorder.settle(until, timeoutMs, resume),
      beforeReset: () => {
        recorder.beforeTeardown();
        job.onTeardown?.();
      },
      beforeFin: () => job.onTeardown?.(),
      onLast: () => job.onLast?.(),
      onEnd: (end) => {
        playback = undefined;
        job.onEnd?.(end, recorder);
        if (end.how !== 'done') beLast();
        next();
      },
    });
    if (clientEnded) playback.clientEnded();
  }

  /** Nothing is answered after what is played now. What still comes is read all the same, to see the client go. */
  function beLast(): void {
    closing = true;
    parser = undefined;
    disarm();
    queue.length = 0;
    socket.resume();
  }

  /** Sends FIN after what was written, and reads on for a while. */
  function finish(): void {
    if (socket.destroyed || lingerTimer) return;
    closing = true;
    socket.end();
    if (clientEnded) return;
    lingerEndMs = performance.now() + MAX_LINGER_MS;
    lingerTimer = setTimeout(() => socket.destroy(), LINGER_MS);
  }

  return {
    destroy: () => {
      playback?.abort('server');
      socket.destroy();
    },
  };
}
