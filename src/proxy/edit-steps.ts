import { isMeant } from '../fault/edits.js';
import type { Where } from '../fault/spec-events.js';
import type { StreamEvent } from '../sse/dialect.js';
import { MAX_HELD_BYTES } from './passable.js';

/**
 * Changes to a list of events while it comes. Each step takes one event after the other and gives on what becomes of it
 * at once; where it has to know what comes next, it holds events back, but no more of them than `MAX_HELD_BYTES`.
 */

/** Whoever takes things one after the other. */
export interface Sink<T> {
  take(item: T): void;
  /** Nothing more comes. */
  end(): void;
  /** The answer has broken off: what is held goes on as it is, and nothing is made of its end. */
  letGo(): void;
}

export interface LiveEvent {
  readonly event: StreamEvent;
  /** How much is held with it, about. */
  readonly bytes: number;
  /** A piece of an event that is too long to be looked at: nothing is changed about it. */
  readonly long?: true;
}

export type EditStep = (to: Sink<LiveEvent>) => Sink<LiveEvent>;

/** Told once by a step that had to hold more than it may, and does nothing from then on. */
export type GaveUp = () => void;

/** What a step makes of an event, and of the end. */
export interface Selecting {
  /** The events in the place of `item`. */
  changed(item: LiveEvent, meant: boolean): readonly LiveEvent[];
  /** What comes behind all of them. `found`: one was meant. */
  atEnd?(found: boolean): readonly LiveEvent[];
}

/** Says of each event whether `where` means it. */
export function selecting(where: Where, { changed, atEnd }: Selecting, gaveUp: GaveUp): EditStep {
  return (to) => {
    let found = false;
    const put = (item: LiveEvent, meant: boolean): void => {
      found ||= meant;
      for (const one of changed(item, meant)) to.take(one);
    };
    const { nth } = where;
    const taking = nth === undefined || nth > 0 ? fromStart(where, put) : fromEnd(where, -nth, put, gaveUp);
    return {
      take: taking.take,
      end: () => {
        taking.end();
        for (const one of atEnd?.(found) ?? []) to.take(one);
        to.end();
      },
      letGo: () => {
        taking.letGo();
        to.letGo();
      },
    };
  };
}

type Put = (item: LiveEvent, meant: boolean) => void;

function fromStart(where: Where, put: Put): Sink<LiveEvent> {
  const { nth } = where;
  let count = 0;
  return {
    take: (item) => {
      const known = item.long !== true && isMeant(item.event, where);
      put(item, known && (nth === undefined || ++count === nth));
    },
    end: () => {},
    letGo: () => {},
  };
}

/** Holds the last `k` of what may be meant, and what stands between and behind them. */
function fromEnd(where: Where, k: number, put: Put, gaveUp: GaveUp): Sink<LiveEvent> {
  const isKnown = ({ event, long }: LiveEvent): boolean => long !== true && isMeant(event, where);
  const held = heldItems();
  let matches = 0;
  let over = false;
  const letGo = (): void => {
    for (const item of held.all()) put(item, false);
  };
  return {
    take: (item) => {
      const match = !over && isKnown(item);
      if (!match && held.count() === 0) {
        put(item, false);
        return;
      }
      held.add(item);
      if (match) matches++;
      if (matches > k) {
        matches--;
        // It is not among the last, and neither is what stands before the next.
        for (const one of held.upToSecond(isKnown)) put(one, false);
      }
      if (!held.tooMuch()) return;
      over = true;
      letGo();
      gaveUp();
    },
    end: () => {
      for (const [n, item] of held.all().entries()) put(item, n === 0 && matches === k);
    },
    letGo,
  };
}

function heldItems() {
  let items: LiveEvent[] = [];
  let bytes = 0;
  return {
    add: (item: LiveEvent): void => {
      items.push(item);
      bytes += item.bytes;
    },
    count: (): number => items.length,
    tooMuch: (): boolean => bytes > MAX_HELD_BYTES,
    /** Takes all out. */
    all: (): LiveEvent[] => {
      const all = items;
      items = [];
      bytes = 0;
      return all;
    },
    /** Takes out what stands before the second that `isKnown` knows; the first is such a one. */
    upToSecond: (isKnown: (item: LiveEvent) => boolean): LiveEvent[] => {
      const second = items.findIndex((item, n) => n > 0 && isKnown(item));
      const first = items.splice(0, second < 0 ? items.length : second);
      for (const item of first) bytes -= item.bytes;
      return first;
    },
  };
}

/** Takes the one event that `where` means out, and puts it behind the last that `after` means, or to the end. */
export function moving(where: Where, after: Where | undefined, gaveUp: GaveUp): EditStep {
  return (to) => {
    let moved: LiveEvent[] = [];
    // Where the last is the last is known at the end alone, and so all that is moved is known by then.
    const put: Selecting = {
      changed: (item, meant) => (meant ? [item, ...moved] : [item]),
      atEnd: (found) => (found ? [] : moved),
    };
    const rest = after ? selecting({ ...after, nth: -1 }, put, gaveUp)(to) : appending(() => moved)(to);
    return selecting(
      where,
      {
        changed: (item, meant) => {
          if (!meant) return [item];
          moved = [...moved, item];
          return [];
        },
      },
      gaveUp,
    )({
      ...rest,
      letGo: () => {
        for (const item of moved) to.take(item);
        rest.letGo();
      },
    });
  };
}

/** Puts events behind all others. */
export function appending(made: () => readonly LiveEvent[]): EditStep {
  return (to) => ({
    take: to.take,
    end: () => {
      for (const item of made()) to.take(item);
      to.end();
    },
    letGo: to.letGo,
  });
}

/** What an answer's content ends with, best last: without a delta, what stands before where its content would have come. */
const CONTENT_ENDS = ['open', 'start', 'delta'];

/** Drops what stands behind the last delta: it is held until another one comes. */
export function endingAfterDeltas(gaveUp: GaveUp): EditStep {
  return (to) => {
    const held = heldItems();
    let rank = 0;
    let over = false;
    const letGo = (): void => {
      for (const item of held.all()) to.take(item);
    };
    return {
      take: (item) => {
        if (over) {
          to.take(item);
          return;
        }
        held.add(item);
        const of = item.long ? -1 : CONTENT_ENDS.indexOf(item.event.role);
        if (of >= rank) {
          rank = of;
          letGo();
        } else if (held.tooMuch()) {
          over = true;
          letGo();
          gaveUp();
        }
      },
      end: () => to.end(),
      letGo: () => {
        letGo();
        to.letGo();
      },
    };
  };
}
