import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { messageOf, WirefaultError } from '../errors.js';
import { CUT_TEARDOWNS } from '../fault/spec.js';
import { PROTOCOLS } from '../sse/dialect.js';
import { VERDICTS } from './evidence.js';

/**
 * What a sweep writes: `OUT/sweeps/<client>-<protocol>.json`, one document for each client and protocol, and the picture
 * of it beside it as `.svg`. OUT may be the folder of a matrix. A later sweep of the same client takes its place.
 */
export const SWEEP_VERSION = 1;

/** Which offsets are cut. */
export const SWEEP_POSITIONS = ['every-byte', 'every-event', 'marks'] as const;
export type SweepPositions = (typeof SWEEP_POSITIONS)[number];

const count = z.int().min(0);
const offset = count.describe('bytes of the answer, as it is on the wire, that came before the cut');

const rangeSchema = z
  .object({
    first: offset,
    last: offset.describe('the last cut of the range, itself in it'),
    cuts: z.int().min(1).describe('offsets from first to last that were cut'),
    verdict: z.enum(VERDICTS),
    because: z.string().describe('what the verdict of its first cut stands on'),
    from: z.string().describe('where first is, in words: "behind event:5 (delta)"'),
    to: z.string().describe('where last is, in words'),
  })
  .readonly();

const teardownSchema = z
  .object({
    teardown: z.enum(CUT_TEARDOWNS),
    cuts: count,
    verdicts: z.partialRecord(z.enum(VERDICTS), count).describe('cuts by their verdict'),
    ranges: z
      .array(rangeSchema)
      .readonly()
      .describe('neighboring cuts with one verdict, by rising offset. eof has no cuts in the head, nor in the framing'),
  })
  .readonly();

const markSchema = z
  .object({
    label: z.string().describe('as positions call it: event:5, headers, last_chunk'),
    kind: z.string(),
    name: z.string().nullable().describe("an event's name in its dialect"),
    role: z.string().nullable().describe("an event's part in the answer: delta, finish, terminal …"),
    start: count,
    end: count.describe('one past its last byte'),
  })
  .readonly();

export const sweepSchema = z
  .object({
    version: z.literal(SWEEP_VERSION),
    kind: z.literal('sweep'),
    client: z.string(),
    clientVersion: z.string().nullable().describe('in its own words; null: it tells none'),
    protocol: z.enum(PROTOCOLS),
    date: z.iso.datetime().describe('when it began'),
    platform: z.string(),
    node: z.string(),
    wirefault: z.string(),
    way: z
      .enum(['driver', 'process'])
      .describe('driver: many exchanges in one process; process: a process for each cut'),
    positions: z.enum(SWEEP_POSITIONS),
    seed: z.int().min(0),
    paragraphs: z.int().min(1).describe('numbered paragraphs in the answer'),
    retries: count
      .nullable()
      .describe('that a driver may make; null: its own default, or a process, which is not told'),
    timeoutMs: z.number().describe('limit of one cut'),
    jobs: z.int().min(1).describe('cuts at a time'),
    durationMs: z.number().min(0),
    cutsPerMinute: count,
    answer: z
      .object({
        bytes: z.int().min(1).describe('of the whole answer'),
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
        terminal: z.object({ start: count, end: count }).readonly().describe("the protocol's terminal event"),
        marks: z.array(markSchema).readonly(),
      })
      .readonly(),
    teardowns: z.array(teardownSchema).readonly(),
  })
  .readonly();

export type Sweep = z.infer<typeof sweepSchema>;
export type SweepTeardown = z.infer<typeof teardownSchema>;
export type SweepRange = z.infer<typeof rangeSchema>;

/** The file of a sweep, without its ending. */
export function sweepPath(out: string, { client, protocol }: Pick<Sweep, 'client' | 'protocol'>): string {
  return join(out, 'sweeps', `${client}-${protocol}`);
}

/**
 * The sweeps in a folder, by the names of their files; none where there are none.
 * @throws WirefaultError `bad_evidence`
 */
export async function readSweeps(out: string): Promise<Sweep[]> {
  const dir = join(out, 'sweeps');
  const names = await readdir(dir).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return [];
    throw new WirefaultError('bad_evidence', `${dir}: ${messageOf(thrown)}`, { cause: thrown });
  });
  const paths = names.filter((name) => name.endsWith('.json')).toSorted();
  return Promise.all(paths.map((name) => readSweep(join(dir, name))));
}

async function readSweep(path: string): Promise<Sweep> {
  try {
    return sweepSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (thrown) {
    const what = thrown instanceof z.ZodError ? z.prettifyError(thrown).split('\n')[0] : messageOf(thrown);
    throw new WirefaultError('bad_evidence', `${path}: not a sweep: ${what}`, { cause: thrown });
  }
}
