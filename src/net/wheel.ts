/**
 * The clock that answers are paced by: one timer for all that wait. A timer of Node's for each wait costs an object, a
 * list and a place in a queue; at 1,000 streams with 40 events a second each that is a good part of the work
 * (bench/pacing).
 */
export interface Wait {
  /** Not called any more. May be cancelled when it is over. */
  cancel(): void;
}

class Due implements Wait {
  act: (() => void) | undefined;

  constructor(act: () => void) {
    this.act = act;
  }

  /** What is left in its slot is stepped over. */
  cancel(): void {
    this.act = undefined;
  }
}

/** Of a millisecond each. What is due later than they reach has a timer of its own. */
const SLOTS = 1024;
/** Node's timers can't wait for longer (2^31 ms), and answers are allowed to. */
const LONGEST_TIMER_MS = 2_147_483_647;

const slots: Due[][] = Array.from({ length: SLOTS }, () => []);
/** The last millisecond that was looked at. */
let cursorMs = 0;
let waiting = 0;
let timer: NodeJS.Timeout | undefined;
let wakeMs = Number.POSITIVE_INFINITY;

/**
 * Calls `act` at `atMs` (by `performance.now()`) or as soon as possible after it, in the order of the milliseconds that
 * they are due in; never before, and never within this turn.
 */
export function waitUntil(atMs: number, act: () => void): Wait {
  const nowMs = performance.now();
  if (waiting === 0) cursorMs = Math.floor(nowMs);
  // What is no time at all is due at once.
  const slotMs = Math.max(Math.ceil(atMs) || 0, cursorMs + 1);
  if (slotMs - cursorMs >= SLOTS) return waitLong(atMs, act);
  const due = new Due(act);
  slots[slotMs % SLOTS]?.push(due);
  waiting++;
  wakeAt(slotMs, nowMs);
  return due;
}

function waitLong(atMs: number, act: () => void): Wait {
  const sleep = (): NodeJS.Timeout => {
    const leftMs = atMs - performance.now();
    return setTimeout(
      () => {
        if (leftMs > LONGEST_TIMER_MS) long = sleep();
        else act();
      },
      Math.min(Math.max(1, Math.ceil(leftMs)), LONGEST_TIMER_MS),
    );
  };
  let long = sleep();
  return { cancel: () => clearTimeout(long) };
}

function wakeAt(slotMs: number, nowMs: number): void {
  if (slotMs >= wakeMs) return;
  clearTimeout(timer);
  wakeMs = slotMs;
  timer = setTimeout(turn, Math.max(1, Math.ceil(slotMs - nowMs)));
}

function turn(): void {
  wakeMs = Number.POSITIVE_INFINITY;
  const nowMs = performance.now();
  const untilMs = Math.floor(nowMs);
  while (cursorMs < untilMs && waiting > 0) {
    cursorMs++;
    const index = cursorMs % SLOTS;
    const due = slots[index];
    if (!due || due.length === 0) continue;
    slots[index] = [];
    waiting -= due.length;
    for (const one of due) one.act?.();
  }
  if (waiting === 0) return;
  let nextMs = cursorMs + 1;
  while (slots[nextMs % SLOTS]?.length === 0) nextMs++;
  wakeAt(nextMs, performance.now());
}
