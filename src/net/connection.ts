import type { Socket } from 'node:net';
import { replyPlan } from '../fault/reply-plan.js';
import type { WirePlan } from '../fault/wire-plan.js';
import { badRequestReply } from '../http/reply.js';
import type { BadRequest, Request } from '../http/request.js';
import { after, type Later } from '../later.js';
import type { ConnectionRecorder } from '../proof/recorder.js';
import { leaveUnread, readExactly, readOn } from './exact-read.js';
import { type IdleEvent, type IdleWatch, watchIdle } from './idle.js';
import type { EarlyJob, Handler, Job } from './job.js';
import { pumpLines } from './live.js';
import { type PeerState, watchPeer } from './peer.js';
import { type Playback, type PlayEnd, type PlayHooks, play } from './player.js';
import { type ReaderDeps, requestReader } from './request-reader.js';

/**
 * One accepted connection: requests in, plans played, one after the other in the order of the requests
 * (RFC 9112, section 9.3.2). What the bytes mean is the parser's matter, what is answered the handler's.
 */
export interface ConnectionDeps extends ReaderDeps {
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

/** Serves a socket that isn't being read yet. */
export function serveConnection(socket: Socket, deps: ConnectionDeps): Connection {
  const { handler } = deps;
  const queue: Queued[] = [];
  let playback: Playback | undefined;
  let earlyTimer: NodeJS.Timeout | undefined;
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
  /** An answer is being decided on. */
  let deciding = false;
  /** Who ends what was decided on too late. */
  let goneBy: PlayEnd['how'] = 'client_closed';

  const reader = requestReader(socket, deps, {
    begun,
    head: handler.head,
    request: (request) => enqueue({ kind: 'request', request }),
    unread: (job) => {
      stopReading();
      enqueue({ kind: 'unread', job });
    },
    bad: refuse,
    late: (job) => abandon(job, goneBy, 0),
    isOver: () => closing,
    decided: () => {
      if (clientEnded) reader.ended();
      if (queue.length < MAX_QUEUED && !unread) socket.resume();
      next();
    },
  });

  socket.on('data', (bytes) => {
    if (closing) {
      // Read and dropped. A client that reads only once it has sent everything is given the time for that.
      if (performance.now() < lingerEndMs) lingerTimer?.refresh();
      return;
    }
    const free = !playback && !deciding && queue.length === 0;
    if (reader.take(bytes, free)) next();
  });

  /** Whether the first bytes of a request, so many, get something before it is looked at. */
  function begun(read: number): Later<boolean> {
    if (idle?.onRequest()) return true;
    return after(handler.early(), (job) => {
      if (job) beginEarly(job, read);
      return job !== undefined;
    });
  }

  /** What was decided on may have come too late. */
  function beginEarly(job: EarlyJob, read: number): void {
    if (closing || socket.destroyed) abandon(job, goneBy, read);
    else startEarly(job, read);
  }

  socket.on('end', () => {
    clientEnded = true;
    reader.ended();
    playback?.clientEnded();
    next();
  });

  // The error says no more than the close that follows it.
  socket.on('error', () => {});
  socket.on('close', () => {
    reader.stop();
    clearTimeout(earlyTimer);
    clearTimeout(lingerTimer);
    idle?.stop();
    giveUp?.('client_closed');
    playback?.abort('client');
    forget('client_closed');
  });

  function refuse(bad: BadRequest): void {
    if (closing) return;
    closing = true;
    reader.stop();
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
    if (queue.length < MAX_QUEUED && !unread && !reader.isHeld()) socket.resume();
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
        if (reader.isHeld()) break;
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
    if (reader.takeContinue()) socket.write(CONTINUE);
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
      clearTimeout(earlyTimer);
      start(job, false, read + more);
    };
    const stop = readExactly(socket, Math.max(0, job.requestBytes - read), begin);
    // The request may be shorter than that.
    if (deps.requestTimeoutMs > 0) earlyTimer = setTimeout(() => begin(stop()), deps.requestTimeoutMs);
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
    reader.stop();
    forget(how);
    goneBy = how;
    if (!unread && !reader.isHeld()) socket.resume();
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

  const first = begun(0);
  if (first instanceof Promise) reader.hold(first);
  else if (!first) socket.resume();

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
