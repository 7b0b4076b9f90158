import type { Socket } from 'node:net';
import type { Step, WirePlan } from '../fault/plan.js';

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
}

export interface PlayHooks {
  /** Just before the last thing that the client can see of this exchange: its last bytes, or its teardown. */
  onLast(): void;
  onEnd(end: PlayEnd): void;
}

export interface Playback {
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
  let next = 0;
  let reached: Step | undefined;
  let pendingWrites = 0;
  let flushedBytes = 0;
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  /** Called once when the kernel has taken all that was written. */
  let onFlushed: (() => void) | undefined;
  // Waits add up on this clock, not on the moments at which timers happen to fire: delays don't drift (measured: 19 ms a second).
  let clockMs = performance.now();

  function end(how: PlayEnd['how']): void {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    hooks.onEnd({ how, reached, flushedBytes });
  }

  function written(length: number, error: Error | null | undefined): void {
    pendingWrites--;
    if (!error) flushedBytes += length;
    if (pendingWrites > 0 || error) return;
    const resume = onFlushed;
    onFlushed = undefined;
    resume?.();
  }

  function whenFlushed(then: () => void): void {
    if (pendingWrites === 0) then();
    else onFlushed = then;
  }

  function run(): void {
    while (!ended) {
      const step = steps[next];
      if (!step) return end('done');
      if (next === last) hooks.onLast();
      reached = step;
      next++;
      switch (step.op) {
        case 'write': {
          const length = step.end - step.start;
          pendingWrites++;
          if (!socket.write(bytes.subarray(step.start, step.end), (error) => written(length, error))) {
            // A client that doesn't read holds the plan here: what it hasn't room for isn't queued as well.
            return whenFlushed(run);
          }
          break;
        }
        case 'wait': {
          clockMs += step.ms;
          const ms = clockMs - performance.now();
          if (ms > 0) {
            timer = setTimeout(run, ms);
            return;
          }
          break;
        }
        case 'settle':
          return whenFlushed(() => {
            clockMs = performance.now();
            run();
          });
        case 'teardown':
          return tearDown(step);
        default:
          step satisfies never;
      }
    }
  }

  function tearDown(step: Step & { op: 'teardown' }): void {
    switch (step.kind) {
      case 'rst':
        // Before `end`, whose hooks could shut the socket down: a reset while a shutdown is pending fails (measured: EINVAL).
        socket.resetAndDestroy();
        return end('done');
      case 'keep_alive':
      case 'eof':
        return whenFlushed(() => end('done'));
      case 'stall':
        return; // until `clientEnded` or `abort`
      default:
        step.kind satisfies never;
    }
  }

  const stalling = (): boolean => reached?.op === 'teardown' && reached.kind === 'stall';
  // Hooks may look at the playback, so nothing happens before it is in the caller's hands.
  queueMicrotask(run);
  return {
    clientEnded: () => {
      if (stalling()) end('client_closed');
    },
    abort: (by) => end(by === 'client' ? 'client_closed' : 'server_closed'),
  };
}
