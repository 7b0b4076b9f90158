import type { ListenFault } from './fault/script.js';
import { durationMs } from './fault/steps.js';
import type { Content } from './fault/words.js';
import type { Listener } from './net/listener.js';
import type { Window } from './net/listener-window.js';

/** The window of the port that a fault means. */
export function windowOf({ refuseMs, refuseAttempts, blackholeMs }: ListenFault, content: Content): Window {
  if (refuseAttempts !== undefined) return { kind: 'refuse_attempts', attempts: refuseAttempts };
  if (blackholeMs !== undefined) return { kind: 'blackhole', ms: durationMs(blackholeMs, content) };
  return { kind: 'refuse', ms: durationMs(refuseMs ?? 'listenDelayMs', content) };
}

/** Opens a window: from now, or behind those that are open. */
export function openWindow(listener: Listener, window: Window): void {
  switch (window.kind) {
    case 'refuse':
      listener.refuse(window.ms);
      break;
    case 'refuse_attempts':
      listener.refuseAttempts(window.attempts);
      break;
    case 'blackhole':
      listener.blackhole(window.ms);
      break;
    default:
      window satisfies never;
  }
}
