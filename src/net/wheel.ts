/**
 * The clock that answers are paced by: one timer for all that wait, and lists that those who wait are links of, so that
 * a wait makes nothing that has to be collected. A timer of Node's for each wait costs an object, a list and a place in
 * a queue; at 1,000 streams with 40 events a second each that is a good part of the work (bench/pacing).
 */
export interface Alarm {
  /**
   * Calls `act` at `atMs` (by `performance.now()`) or as soon as possible after it, in the order of the milliseconds
   * that they are due in; never before, and never within this turn. What was set before is forgotten.
   */
  set(atMs: number, act: () => void): void;
  /** Nothing is called any more. May be cancelled when it is over. */
  cancel(): void;
}

export function alarm(): Alarm {
  return new Link();
}

/** The time; within a turn of the wheel, when that began: who is served in it needn't ask the clock again. */
export function wheelMs(): number {
  return turnMs ?? performance.now();
}

const NOTHING = (): void => {};

/** Of a ring, which a slot is the head of; alone, a ring of its own. */
class Link implements Alarm {
  before: Link = this;
  after: Link = this;
  act: () => void = NOTHING;
  private long: NodeJS.Timeout | undefined;

  set(atMs: number, act: () => void): void {
    this.cancel();
    if (waiting === 0 && turnMs === undefined) cursorMs = Math.floor(performance.now());
    // What is no time at all is due at once.
    const slotMs = Math.max(Math.ceil(atMs) || 0, cursorMs + 1);
    const slot = slotMs - cursorMs < SLOTS ? slots[slotMs % SLOTS] : undefined;
    this.act = act;
    if (!slot) {
      this.setLong(atMs);
      return;
    }
    this.before = slot.before;
    this.after = slot;
    slot.before.after = this;
    slot.before = this;
    waiting++;
    // A turn sees to the next one itself.
    if (turnMs === undefined) wakeAt(slotMs);
  }

  cancel(): void {
    if (this.long) {
      clearTimeout(this.long);
      this.long = undefined;
    }
    if (this.after !== this) this.leave();
  }

  leave(): void {
    this.before.after = this.after;
    this.after.before = this.before;
    this.before = this;
    this.after = this;
    waiting--;
  }

  private setLong(atMs: number): void {
    const leftMs = atMs - performance.now();
    this.long = setTimeout(
      () => {
        this.long = undefined;
        if (leftMs > LONGEST_TIMER_MS) this.setLong(atMs);
        else this.act();
      },
      Math.min(Math.max(1, Math.ceil(leftMs)), LONGEST_TIMER_MS),
    );
  }
}

/** Of a millisecond each. What is due later than they reach has a timer of its own. */
const SLOTS = 1024;
/** Node's timers can't wait for longer (2^31 ms), and answers are allowed to. */
const LONGEST_TIMER_MS = 2_147_483_647;

const slots: readonly Link[] = Array.from({ length: SLOTS }, () => new Link());
/** The last millisecond that was looked at. */
let cursorMs = 0;
let waiting = 0;
let timer: NodeJS.Timeout | undefined;
let wakeMs = Number.POSITIVE_INFINITY;
/** When the turn began that is under way. */
let turnMs: number | undefined;

function wakeAt(slotMs: number): void {
  if (slotMs >= wakeMs) return;
  clearTimeout(timer);
  wakeMs = slotMs;
  timer = setTimeout(turn, Math.max(1, Math.ceil(slotMs - performance.now())));
}

function turn(): void {
  wakeMs = Number.POSITIVE_INFINITY;
  turnMs = performance.now();
  try {
    serve(Math.floor(turnMs));
  } finally {
    turnMs = undefined;
    // Somebody threw: the rest of the millisecond is looked at again.
    if (!isEmpty(slots[cursorMs % SLOTS])) cursorMs--;
    if (waiting > 0) wakeAt(nextMs());
  }
}

/** All that are due in the milliseconds up to this one. */
function serve(untilMs: number): void {
  while (cursorMs < untilMs && waiting > 0) {
    cursorMs++;
    const slot = slots[cursorMs % SLOTS];
    // Who waits anew waits in another slot.
    while (slot && slot.after !== slot) {
      const due = slot.after;
      due.leave();
      due.act();
    }
  }
}

/** The first millisecond that somebody waits for. */
function nextMs(): number {
  let ms = cursorMs + 1;
  while (isEmpty(slots[ms % SLOTS])) ms++;
  return ms;
}

function isEmpty(slot: Link | undefined): boolean {
  return slot?.after === slot;
}
