import type { Outcome } from './support/outcomes.js';
import { PAYLOAD } from './support/outcomes-payload.js';
import { SSE } from './support/outcomes-sse.js';
import { STATUS } from './support/outcomes-status.js';

/**
 * What clients from npm do today with the cases B29 to B56 (SSE framing, payloads, status and retry headers). The lines
 * are those that `classify-protocol.ts` and `retries-protocol.ts` derive from runs; `clients-protocol.test.ts` holds
 * them against it.
 */
export const OUTCOMES: Readonly<Record<string, readonly Outcome[]>> = { ...SSE, ...PAYLOAD, ...STATUS };
