import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { messageOf, WirefaultError } from '../errors.js';
import { PROTOCOLS } from '../sse/dialect.js';

/**
 * What `wirefault idle` finds out about one client, as it is written to `DIR/idle.json` and printed by `--json`.
 * All times are milliseconds. The runs behind a row are in its `repeats`; minimum, median and maximum are over them,
 * where a client that outlived `maxWaitMs` counts as longer than any number: such a value is `null`, "> maxWaitMs".
 */
export const IDLE_VERSION = 1;

/** Situations in which a client waits. */
export const PROBES = [
  'refused',
  'accept',
  'no_headers',
  'headers',
  'first_event',
  'between_events',
  'no_terminal',
  'no_close',
  'total',
] as const;
export type ProbeName = (typeof PROBES)[number];

/** What can come in the place of an answer's events. */
export const REARMERS = ['comment', 'ping', 'empty_event'] as const;
export type Rearmer = (typeof REARMERS)[number];

const ms = z.number().min(0);

/** How the client closed its connection; `none`: it did not. */
const closedSchema = z.enum(['fin', 'rst', 'none']);

/** Where times come from. */
export const MEASURES = {
  socket: "the server's socket: from the last byte handed to it until the client's FIN or RST",
  socket_table: "the kernel's table of sockets, every 100 ms: nobody reads that socket",
  syn: "the client's SYNs: from the first to the last that was refused",
  process: "the client's process, from its start to its end: SYNs can't be counted here",
} as const;
const measuredBySchema = z.enum(Object.keys(MEASURES) as [keyof typeof MEASURES, ...(keyof typeof MEASURES)[]]);
export type MeasuredBy = z.infer<typeof measuredBySchema>;

const retriesSchema = z
  .object({
    count: z.int().min(0).describe('main requests, or connects, after the first'),
    pausesMs: z.array(ms).readonly().describe('from the end of each attempt to the next one'),
    capped: z.boolean().describe('ended by wirefault, which saw enough: there may be more'),
  })
  .readonly();
export type Retries = z.infer<typeof retriesSchema>;

const repeatSchema = z
  .object({
    repeat: z.int().min(1),
    outcome: z
      .enum(['gave_up', 'no_limit', 'not_measured'])
      .describe('no_limit: it was still there after maxWaitMs; not_measured: `because` says why'),
    patienceMs: ms.nullable().describe('of the first attempt; null unless it gave up'),
    closed: closedSchema.describe('of the first attempt'),
    retries: retriesSchema.nullable().describe('null: not looked at'),
    because: z.string().nullable(),
  })
  .readonly();
export type IdleRepeat = z.infer<typeof repeatSchema>;

const spread = {
  minMs: ms.nullable(),
  medianMs: ms.nullable(),
  maxMs: ms.nullable().describe('null: longer than maxWaitMs in one run at least, or not measured'),
};

const probeRowSchema = z
  .object({
    probe: z.enum(PROBES),
    meaning: z.string(),
    from: z.string().describe('the moment from which the patience is counted'),
    measuredBy: measuredBySchema,
    outcome: z
      .enum(['limit', 'no_limit', 'mixed', 'not_measured'])
      .describe('limit: it gave up in every run; mixed: in some of them'),
    ...spread,
    repeats: z.array(repeatSchema).readonly(),
  })
  .readonly();
export type ProbeRow = z.infer<typeof probeRowSchema>;

const rearmRowSchema = z
  .object({
    by: z.enum(REARMERS),
    meaning: z.string(),
    rearms: z.boolean().nullable().describe('null: `because` says why it is not known'),
    limitMs: ms.nullable().describe('the patience between events that it is held against'),
    everyMs: ms.nullable().describe('the pause between those that were sent'),
    livedMs: z
      .array(ms.nullable())
      .readonly()
      .describe('in each run, from the last true event until the client went; null: it was still there at watchedMs'),
    watchedMs: ms.nullable(),
    because: z.string().nullable(),
  })
  .readonly();
export type RearmRow = z.infer<typeof rearmRowSchema>;

const gapSchema = z
  .object({
    ...spread,
    found: z
      .array(
        z
          .object({
            survivedMs: ms.nullable().describe('the longest pause between two events that it outlived'),
            failedMs: ms.nullable().describe('the shortest at which it went; null: none within maxWaitMs'),
            tries: z.int().min(0),
          })
          .readonly(),
      )
      .readonly()
      .describe('of each run: the limit lies between the two'),
    because: z.string().nullable().describe('why there is none'),
  })
  .readonly()
  .describe('the shortest pause between true events at which it gives up, found by doubling and bisection');
export type GapResult = z.infer<typeof gapSchema>;

export const idleResultsSchema = z
  .object({
    version: z.literal(IDLE_VERSION),
    client: z.string(),
    clientVersion: z.string().nullable().describe('in its own words; null: it tells none'),
    protocol: z.enum(PROTOCOLS),
    date: z.iso.datetime(),
    platform: z.string(),
    node: z.string(),
    wirefault: z.string(),
    seed: z.int(),
    maxWaitMs: ms.describe('a silence that a client outlives is not waited for any longer'),
    repeats: z.int().min(1),
    probes: z.array(probeRowSchema).readonly().describe('`total` among them: how long a slow answer may take in all'),
    rearm: z.array(rearmRowSchema).readonly().describe('what sets the patience between events back to its start'),
    gap: gapSchema.nullable().describe('null: not asked for'),
  })
  .readonly();

export type IdleResults = z.infer<typeof idleResultsSchema>;

/**
 * The results in a file.
 * @throws WirefaultError `bad_evidence`
 */
export async function readIdleResults(path: string): Promise<IdleResults> {
  try {
    return idleResultsSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (thrown) {
    const what = thrown instanceof z.ZodError ? z.prettifyError(thrown).split('\n')[0] : messageOf(thrown);
    throw new WirefaultError('bad_evidence', `${path}: not the results of wirefault idle: ${what}`, { cause: thrown });
  }
}
