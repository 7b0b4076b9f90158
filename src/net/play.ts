import type { Step, WirePlan } from '../fault/wire-plan.js';

/** How a play on a socket ended. */
export interface PlayEnd {
  /** `done`: the plan was played to its end. Otherwise who ended it before. */
  readonly how: 'done' | 'client_closed' | 'server_closed';
  /** The last step that was reached, with `how`, tells what became of the connection. */
  readonly reached: Step | undefined;
  /** Bytes of the plan that the kernel has taken, as far as that was told. */
  readonly flushedBytes: number;
  /** What the plan came to be, where it wasn't known before it was played; its bytes aren't kept. */
  readonly played?: WirePlan;
}

/** Who is told of a play, and asked for what it needs. */
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
  /** Nothing more is written, and the end is somebody else's: the bytes aren't needed any more, and `resting` plays on. `taken`: the kernel has all that was written. */
  onRest?(resting: Playback, taken: boolean): void;
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

/** The same hooks, with another end. Written out: hooks may have their methods from a class. */
export function endingWith(hooks: PlayHooks, onEnd: PlayHooks['onEnd']): PlayHooks {
  return {
    onLast: () => hooks.onLast(),
    onWrite: (segment) => hooks.onWrite?.(segment),
    settle: (step, resume) => hooks.settle(step, resume),
    gate: (name, resume) => hooks.gate(name, resume),
    beforeReset: () => hooks.beforeReset(),
    beforeFin: () => hooks.beforeFin(),
    onRest: (resting, taken) => hooks.onRest?.(resting, taken),
    onEnd,
    timeScale: hooks.timeScale,
  };
}
