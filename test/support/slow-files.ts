/** Tests that take minutes, or many real clients: `npm run test:slow`. */
export const SLOW = [
  'test/slow/**/*.test.ts',
  'test/cases/clients-*.test.ts',
  // Clients' patience, and processes: mostly waiting.
  'test/net/blackhole.test.ts',
  'test/trial/idle.test.ts',
  'test/trial/sweep.test.ts',
  'test/trial/terminal.test.ts',
  'test/trial/verdicts.test.ts',
  'test/workers/**/*.test.ts',
  'test/conformance/launchdarkly.test.ts',
] as const;
