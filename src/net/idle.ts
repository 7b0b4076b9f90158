import type { Socket } from 'node:net';
import type { IdlePlan } from '../fault/wire-plan.js';

/** What becomes of a connection that is kept alive behind an answer: stray bytes, and an end that nobody announced. */
export interface IdleEvent {
  /** `armed`: the next byte of the client's ends it. */
  readonly did: 'stray' | 'armed' | 'fin' | 'rst';
  /** `request`: at the first byte of one. */
  readonly when: 'idle' | 'request';
}

export interface IdleHooks {
  readonly timeScale: number;
  onEvent(event: IdleEvent): void;
}

export interface IdleWatch {
  /** The first byte of a request has come; whether that ended the connection. */
  onRequest(): boolean;
  stop(): void;
}

export function watchIdle(socket: Socket, plan: IdlePlan, hooks: IdleHooks): IdleWatch {
  const timers: NodeJS.Timeout[] = [];
  let requests = 0;
  /** Nothing more happens. */
  let over = false;
  /** The connection was ended here. */
  let ended = false;

  const later = (ms: number, act: () => void): void => {
    // In this very tick where there's nothing to wait for, so that it is in the segment behind the answer.
    if (ms > 0) timers.push(setTimeout(act, ms / hooks.timeScale));
    else act();
  };
  const end = (when: IdleEvent['when']): void => {
    if (over || socket.destroyed || plan.teardown === undefined) return;
    over = true;
    ended = true;
    if (plan.teardown === 'rst') socket.resetAndDestroy();
    hooks.onEvent({ did: plan.teardown, when });
  };

  const { stray, afterMs, onRequest } = plan;
  if (stray) {
    later(stray.afterMs, () => {
      if (over || socket.destroyed) return;
      socket.write(stray.bytes);
      hooks.onEvent({ did: 'stray', when: 'idle' });
    });
  }
  // With both, the moment is the first request that comes later than that: a NAT has forgotten the connection by then.
  let armed = afterMs === undefined;
  const ripe = (): void => {
    armed = true;
    if (onRequest === undefined) end('idle');
    else hooks.onEvent({ did: 'armed', when: 'idle' });
  };
  if (onRequest === undefined || afterMs !== undefined) later((stray?.afterMs ?? 0) + (afterMs ?? 0), ripe);

  return {
    onRequest: () => {
      requests++;
      if (armed && requests === onRequest) end('request');
      return ended;
    },
    stop: () => {
      // One that counts requests goes on counting, unless it was to be idle before.
      if (onRequest !== undefined && armed) return;
      over = true;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
