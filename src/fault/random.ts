import seedrandom from 'seedrandom';
import { CONCRETE_BEHAVIOR_NAMES, type ConcreteBehaviorName, type RandomWeights } from './catalogue.js';

/**
 * A draw is a pure function of (seed, lane, attempt): no state, so the same run gives the same faults in whatever
 * order its requests arrive. Behaviors are walked in the order of the catalogue, so the order in which weights were
 * written doesn't matter either.
 */
export function draw(seed: number, lane: string, attempt: number, weights: RandomWeights): ConcreteBehaviorName {
  const shares = CONCRETE_BEHAVIOR_NAMES.map((name) => ({ name, weight: weights[name] ?? 0 })).filter(
    ({ weight }) => weight > 0,
  );
  const total = shares.reduce((sum, { weight }) => sum + weight, 0);
  let left = seedrandom.alea(drawSeed(seed, lane, attempt))() * total;
  for (const { name, weight } of shares) {
    left -= weight;
    if (left < 0) return name;
  }
  // Only rounding can lead here: the sum of the shares may differ from `total` in its last bit.
  return shares.at(-1)?.name ?? 'success';
}

/** The seed text of one attempt. alea doesn't tell 1 from "1", so it is always text. */
export function drawSeed(seed: number, lane: string, attempt: number): string {
  return `${seed}/${lane}/${attempt}`;
}
