import type { Socket } from 'node:net';
import type { Teardown } from '../fault/spec.js';
import { pulseBytes, type Step, type WirePlan } from '../fault/wire-plan.js';
import { type Wait, waitUntil } from './wheel.js';

/**
 * Plays a plan on a socket, step by step. The only place that writes answers.
 */
export interface PlayEnd {
  /** `done`: the plan was played to its end. Otherwise who ended it before. */
  readonly how: 'done' | 'client_closed' | 'server_closed';
  /** The last step that was reached, with `how`, tells what became of the connection. */
  readonly reached: Step | undefined;
  /** Bytes of the plan whose write callback has fired: the kernel has taken them. */
  readonly flushedBytes: number;
  /** What the plan came to be, where it wasn't known before it was played; its bytes aren't kept. */
  readonly played?: WirePlan;
}

export interface PlayHooks {
  /** Just before the last thing that the client can see of this exchange: its last bytes, or its teardown. */
  onLast(): void;
  /** Bytes are handed to the socket. */
  onWrite?(segment: Buffer): void;
  /** Waits for evidence of what was written; calls `resume` when it has it, or will not get it. */
  settle(step: Step & { readonly op: 'settle' }, resume: () => void): void;
  /** Waits at a gate; calls `resume` when it is released. The returned function gives up waiting. */
  gate(name: string, resume: () => void): () => void;
  /** The last moment at which the kernel still knows the connection. */
  beforeReset(): void;
  /** Our FIN is sent in the middle of the answer. */
  beforeFin(): void;
  onEnd(end: PlayEnd): void;
  /** All pauses are so many times shorter. */
  readonly timeScale: number;
}

export interface Playback extends Playing {
  /** Begins the play; not done by itself, since hooks may look at the playback. */
  begin(): void;
}

/** What is being played. */
export interface Playing {
  /** Nothing more comes until the client or the server ends it. */
  silent(): boolean;
  /** The client will send nothing more. It may still read; but silence has nobody to be silent to. */
  clientEnded(): void;
  /** Ends the play at once; `by` is who made it end. */
  abort(by: 'client' | 'server'): void;
}

/** The step before which the client has seen everything but the end. */
function lastVisible(steps: readonly Step[]): number {
  const teardown = steps.at(-1);
  const quiet = teardown?.op === 'teardown' && (teardown.kind === 'keep_alive' || teardown.kind === 'eof');
  return quiet ? steps.findLastIndex((step) => step.op === 'write') : steps.length - 1;
}

export function play(socket: Socket, plan: WirePlan, hooks: PlayHooks): Playback {
  const { steps, bytes } = plan;
  const last = lastVisible(steps);
  const lastWrite = steps.findLastIndex((step) => step.op === 'write' || step.op === 'pulse');
  let next = 0;
  let reached: Step | undefined;
  let pendingWrites = 0;
  let flushedBytes = 0;
  let ended = false;
  let clientHasEnded = false;
  let pause: Wait | undefined;
  let leaveGate: (() => void) | undefined;
  /** Called once when the kernel has taken all that was written. */
  let onFlushed: (() => void) | undefined;
  // Waits add up on this clock, not on the moments at which timers happen to fire: delays don't drift (measured: 19 ms a second).
  let clockMs = performance.now();

  function end(how: PlayEnd['how']): void {
    if (ended) return;
    ended = true;
    pause?.cancel();
    leaveGate?.();
    hooks.onEnd({ how, reached, flushedBytes });
  }

  function written(length: number, failed: boolean): void {
    pendingWrites--;
    if (!failed) flushedBytes += length;
    if (pendingWrites > 0 || failed) return;
    const resume = onFlushed;
    onFlushed = undefined;
    resume?.();
  }

  /** Whether all is flushed already; otherwise `then` is called once it is. */
  function flushedOr(then: () => void): boolean {
    if (pendingWrites > 0) onFlushed = then;
    return pendingWrites === 0;
  }

  function run(): void {
    while (!ended) {
      const step = steps[next];
      if (!step) {
        end('done');
        return;
      }
      if (next === last) hooks.onLast();
      reached = step;
      next++;
      if (!take(step)) return;
    }
  }

  /**
   * Whether the next write may follow at once; otherwise `then` is called when it may. A client that doesn't read holds
   * further writes here, but never a teardown. `planned` of the bytes count as bytes of the plan.
   */
  function write(segment: Buffer, planned: number, then: () => void): boolean {
    pendingWrites++;
    hooks.onWrite?.(segment);
    const room = socket.write(segment, (error) => {
      // Node calls back without an error for what a socket that was reset has thrown away (measured; stream_base_commons.js).
      written(planned, error instanceof Error || socket.destroyed);
    });
    return room || next > lastWrite || flushedOr(then);
  }

  function pulse(step: Step & { op: 'pulse' }, done = 0): boolean {
    if (done >= step.times) return true;
    clockMs += step.everyMs / hooks.timeScale;
    pause = waitUntil(clockMs, () => {
      const again = (): void => {
        if (!ended && pulse(step, done + 1)) run();
      };
      if (write(pulseBytes(plan, step, done + 1), 0, again)) again();
    });
    return false;
  }

  /** Takes one step. Whether the next may follow at once; otherwise `run` is called when it may. */
  function take(step: Step): boolean {
    switch (step.op) {
      case 'write':
        return write(bytes.subarray(step.start, step.end), step.end - step.start, run);
      case 'wait': {
        clockMs += step.ms / hooks.timeScale;
        if (clockMs <= performance.now()) return true;
        pause = waitUntil(clockMs, run);
        return false;
      }
      case 'pulse':
        return pulse(step);
      case 'gate':
        leaveGate = hooks.gate(step.name, () => {
          leaveGate = undefined;
          // Time that was spent here is nobody's delay.
          clockMs = Math.max(clockMs, performance.now());
          run();
        });
        return false;
      case 'settle':
        hooks.settle(step, run);
        return false;
      case 'teardown':
        return tearDown(step);
      default:
        return step satisfies never;
    }
  }

  function tearDown(step: Step & { op: 'teardown' }): boolean {
    switch (step.kind) {
      case 'rst':
      case 'rst_now':
        // Before `end`, whose hooks could shut the socket down: a reset while a shutdown is pending fails (measured: EINVAL).
        hooks.beforeReset();
        socket.resetAndDestroy();
        return true;
      case 'keep_alive':
      case 'eof':
        return flushedOr(run);
      case 'fin':
        if (step.unread) return closeUnread();
        hooks.beforeFin();
        socket.end();
        return true;
      case 'half_close':
        hooks.beforeFin();
        socket.end();
        // Whoever shut its side as well has nothing more to say.
        if (clientHasEnded) end('done');
        return false; // until `clientEnded` or `abort`
      case 'stall':
        if (clientHasEnded) end('client_closed');
        return false; // until `clientEnded` or `abort`
      default:
        return step.kind satisfies never;
    }
  }

  /** close(2) with what the client sent unread, which the kernel makes a RST (RFC 2525, section 2.17). */
  function closeUnread(): boolean {
    const close = (): void => {
      hooks.beforeReset();
      socket.destroy();
    };
    const flushed = flushedOr(() => {
      close();
      run();
    });
    if (flushed) close();
    return flushed;
  }

  const waitingFor = (kind: Teardown): boolean => reached?.op === 'teardown' && reached.kind === kind;
  return {
    begin: run,
    silent: () => waitingFor('stall') || waitingFor('half_close'),
    clientEnded: () => {
      clientHasEnded = true;
      if (waitingFor('stall')) end('client_closed');
      if (waitingFor('half_close')) end('done');
    },
    abort: (by) => end(by === 'client' ? 'client_closed' : 'server_closed'),
  };
}
