import { createHistogram } from 'node:perf_hooks';
import { z } from 'zod';

/** How times are spread, in milliseconds. Percentiles come from an HDR histogram of three digits, so within 0.1 %. */
export const spreadSchema = z.object({
  count: z.int().min(1),
  min: z.number().min(0),
  mean: z.number().min(0),
  p50: z.number().min(0),
  p90: z.number().min(0),
  p99: z.number().min(0),
  p999: z.number().min(0),
  max: z.number().min(0),
});

export type Spread = z.infer<typeof spreadSchema>;

export interface SpreadMeter {
  record(ms: number): void;
  /** `null` where nothing was recorded. */
  spread(): Spread | null;
}

const US_PER_MS = 1000;
const DIGITS = 3;
/** No time in a run is longer; it bounds the memory of a histogram. */
const MAX_US = 86_400_000 * US_PER_MS;

export function spreadMeter(): SpreadMeter {
  // It counts whole microseconds, from 1.
  const histogram = createHistogram({ lowest: 1, highest: MAX_US, figures: DIGITS });
  let count = 0;
  let sum = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = 0;
  const percentile = (percent: number): number =>
    rounded(Math.min(max, Math.max(min, histogram.percentile(percent) / US_PER_MS)));
  return {
    record: (ms) => {
      histogram.record(Math.min(MAX_US, Math.max(1, Math.round(ms * US_PER_MS))));
      count++;
      sum += ms;
      if (ms < min) min = ms;
      if (ms > max) max = ms;
    },
    spread: () =>
      count === 0
        ? null
        : {
            count,
            min: rounded(min),
            mean: rounded(sum / count),
            p50: percentile(50),
            p90: percentile(90),
            p99: percentile(99),
            p999: percentile(99.9),
            max: rounded(max),
          },
  };
}

/** To a microsecond, which is what the clock is good for. */
function rounded(ms: number): number {
  return Math.round(ms * US_PER_MS) / US_PER_MS;
}
