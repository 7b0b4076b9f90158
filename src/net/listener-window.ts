import { WirefaultError } from '../errors.js';
import { MAX_TIMER_MS } from '../option-rows.js';
import { blackholes } from './blackhole.js';
import { closedPort } from './hold.js';
import type { Barrier, BarrierMaker, BoundPort } from './listener-barrier.js';
import { type Libc, libc } from './listener-libc.js';
import { attemptsCountable, refuseSyns } from './syn-counter.js';

/** A time, or a number of connects, in which the port accepts no connections. */
export type Window =
  /** Connects are refused: RST. */
  | { readonly kind: 'refuse'; readonly ms: number }
  /** Connects are refused until that many were. */
  | { readonly kind: 'refuse_attempts'; readonly attempts: number }
  /** Connects hang: nothing answers. */
  | { readonly kind: 'blackhole'; readonly ms: number };

export type WindowKind = Window['kind'];

/** A window while it is open. */
export interface OpenWindow extends Barrier {
  readonly kind: WindowKind;
  /** Makes it longer; returns what is left of it from now. `by` is of its kind. */
  extend(by: Window): Window;
}

/** Opens windows of the kinds that it was made for. */
export interface Opener {
  opens(kind: WindowKind): boolean;
  /**
   * From the call on. `onOver` tells that its time is over; whoever is told lifts it.
   * @throws WirefaultError `window_impossible`
   */
  open(window: Window, port: BoundPort, onOver: () => void): OpenWindow;
  close(): Promise<unknown> | undefined;
}

/** @throws WirefaultError `window_impossible` where this machine can't give one of the kinds */
export async function openerOf(kinds: readonly WindowKind[]): Promise<Opener> {
  const counting = kinds.includes('refuse_attempts') ? await countingCalls() : undefined;
  const holes: BarrierMaker | undefined = kinds.includes('blackhole') ? await blackholes() : undefined;
  return {
    opens: (kind) => kind === 'refuse' || kinds.includes(kind),
    open: (window, port, onOver) => {
      if (window.kind === 'refuse') return timed(window, closedPort(port), onOver);
      if (window.kind === 'blackhole' && holes) return timed(window, holes.make(port), onOver);
      if (window.kind === 'refuse_attempts' && counting) return counted(counting, window, port, onOver);
      throw new Error(`a ${window.kind} window was not prepared`);
    },
    close: () => holes?.close(),
  };
}

async function countingCalls(): Promise<Libc> {
  const why = await attemptsCountable();
  const calls = await libc();
  if (why === undefined && calls) return calls;
  throw new WirefaultError('window_impossible', `refuse_attempts: ${why}`);
}

type Counted = Extract<Window, { readonly kind: 'refuse_attempts' }>;
type Timed = Exclude<Window, Counted>;

function timed(window: Timed, barrier: Barrier, onOver: () => void): OpenWindow {
  let untilMs = performance.now() + window.ms;
  let timer: NodeJS.Timeout;
  const sleep = (): void => {
    timer = setTimeout(wake, Math.min(Math.max(0, untilMs - performance.now()), MAX_TIMER_MS));
  };
  /** The window may have grown, or be longer than a timer can be. */
  const wake = (): void => {
    if (untilMs > performance.now()) sleep();
    else onOver();
  };
  sleep();
  return {
    kind: window.kind,
    extend: (by) => {
      const nowMs = performance.now();
      untilMs = Math.max(untilMs, nowMs) + (by.kind === 'refuse_attempts' ? 0 : by.ms);
      return { ...window, ms: Math.round(untilMs - nowMs) };
    },
    lift: () => {
      clearTimeout(timer);
      return barrier.lift();
    },
  };
}

function counted(calls: Libc, { kind, attempts }: Counted, port: BoundPort, onOver: () => void): OpenWindow {
  const counter = refuseSyns(calls, port, attempts, onOver);
  return {
    kind,
    extend: (by) => ({ kind, attempts: counter.add(by.kind === kind ? by.attempts : 0) }),
    lift: counter.lift,
  };
}

/** Two windows of one kind, one after the other, are one; others are not. */
export function joined(first: Window, second: Window): Window | undefined {
  if (first.kind === 'refuse_attempts') {
    return second.kind === first.kind ? { ...first, attempts: first.attempts + second.attempts } : undefined;
  }
  return second.kind === first.kind ? { ...first, ms: first.ms + second.ms } : undefined;
}
