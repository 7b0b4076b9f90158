import { defineConfig } from 'vitest/config';
import { SkipReporter } from './test/support/skip-reporter.js';
import { SLOW } from './test/support/slow-files.js';

/** Where CI reads the counts from. */
const report = process.env.WIREFAULT_TEST_REPORT;

/** What takes minutes: `npm run test:slow`. One file after the other, so that none disturbs another's clock. */
export default defineConfig({
  test: {
    include: [...SLOW],
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 600_000,
    hookTimeout: 20_000,
    fileParallelism: false,
    reporters: ['default', new SkipReporter(), ...(report ? ['json'] : [])],
    ...(report ? { outputFile: { json: report } } : {}),
  },
});
