import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real sockets on two cores: generous for a slow machine, never reached on a working one.
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
