import { z } from 'zod';
import { PROTOCOLS } from '../sse/dialect.js';
import type { AnswerTally } from './answer-reader.js';
import type { Asked } from './asker.js';
import { type EndKind, FIXED_ENDS, isGood } from './ends.js';
import { type SpreadMeter, spreadMeter, spreadSchema } from './spread.js';

/** What a load came to: the one JSON document of `--json`. */
export const LOAD_VERSION = 1;

const count = z.int().min(0);
const rate = z.number().min(0);
const endKind = z.union([z.enum(FIXED_ENDS), z.templateLiteral(['http_', z.int()])]);

export const loadSchema = z.object({
  version: z.literal(LOAD_VERSION),
  url: z.string().describe('secrets of its query redacted'),
  protocol: z.enum(PROTOCOLS),
  stream: z.boolean(),
  concurrency: z.int().min(1).describe('connections, each with one request at a time'),
  readBytesPerSecond: z.int().min(1).nullable().describe('of each connection; null: as fast as it comes'),
  timeoutMs: z.int().min(1),
  startedAt: z.iso.datetime(),
  elapsedMs: rate,
  stoppedBy: z.enum(['duration', 'signal']).nullable().describe('null: all requests were made and had ended'),
  started: count.describe('requests'),
  ended: count.describe('of them; those that were stopped included'),
  connections: count.describe('that were made'),
  ends: z
    .array(
      z.object({
        kind: endKind,
        count: z.int().min(1),
        afterTerminal: count.describe("of them, those in which the protocol's last word had come before"),
        error: z.string().nullable().describe('of the first of them, in the words of Node or of undici'),
      }),
    )
    .describe('as the client saw them, the most frequent first'),
  retryAfter: count.describe('answers with a Retry-After; it is not followed'),
  events: count.describe('that are no keep-alives'),
  keepAlives: count.describe('comments, pings and their like'),
  bodyBytes: count,
  perSecond: z.object({ requests: rate.describe('that ended by themselves'), events: rate, bodyBytes: rate }),
  ms: z
    .object({
      head: spreadSchema.nullable().describe('from the request to the head of the answer'),
      firstEvent: spreadSchema.nullable().describe('to the first event that is no keep-alive'),
      firstContent: spreadSchema.nullable().describe("to the first of the model's words"),
      gap: spreadSchema.nullable().describe('between two events that are no keep-alives'),
      whole: spreadSchema.nullable().describe('to the end of the answers that were complete'),
    })
    .describe('milliseconds; from the request on, which for the first of a connection is before the connect'),
  busy: z
    .number()
    .min(0)
    .max(1)
    .describe('share of the time in which this process was at work; near 1 it is the limit'),
});

export type LoadReport = z.infer<typeof loadSchema>;

/** What a run can tell while it goes on. */
export interface LoadProgress {
  readonly elapsedMs: number;
  readonly started: number;
  readonly ended: number;
  /** Of them, neither complete nor stopped. */
  readonly failed: number;
  readonly events: number;
}

type Measured = Pick<
  LoadReport,
  'started' | 'ended' | 'ends' | 'retryAfter' | 'events' | 'keepAlives' | 'bodyBytes' | 'ms'
>;

/** The counts and times of one run. */
export interface LoadBook {
  readonly tally: AnswerTally;
  start(): void;
  end(asked: Asked): void;
  readonly progress: Omit<LoadProgress, 'elapsedMs'>;
  /** Requests that ended by themselves. */
  readonly finished: number;
  readonly measured: Measured;
}

interface EndCount {
  count: number;
  afterTerminal: number;
  readonly error: string | null;
}

export function loadBook(): LoadBook {
  const meters = {
    head: spreadMeter(),
    firstEvent: spreadMeter(),
    firstContent: spreadMeter(),
    gap: spreadMeter(),
    whole: spreadMeter(),
  };
  const ends = new Map<EndKind, EndCount>();
  let started = 0;
  let ended = 0;
  let failed = 0;
  let retryAfter = 0;
  let events = 0;
  let keepAlives = 0;
  let bodyBytes = 0;
  const record = (meter: SpreadMeter, ms: number | undefined): void => {
    if (ms !== undefined) meter.record(ms);
  };

  function end({ kind, terminal, error, ...facts }: Asked): void {
    ended++;
    if (!isGood(kind)) failed++;
    const known = ends.get(kind) ?? { count: 0, afterTerminal: 0, error: error ?? null };
    known.count++;
    if (terminal) known.afterTerminal++;
    ends.set(kind, known);
    if (facts.retryAfter) retryAfter++;
    record(meters.head, facts.headMs);
    record(meters.firstEvent, facts.firstEventMs);
    record(meters.firstContent, facts.firstContentMs);
    if (kind === 'complete') meters.whole.record(facts.totalMs);
  }

  return {
    tally: {
      event: (gapMs) => {
        events++;
        record(meters.gap, gapMs);
      },
      keepAlive: () => {
        keepAlives++;
      },
      bodyBytes: (more) => {
        bodyBytes += more;
      },
    },
    start: () => {
      started++;
    },
    end,
    get progress() {
      return { started, ended, failed, events };
    },
    get finished() {
      return ended - (ends.get('stopped')?.count ?? 0);
    },
    get measured() {
      return {
        started,
        ended,
        ends: [...ends].map(([kind, one]) => ({ kind, ...one })).toSorted((a, b) => b.count - a.count),
        retryAfter,
        events,
        keepAlives,
        bodyBytes,
        ms: {
          head: meters.head.spread(),
          firstEvent: meters.firstEvent.spread(),
          firstContent: meters.firstContent.spread(),
          gap: meters.gap.spread(),
          whole: meters.whole.spread(),
        },
      };
    },
  };
}
