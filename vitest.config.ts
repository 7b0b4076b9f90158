import { configDefaults, defineConfig } from 'vitest/config';
import { SkipReporter } from './test/support/skip-reporter.js';
import { SLOW } from './test/support/slow-files.js';

/** Where CI reads the counts from. */
const report = process.env.WIREFAULT_TEST_REPORT;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/setup.ts'],
    exclude: [...configDefaults.exclude, ...SLOW],
    // One for each core; by itself vitest leaves one core idle.
    maxWorkers: '100%',
    // Real sockets on two cores: generous for a slow machine, never reached on a working one.
    testTimeout: 20_000,
    hookTimeout: 20_000,
    reporters: ['default', new SkipReporter(), ...(report ? ['json'] : [])],
    ...(report ? { outputFile: { json: report } } : {}),
  },
});
