import type { Socket } from 'node:net';
import type { Teardown } from '../fault/spec.js';
import { pulseBytes, type Step, type WirePlan } from '../fault/wire-plan.js';
import { AtRest } from './at-rest.js';
import { endsQuietly, lastVisible, lastWritten } from './plan-ends.js';
import type { Playback, PlayEnd, PlayHooks } from './play.js';
import { type Alarm, alarm, wheelMs } from './wheel.js';

/** Plays a plan on a socket, step by step. The only place that writes answers. */
export function play(socket: Socket, plan: WirePlan, hooks: PlayHooks): Playback {
  return new Player(socket, plan, hooks);
}

const NO_BYTES = Buffer.alloc(0);

class Player implements Playback {
  private readonly socket: Socket;
  private readonly steps: readonly Step[];
  private bytes: Buffer;
  private readonly hooks: PlayHooks;
  private readonly timeScale: number;
  private readonly last: number;
  private readonly lastWrite: number;
  private next = 0;
  private reached: Step | undefined;
  private pendingWrites = 0;
  private flushedBytes = 0;
  private ended = false;
  private clientHasEnded = false;
  /** Made once there is something to wait for, and then for all of it. */
  private pause: Alarm | undefined;
  private leaveGate: (() => void) | undefined;
  /** What follows once when the kernel has taken all that was written. */
  private onFlushed: (() => void) | 'next step' | undefined;
  /** Goes on with the next step; made once it is needed, which is once for each event of a paced answer. */
  private goOn: (() => void) | undefined;
  // Waits add up on this clock, not on the moments at which timers happen to fire: delays don't drift (measured: 19 ms a second).
  private clockMs = performance.now();

  constructor(socket: Socket, { steps, bytes }: WirePlan, hooks: PlayHooks) {
    this.socket = socket;
    this.steps = steps;
    this.bytes = bytes;
    this.hooks = hooks;
    this.timeScale = hooks.timeScale;
    this.last = lastVisible(steps);
    this.lastWrite = lastWritten(steps);
  }

  begin(): void {
    this.run();
  }

  silent(): boolean {
    return this.waitsFor('stall') || this.waitsFor('half_close');
  }

  clientEnded(): void {
    this.clientHasEnded = true;
    if (this.waitsFor('stall')) this.end('client_closed');
    if (this.waitsFor('half_close')) this.end('done');
  }

  abort(by: 'client' | 'server'): void {
    this.end(by === 'client' ? 'client_closed' : 'server_closed');
  }

  private waitsFor(kind: Teardown): boolean {
    return this.reached?.op === 'teardown' && this.reached.kind === kind;
  }

  private end(how: PlayEnd['how']): void {
    if (this.ended) return;
    this.ended = true;
    this.pause?.cancel();
    this.leaveGate?.();
    const { reached, flushedBytes } = this;
    this.hooks.onEnd({ how, reached, flushedBytes });
  }

  private written(length: number, failed: boolean): void {
    this.pendingWrites--;
    if (!failed) this.flushedBytes += length;
    if (this.pendingWrites > 0 || failed) return;
    const resume = this.onFlushed;
    this.onFlushed = undefined;
    if (resume === 'next step') this.run();
    else resume?.();
  }

  /** Whether all is flushed already; otherwise `then` is called once it is, or the play goes on where there is none. */
  private flushedOr(then?: () => void): boolean {
    if (this.pendingWrites > 0) this.onFlushed = then ?? 'next step';
    return this.pendingWrites === 0;
  }

  private runner(): () => void {
    this.goOn ??= () => this.run();
    return this.goOn;
  }

  private run(): void {
    while (!this.ended) {
      const step = this.steps[this.next];
      if (!step) {
        this.end('done');
        return;
      }
      if (this.next === this.last) this.hooks.onLast();
      this.reached = step;
      this.next++;
      if (!this.take(step)) return;
    }
  }

  /**
   * Whether the next write may follow at once; otherwise `then` is called (by default the play goes on) when it may. A
   * client that doesn't read holds further writes here, but never a teardown. `planned` of the bytes count as bytes of
   * the plan.
   */
  private write(segment: Buffer, planned: number, then?: () => void): boolean {
    this.hooks.onWrite?.(segment);
    const room = this.hand(segment, planned);
    return room || this.next > this.lastWrite || this.flushedOr(then);
  }

  /**
   * Whether the socket has room for more. A callback costs each event of a paced answer a tick and 500 bytes (measured),
   * and mostly the kernel has taken the bytes before it is there; what it hasn't is called back for, and what stands
   * before an end that waits for it.
   */
  private hand(segment: Buffer, planned: number): boolean {
    const { socket } = this;
    if (this.pendingWrites > 0 || (this.next > this.lastWrite && endsQuietly(this.steps))) {
      return socket.write(segment, this.tells(planned));
    }
    const room = socket.write(segment);
    if (socket.writableLength === 0 && !socket.errored && !socket.destroyed) this.flushedBytes += planned;
    // Nothing, behind what it still has.
    else socket.write(NO_BYTES, this.tells(planned));
    return room;
  }

  private tells(planned: number): (error?: Error | null) => void {
    this.pendingWrites++;
    // Node calls back without an error for what a socket that was reset has thrown away (measured; stream_base_commons.js).
    return (error) => this.written(planned, error instanceof Error || this.socket.destroyed);
  }

  private pulse(step: Step & { op: 'pulse' }, done = 0): boolean {
    if (done >= step.times) return true;
    this.clockMs += step.everyMs / this.timeScale;
    this.wait(() => {
      const again = (): void => {
        if (!this.ended && this.pulse(step, done + 1)) this.run();
      };
      if (this.write(pulseBytes({ bytes: this.bytes }, step, done + 1), 0, again)) again();
    });
    return false;
  }

  /** Until the moment that the clock stands at. */
  private wait(act: () => void): void {
    this.pause ??= alarm();
    this.pause.set(this.clockMs, act);
  }

  private stopAt(gate: string): false {
    this.leaveGate = this.hooks.gate(gate, () => {
      this.leaveGate = undefined;
      // Time that was spent here is nobody's delay.
      this.clockMs = Math.max(this.clockMs, performance.now());
      this.run();
    });
    return false;
  }

  /**
   * Takes one step. Whether the next may follow at once; otherwise `run` is called when it may. Closures are made
   * elsewhere: one in here costs every step a context (40 bytes).
   */
  private take(step: Step): boolean {
    switch (step.op) {
      case 'write':
        return this.write(this.bytes.subarray(step.start, step.end), step.end - step.start);
      case 'wait': {
        this.clockMs += step.ms / this.timeScale;
        if (this.clockMs <= wheelMs()) return true;
        this.wait(this.runner());
        return false;
      }
      case 'pulse':
        return this.pulse(step);
      case 'gate':
        return this.stopAt(step.name);
      case 'settle':
        this.hooks.settle(step, this.runner());
        return false;
      case 'teardown':
        return this.tearDown(step);
      default:
        return step satisfies never;
    }
  }

  private tearDown(step: Step & { op: 'teardown' }): boolean {
    const { socket, hooks } = this;
    switch (step.kind) {
      case 'rst':
      case 'rst_now':
        // Before `end`, whose hooks could shut the socket down: a reset while a shutdown is pending fails (measured: EINVAL).
        hooks.beforeReset();
        socket.resetAndDestroy();
        return true;
      case 'keep_alive':
      case 'eof':
        return this.flushedOr();
      case 'fin':
        if (step.unread) return this.closeUnread();
        hooks.beforeFin();
        socket.end();
        return true;
      case 'half_close':
        hooks.beforeFin();
        socket.end();
        // Whoever shut its side as well has nothing more to say.
        if (this.clientHasEnded) this.end('done');
        return this.rest();
      case 'stall':
        if (this.clientHasEnded) this.end('client_closed');
        return this.rest();
      default:
        return step.kind satisfies never;
    }
  }

  /** Until `clientEnded` or `abort`. A connection of thousands that wait so holds as little as it can. */
  private rest(): false {
    this.bytes = NO_BYTES;
    if (!this.ended) this.hooks.onRest?.(this.resting(), this.pendingWrites === 0);
    return false;
  }

  /** What a client has still to take is counted here. */
  private resting(): Playback {
    const { hooks, reached, flushedBytes } = this;
    return this.pendingWrites > 0 || reached?.op !== 'teardown' ? this : new AtRest(hooks, reached, flushedBytes);
  }

  /** close(2) with what the client sent unread, which the kernel makes a RST (RFC 2525, section 2.17). */
  private closeUnread(): boolean {
    const close = (): void => {
      this.hooks.beforeReset();
      this.socket.destroy();
    };
    const flushed = this.flushedOr(() => {
      close();
      this.run();
    });
    if (flushed) close();
    return flushed;
  }
}
