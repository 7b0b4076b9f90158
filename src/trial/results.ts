import { readFile, truncate } from 'node:fs/promises';
import { z } from 'zod';
import { messageOf, WirefaultError } from '../errors.js';
import { PROTOCOLS } from '../sse/dialect.js';
import { VERDICTS } from './evidence.js';
import { findingSchema } from './findings.js';

/**
 * What a matrix writes: a line of JSON for each run of a cell in `OUT/results.jsonl`, and its evidence in
 * `OUT/cells/<client>/<fault>/<n>/`: `evidence.json` (RunEvidence), `stdout.txt`, `stderr.txt`, `journal.jsonl`,
 * `bytes/` (of each exchange), `screen.jsonl` (frames, of interactive clients), `home/` (of the client).
 */
export const RESULTS_VERSION = 1;

/** What the run was made on and with. */
const stamps = {
  version: z.literal(RESULTS_VERSION),
  client: z.string(),
  clientVersion: z.string().nullable().describe('in its own words; null: it tells none'),
  protocol: z.enum(PROTOCOLS),
  date: z.iso.datetime(),
  platform: z.string(),
  node: z.string(),
  wirefault: z.string(),
};

const count = z.int().min(0);

const ranSchema = z
  .object({
    ...stamps,
    kind: z.literal('run'),
    fault: z.string(),
    repeat: z.int().min(1),
    control: z.boolean().describe('a positive control: it is no cell of the table'),
    verdict: z.enum(VERDICTS),
    because: z.string(),
    seed: z.int(),
    isolation: z.enum(['namespace', 'none']),
    durationMs: z.number(),
    exitCode: z.int().nullable(),
    signal: z.string().nullable(),
    requests: z.object({ main: count, auxiliary: count }),
    paragraphs: z
      .object({ told: count, delivered: count, shown: count })
      .nullable()
      .describe('of the first answer, the one with the fault'),
    foreign: z.array(z.string()).readonly().describe('names of other hosts that it looked up'),
    findings: z.array(findingSchema).readonly(),
    dir: z.string().describe('where its evidence is, seen from the folder of the results'),
  })
  .readonly();

const notRunSchema = z
  .object({ ...stamps, kind: z.literal('not_run'), because: z.string(), install: z.string().nullable() })
  .readonly();

export const cellRecordSchema = z.discriminatedUnion('kind', [ranSchema, notRunSchema]);

/** The published JSON Schema of a line of `results.jsonl`. */
export function resultsJsonSchema(): unknown {
  return z.toJSONSchema(cellRecordSchema);
}

export type CellRecord = z.infer<typeof cellRecordSchema>;
export type RanCell = z.infer<typeof ranSchema>;
export type NotRun = z.infer<typeof notRunSchema>;

/**
 * The records of a file; none where there is no such file. A last line that was cut while it was written is left out,
 * and taken away where `repair` says so, since what is written behind it would be part of it.
 * @throws WirefaultError `bad_evidence`
 */
export async function readResults(path: string, repair = false): Promise<CellRecord[]> {
  const text = await readFile(path, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return '';
    throw new WirefaultError('bad_evidence', `${path}: ${messageOf(thrown)}`, { cause: thrown });
  });
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (repair && whole !== text) await truncate(path, Buffer.byteLength(whole));
  return whole.split('\n').flatMap((line, n) => (line.trim() === '' ? [] : [recordOf(line, `${path}:${n + 1}`)]));
}

function recordOf(line: string, place: string): CellRecord {
  try {
    return cellRecordSchema.parse(JSON.parse(line));
  } catch (thrown) {
    const what = thrown instanceof z.ZodError ? z.prettifyError(thrown).split('\n')[0] : messageOf(thrown);
    throw new WirefaultError('bad_evidence', `${place}: not a record of a matrix: ${what}`, { cause: thrown });
  }
}
