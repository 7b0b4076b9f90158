import seedrandom from 'seedrandom';

/** A behavior that `random` may draw, with its share. */
export interface Share<T> {
  readonly value: T;
  readonly weight: number;
}

/**
 * A draw is a pure function of (seed, lane, attempt): no state, so the same run gives the same faults in whatever
 * order its requests arrive. `shares` are in the order of the catalogue, so the order in which weights were written
 * doesn't matter either.
 */
export function draw<T>(seed: number, lane: string, attempt: number, shares: readonly Share<T>[]): T | undefined {
  const total = shares.reduce((sum, { weight }) => sum + weight, 0);
  let left = seedrandom.alea(drawSeed(seed, lane, attempt))() * total;
  for (const { value, weight } of shares) {
    left -= weight;
    if (left < 0) return value;
  }
  // Only rounding can lead here: the sum of the shares may differ from `total` in its last bit.
  return shares.at(-1)?.value;
}

/** What the seed texts of a lane begin with, of the one that was asked for last: mostly it is the next one, too. */
let lastBegun = { seed: Number.NaN, lane: '', text: '' };

/** The seed text of one attempt. alea doesn't tell 1 from "1", so it is always text. */
export function drawSeed(seed: number, lane: string, attempt: number): string {
  if (lastBegun.seed !== seed || lastBegun.lane !== lane) lastBegun = { seed, lane, text: `${seed}/${lane}/` };
  return lastBegun.text + attempt;
}
