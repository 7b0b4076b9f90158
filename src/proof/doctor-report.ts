import { z } from 'zod';
import { grouped, type Paint, plural } from './paint.js';

/** What `wirefault doctor` found out, as data and for a person. Pure. */

const bytes = z.int().min(0);
const problems = z.array(z.string()).describe('what does not hold; empty where all does');

const teardownResultSchema = z.object({
  name: z.string(),
  behavior: z.string().describe('that was played'),
  ok: z.boolean(),
  expected: z.enum(['rst', 'fin', 'open', 'refused']),
  saw: z.enum(['rst', 'fin', 'open', 'refused']).describe("the raw witness's word"),
  receivedBytes: bytes.describe('by the witness'),
  recorded: z
    .object({ written: bytes, flushed: bytes, acked: bytes.nullable(), read: bytes.nullable() })
    .nullable()
    .describe('by the ledger; null: there is none'),
  problems,
});

export const doctorReportSchema = z.object({
  ok: z.boolean().describe('everything that must hold holds'),
  version: z.string(),
  node: z.string(),
  platform: z.string(),
  teardowns: z.array(teardownResultSchema),
  evidence: z.array(
    z.object({
      source: z.string(),
      available: z.boolean(),
      chosen: z.boolean().describe('by auto'),
      levels: z.array(z.string()).describe('that it gives'),
      problems,
    }),
  ),
  timers: z.object({
    count: z.int(),
    ms: z.number(),
    medianLateMs: z.number(),
    p99LateMs: z.number(),
  }),
  openFiles: z
    .object({ soft: z.union([z.int(), z.literal('unlimited')]), hard: z.union([z.int(), z.literal('unlimited')]) })
    .nullable()
    .describe('limits of this process; null: this platform does not tell'),
  fetch: z
    .array(
      z.object({
        name: z.string(),
        complete: z.boolean().describe('it reported a whole answer'),
        status: z.int().nullable(),
        bodyBytes: bytes.describe('that it gave before its end'),
        error: z.object({ name: z.string(), message: z.string(), code: z.string().nullable() }).nullable(),
      }),
    )
    .describe("how this Node's own fetch reports each teardown"),
});

export type TeardownResult = z.infer<typeof teardownResultSchema>;
export type DoctorReport = z.infer<typeof doctorReportSchema>;
export type OpenFiles = NonNullable<DoctorReport['openFiles']>;
export type FetchResult = DoctorReport['fetch'][number];
export type EvidenceResult = DoctorReport['evidence'][number];

/** The limit in the text of /proc/self/limits (proc(5)); `null` where it isn't there. */
export function openFilesIn(limits: string): OpenFiles | null {
  const [, soft, hard] = /^Max open files\s+(\d+|unlimited)\s+(\d+|unlimited)/m.exec(limits) ?? [];
  if (soft === undefined || hard === undefined) return null;
  const limit = (text: string): number | 'unlimited' => (text === 'unlimited' ? text : Number(text));
  return { soft: limit(soft), hard: limit(hard) };
}

/** The smallest of `values` that at least the share `of` (0 to 1) of them doesn't exceed; NaN for none. */
export function percentile(values: readonly number[], of: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * of) - 1)] ?? Number.NaN;
}

/** The report for a person. Ends with a newline. */
export function doctorText(report: DoctorReport, paint: Paint): string {
  const { timers } = report;
  const failed =
    report.teardowns.filter(({ ok }) => !ok).length +
    report.evidence.filter((source) => source.problems.length > 0).length;
  return [
    `${paint('bold', 'wirefault')} ${report.version}, Node ${report.node}, ${report.platform}`,
    '',
    paint('bold', 'Teardowns: what a raw witness got, against the ledger'),
    ...table(
      report.teardowns.map((result) => ({
        sign: sign(result.ok, paint),
        cells: [result.name, result.behavior, result.saw, countsOf(result)],
        problems: result.problems,
      })),
      paint,
    ),
    '',
    paint('bold', 'Evidence: where byte counts can come from'),
    ...table(
      report.evidence.map((source) => ({
        sign: source.available ? sign(source.problems.length === 0, paint) : paint('gray', '-'),
        cells: [
          source.source,
          source.available ? source.levels.join(', ') : 'not to be had here',
          source.chosen ? 'chosen' : '',
        ],
        problems: source.problems,
      })),
      paint,
    ),
    '',
    paint('bold', 'Machine'),
    `  timers      ${timers.count} of ${timers.ms} ms: late by ${timers.medianLateMs} ms (median), ${timers.p99LateMs} ms (99th percentile)`,
    `  open files  ${openFilesWords(report.openFiles)}`,
    '',
    paint('bold', "fetch: how this Node's own client reports them, which proves nothing about the wire"),
    ...table(
      report.fetch.map((result) => ({ sign: ' ', cells: [result.name, fetchWords(result)], problems: [] })),
      paint,
    ),
    '',
    failed === 0
      ? paint('green', '✓ everything that must hold holds')
      : paint('red', `✗ ${plural(failed, 'check')} failed`),
    '',
  ].join('\n');
}

function sign(ok: boolean, paint: Paint): string {
  return ok ? paint('green', '✓') : paint('red', '✗');
}

interface Line {
  readonly sign: string;
  readonly cells: readonly string[];
  readonly problems: readonly string[];
}

function table(lines: readonly Line[], paint: Paint): string[] {
  const width = (n: number): number => Math.max(...lines.map(({ cells }) => cells[n]?.length ?? 0));
  return lines.flatMap((line) => [
    `  ${line.sign} ${line.cells.map((cell, n) => cell.padEnd(width(n))).join('  ')}`.trimEnd(),
    ...line.problems.map((problem) => paint('red', `      ${problem}`)),
  ]);
}

/** `2,273 bytes = written = flushed`; levels that say something else are told with their count. */
function countsOf({ receivedBytes, recorded }: TeardownResult): string {
  if (!recorded) return '';
  const levels = Object.entries(recorded).map(([level, count]) => {
    if (count === null) return `; ${level} unknown`;
    return count === receivedBytes ? ` = ${level}` : `; ${level} ${grouped(count)}`;
  });
  return `${plural(receivedBytes, 'byte')}${levels.join('')}`;
}

function openFilesWords(limit: DoctorReport['openFiles']): string {
  if (!limit) return "this platform doesn't tell; ask the shell: ulimit -n";
  const words = (value: OpenFiles['soft']): string => (value === 'unlimited' ? value : grouped(value));
  return `${words(limit.soft)}, may be raised to ${words(limit.hard)}; each connection needs one`;
}

function fetchWords({ complete, status, bodyBytes, error }: FetchResult): string {
  const bytesWords = plural(bodyBytes, 'body byte');
  if (complete) return `a complete answer: ${status}, ${bytesWords}`;
  const code = error?.code ? ` (${error.code})` : '';
  const after = status === null ? 'before any answer' : `after ${status} and ${bytesWords}`;
  return `${error?.name ?? 'Error'}: ${error?.message ?? ''}${code}, ${after}`;
}
