import { z } from 'zod';
import type { Ledger } from '../proof/ledger.js';
import { FINDING_KINDS, type FindingSources, RULES } from './finding-rules.js';

/** What a journal tells about a client's manners, beyond the one fault. Pure. */
export const findingSchema = z
  .object({
    kind: z.enum(FINDING_KINDS),
    exchanges: z.array(z.int()).readonly(),
    evidence: z.array(z.string()).readonly().describe('what was seen: exchanges, times'),
    advice: z.string(),
  })
  .readonly();

export type Finding = z.infer<typeof findingSchema>;

/** All findings, in the order of the kinds. */
export function findingsOf(ledgers: readonly Ledger[], sources: FindingSources = {}): Finding[] {
  const inOrder = ledgers.toSorted((a, b) => a.exchange - b.exchange);
  return FINDING_KINDS.flatMap((kind) =>
    RULES[kind].find(inOrder, sources).map((seen) => ({ kind, ...seen, advice: RULES[kind].advice })),
  );
}
