/** Tests that take minutes, or many real clients: `npm run test:slow`. */
export const SLOW = ['test/slow/**/*.test.ts', 'test/cases/clients-*.test.ts'] as const;
