import type { AnswerSignals } from './answer-scan.js';
import type { LivePlace } from './live-place.js';
import { spreadSignals } from './spread-signals.js';

/** An element that has to be known whole, and is longer, is passed on. */
export const MAX_HELD_BYTES = 16_777_216;

/** How much of what has come of an answer may go on, as far as the places go at which something is to happen. */
export interface Passable {
  /** What is told of the bytes before they are pushed. */
  readonly signals: AnswerSignals;
  come(received: number): void;
  /** Bytes before which no place can lie that isn't known. */
  limit(received: number): number;
  /** What is held is let go: no place is looked for any more. */
  giveUp(): void;
  gaveUp(): boolean;
}

export interface PassableInput {
  readonly places: readonly LivePlace[];
  /** Whether places look at events, which there are only once the head has come. */
  readonly needsHead: boolean;
  /** The last event may end here, or a byte later. */
  unsure(): number | undefined;
}

export function passable({ places, needsHead, unsure }: PassableInput): Passable {
  const signals = spreadSignals(places);
  let headKnown = !needsHead;
  let gaveUp = false;
  return {
    signals: {
      ...signals,
      onHead: (head) => {
        headKnown = true;
        signals.onHead?.(head);
      },
    },
    come: (received) => {
      for (const { onBytes } of places) onBytes?.(received);
    },
    limit: (received) => {
      if (gaveUp) return received;
      if (!headKnown) return 0;
      let least = places.length > 0 ? (unsure() ?? received) : received;
      for (const { at, safe } of places) least = Math.min(least, at() ?? safe());
      return least;
    },
    giveUp: () => {
      gaveUp = true;
    },
    gaveUp: () => gaveUp,
  };
}
