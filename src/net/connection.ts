import type { Socket } from 'node:net';
import { replyPlan } from '../fault/reply-plan.js';
import { badRequestReply } from '../http/reply.js';
import type { BadRequest, Request, RequestHead } from '../http/request.js';
import type { Later } from '../later.js';
import type { ConnectionRecorder } from '../proof/recorder.js';
import { type Answerer, Answering, leavesOpen } from './answering.js';
import type { Connection, ConnectionDeps, ConnectionParts } from './connection-deps.js';
import { type IdleEvent, type IdleHooks, type IdleWatch, watchIdle } from './idle.js';
import type { EarlyJob, Handler, HeadDecision, Job } from './job.js';
import { Linger } from './linger.js';
import type { Playback, PlayEnd } from './play.js';
import { isFull, NOBODY, type Queued, withLast, withoutFirst } from './request-queue.js';
import { type ReaderEvents, RequestReader } from './request-reader.js';
import { listenTo, type SocketListener } from './socket-listener.js';
import { UnreadRest } from './unread-rest.js';

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** Serves a socket that isn't being read yet. */
export function serveConnection(socket: Socket, deps: ConnectionDeps, parts: ConnectionParts): Connection {
  const connection = new ServedConnection(socket, deps, parts);
  listenTo(socket, connection);
  connection.open();
  return connection;
}

/**
 * One accepted connection: requests in, plans played, one after the other in the order of the requests
 * (RFC 9112, section 9.3.2). What the bytes mean is the parser's matter, what is answered the handler's.
 */
class ServedConnection implements Connection, SocketListener, ReaderEvents, Answerer, IdleHooks {
  private readonly socket: Socket;
  private readonly deps: ConnectionDeps;
  private readonly recorder: ConnectionRecorder;
  private readonly number: number;
  /** Given up, both, when no request is read any more: a connection of thousands that wait holds as little as it can. */
  private handler: Handler | undefined;
  private reader: RequestReader | undefined;
  private queue = NOBODY;
  private playback: Playback | undefined;
  private linger: Linger | undefined;
  private idle: IdleWatch | undefined;
  /** Gives up the job that waits for bytes of a request. */
  private giveUp: ((how: PlayEnd['how']) => void) | undefined;
  /** No more is made of what this connection sends; what was read before is still answered. */
  private closing = false;
  /** What still comes stays with the kernel. */
  private rest: UnreadRest | undefined;
  private clientEnded = false;
  /** An answer is being decided on. */
  private deciding = false;
  /** Who ends what was decided on too late. */
  private goneBy: PlayEnd['how'] = 'client_closed';

  constructor(socket: Socket, deps: ConnectionDeps, { recorder, handler, number }: ConnectionParts) {
    this.socket = socket;
    this.deps = deps;
    this.recorder = recorder;
    this.handler = handler;
    this.number = number;
    this.reader = new RequestReader(socket, deps, this);
  }

  open(): void {
    const first = this.begun(0);
    if (first instanceof Promise) this.reader?.hold(first);
    else if (!first) this.socket.resume();
  }

  destroy(): void {
    this.goneBy = 'server_closed';
    this.giveUp?.('server_closed');
    this.playback?.abort('server');
    this.forget('server_closed');
    this.socket.destroy();
  }

  // What the socket tells.

  data(bytes: Buffer): void {
    if (this.closing) {
      // Read and dropped.
      this.linger?.heard();
      return;
    }
    if (this.reader?.take(bytes, this.isFree())) this.next();
  }

  /** Whether nothing is going on. */
  private isFree(): boolean {
    return !this.playback && !this.deciding && this.queue.length === 0;
  }

  clientEnd(): void {
    this.recorder.clientEnded();
    this.clientEnded = true;
    this.reader?.ended();
    this.playback?.clientEnded();
    this.next();
  }

  /** The error says no more than the close that follows it. */
  failed(): void {
    this.recorder.clientReset();
  }

  closed(): void {
    this.recorder.closed();
    this.reader?.stop();
    this.linger?.stop();
    this.idle?.stop();
    this.giveUp?.('client_closed');
    this.playback?.abort('client');
    this.forget('client_closed');
    this.deps.onClose(this);
  }

  // What the reader tells.

  begun(read: number): Later<boolean> {
    if (this.idle?.onRequest()) return true;
    const early = this.handler?.early();
    return early instanceof Promise ? this.begunLater(early, read) : this.beginEarly(early, read);
  }

  /** In a function of its own, as below: what a closure holds is made room for each time that the function around it is called. */
  private begunLater(early: Promise<EarlyJob | undefined>, read: number): Promise<boolean> {
    return early.then((job) => this.beginEarly(job, read));
  }

  head(head: RequestHead): Later<HeadDecision> {
    return this.handler?.head(head) ?? 'read';
  }

  request(request: Request, alone: boolean): void {
    // Most requests wait for nobody, and need no place in a queue.
    if (alone && this.isFree() && !this.socket.destroyed) this.answer(request);
    else this.enqueue({ kind: 'request', request });
  }

  unread(job: Job): void {
    this.stopReading();
    this.enqueue({ kind: 'unread', job });
  }

  bad(bad: BadRequest): void {
    if (this.closing) return;
    this.closing = true;
    this.reader?.stop();
    this.enqueue({ kind: 'bad', bad });
    this.next();
  }

  late(job: Job): void {
    this.abandon(job, this.goneBy, 0);
  }

  isOver(): boolean {
    return this.closing;
  }

  decided(): void {
    if (this.clientEnded) this.reader?.ended();
    if (!isFull(this.queue) && this.reads()) this.socket.resume();
    this.next();
  }

  /** What was decided on may have come too late. Whether there was anything. */
  private beginEarly(job: EarlyJob | undefined, read: number): boolean {
    if (!job) return false;
    if (this.closing || this.socket.destroyed) this.abandon(job, this.goneBy, read);
    else this.startEarly(job, read);
    return true;
  }

  private enqueue(item: Queued): void {
    this.queue = withLast(this.queue, item);
    if (isFull(this.queue)) this.socket.pause();
  }

  private next(): void {
    const { socket } = this;
    if (this.playback || this.deciding || socket.destroyed) return;
    const item = this.queue[0];
    this.queue = withoutFirst(this.queue);
    if (!isFull(this.queue) && this.reads()) socket.resume();
    switch (item?.kind) {
      case 'request':
        this.answer(item.request);
        break;
      case 'unread':
        this.start(item.job, false);
        break;
      case 'bad':
        this.deps.onBad(item.bad);
        this.start({ plan: replyPlan(badRequestReply(item.bad), { keepAlive: false }) }, false);
        break;
      case undefined:
        if (this.reader?.isHeld()) break;
        if (this.closing || this.clientEnded) this.finish();
        else this.invite();
        break;
      default:
        item satisfies never;
    }
  }

  private answer(request: Request): void {
    const job = this.handler?.request(request);
    if (job instanceof Promise) this.answerLater(job, request.keepAlive);
    else if (job) this.start(job, request.keepAlive);
  }

  private answerLater(job: Promise<Job>, keepAlive: boolean): void {
    this.deciding = true;
    this.idle?.stop();
    void job.then((later) => {
      this.deciding = false;
      if (this.socket.destroyed) this.abandon(later, this.goneBy, 0);
      else this.start(later, keepAlive);
    });
  }

  /** The client holds its body back until it is asked for. An interim answer belongs to no plan. */
  private invite(): void {
    if (this.reader?.takeContinue()) this.socket.write(CONTINUE);
  }

  private start(job: Job, keepAlive: boolean, requestBytes = 0): void {
    if (!keepAlive || (!job.play && !leavesOpen(job.plan))) this.beLast();
    this.idle?.stop();
    const recorder = this.recorder.exchange();
    const playing = new Answering(this.socket, job, recorder, this, requestBytes).playback();
    this.playback = playing;
    if (this.clientEnded) playing.clientEnded();
    playing.begin();
  }

  // What the answer tells.

  get timeScale(): number {
    return this.deps.timeScale;
  }

  gate(name: string, resume: () => void): () => void {
    return this.deps.gate(name, resume);
  }

  playEnded(): void {
    this.playback = undefined;
  }

  answered(end: PlayEnd, job: Job): void {
    const { played = job.plan } = end;
    if (end.how !== 'done') this.beLast(end.how);
    else if (!leavesOpen(played)) this.beLast();
    else if (!this.closing && played.idle) this.idle = watchIdle(this.socket, played.idle, this);
    this.next();
  }

  onEvent(event: IdleEvent): void {
    if (event.did === 'fin') {
      this.beLast();
      this.finish();
    }
    this.deps.onIdle(event, this.number);
  }

  private reads(): boolean {
    return !this.rest?.isLeft() && !this.reader?.isHeld();
  }

  /** What this connection sends is left to the kernel. */
  private stopReading(): UnreadRest {
    this.closing = true;
    this.rest ??= new UnreadRest(this.socket, () => this.playback?.silent() ?? false);
    return this.rest;
  }

  /** Plays a job once so many bytes of a request were read, of which `read` are already. */
  private startEarly(job: EarlyJob, read: number): void {
    const left = Math.max(0, job.requestBytes - read);
    const stop = this.stopReading().take(left, this.deps.requestTimeoutMs, (more) => {
      this.giveUp = undefined;
      this.start(job, false, read + more);
    });
    this.giveUp = (how) => {
      this.giveUp = undefined;
      this.abandon(job, how, read + stop());
    };
  }

  /** Ends a job whose turn will never come. */
  private abandon(job: Job, how: PlayEnd['how'], requestBytes: number): void {
    void job.lines?.return?.();
    job.onEnd?.({ how, reached: undefined, flushedBytes: 0 }, this.recorder.exchange(), requestBytes);
  }

  private forget(how: PlayEnd['how']): void {
    const waiting = this.queue;
    this.queue = NOBODY;
    for (const item of waiting) if (item.kind === 'unread') this.abandon(item.job, how, 0);
  }

  /** Nothing is answered after what is played now. What still comes is read all the same, to see the client go. */
  private beLast(how: PlayEnd['how'] = 'server_closed'): void {
    this.closing = true;
    this.reader?.stop();
    // What was asked already is still waited for.
    if (!this.reader?.isHeld()) {
      this.reader = undefined;
      this.handler = undefined;
    }
    this.forget(how);
    this.goneBy = how;
    if (this.reads()) this.socket.resume();
  }

  /** Sends FIN after what was written, and reads on for a while. */
  private finish(): void {
    const { socket } = this;
    if (socket.destroyed || this.linger) return;
    this.closing = true;
    socket.end();
    this.rest?.readOn();
    if (!this.clientEnded) this.linger = new Linger(socket);
  }
}
