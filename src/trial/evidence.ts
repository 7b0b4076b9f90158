import { z } from 'zod';
import { ledgerSchema } from '../proof/ledger.js';

/** What one run of a client left behind: all that a verdict is made of. It is kept as JSON beside the output. */
export const evidenceSchema = z
  .object({
    fault: z.string(),
    stdout: z.string(),
    stderr: z.string(),
    shown: z.string().describe('what the client showed its user: its output as it is read, or the last screen'),
    structuredError: z.string().nullable().describe('an error that the client told in a field of its own'),
    exitCode: z.int().nullable().describe('null: it was ended by a signal'),
    signal: z.string().nullable().describe('the signal that ended it, which was not ours'),
    durationMs: z.number(),
    timedOut: z.boolean().describe("it didn't end within the limit, and was ended by us"),
    capped: z.boolean().describe('it made more main requests than are allowed, and was ended by us'),
    main: z.array(ledgerSchema).readonly().describe('exchanges of its main request, in order'),
    open: z.array(z.int()).readonly().describe('those of them that were under way when the limit came'),
    auxiliary: z.array(ledgerSchema).readonly().describe('exchanges of other requests'),
    foreign: z.array(z.string()).readonly().describe('names of other hosts that it looked up; nothing answered'),
  })
  .readonly();

export type RunEvidence = z.infer<typeof evidenceSchema>;

export const VERDICTS = [
  'complete',
  'recovered',
  'duplicated',
  'looping',
  'detected',
  'silent',
  'hang',
  'crash',
  'invalid',
] as const;
/**
 * | verdict | what the evidence says |
 * |---|---|
 * | `complete` | the healthy answer was shown whole |
 * | `recovered` | it asked again, and showed the whole answer once |
 * | `duplicated` | it showed the whole answer, with text of the broken one beside it |
 * | `looping` | it asked again without end |
 * | `detected` | it said that something went wrong |
 * | `silent` | it claimed success with less than the whole answer |
 * | `hang` | it did not end within the limit |
 * | `crash` | it was ended by a fault of its own |
 * | `invalid` | nothing follows: the fault did not reach it, or it doesn't notice what anybody has to notice |
 */
export type Verdict = (typeof VERDICTS)[number];

export interface Judgement {
  readonly verdict: Verdict;
  /** One sentence: what the verdict stands on. */
  readonly because: string;
}
