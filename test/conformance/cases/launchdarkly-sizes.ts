import type { StreamCase } from '../support/stream-case.js';
import { LAUNCHDARKLY } from './launchdarkly-parsing.js';

/** LaunchDarkly's SSE contract tests: one event of n bytes, at and around each power of two up to 128 MiB. */

const LARGEST_POWER = 27;

const SIZES: readonly number[] = [
  ...new Set(
    Array.from({ length: LARGEST_POWER + 1 }, (_, k) => 2 ** k)
      .flatMap((power) => [power - 1, power, power + 1])
      .filter((size) => size > 0),
  ),
].toSorted((a, b) => a - b);

/** The case without its bytes, of which all together there are a lot. */
export function sizeRow(size: number): StreamCase {
  return {
    id: `payload_${size}`,
    family: 'payload',
    source: 'ssetests/tests_payload_sizes.go',
    connections: [],
    expectation: 'one event of so many x',
  };
}

export function sizeCase(size: number): StreamCase {
  const data = 'x'.repeat(size);
  return {
    ...sizeRow(size),
    connections: [{ ...LAUNCHDARKLY, segments: [`data: ${data}\n\n`], expected: [{ data }] }],
  };
}

/** Larger ones take seconds each: test/slow. */
const LARGEST_QUICK = 2 ** 20 + 1;

export const QUICK_SIZES = SIZES.filter((size) => size <= LARGEST_QUICK);
export const SLOW_SIZES = SIZES.filter((size) => size > LARGEST_QUICK);
