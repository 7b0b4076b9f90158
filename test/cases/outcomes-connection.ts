import type { Outcome } from './support/outcomes.js';
import { FRAMING } from './support/outcomes-framing.js';
import { LIFECYCLE } from './support/outcomes-lifecycle.js';
import { TIME } from './support/outcomes-time.js';

/**
 * What clients from npm do today with the cases B01 to B28 (connection lifecycle, HTTP framing and teardown, time). The
 * lines are those that `classify-connection.ts` derives from runs; `clients-connection.test.ts`, `clients-framing.test.ts`
 * and `clients-time.test.ts` hold them against it.
 */
export const OUTCOMES: Readonly<Record<string, readonly Outcome[]>> = { ...LIFECYCLE, ...FRAMING, ...TIME };
