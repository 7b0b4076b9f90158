import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ledger } from '../../src/proof/ledger.js';
import type { RunEvidence } from '../../src/trial/evidence.js';
import type { IdleResults } from '../../src/trial/idle-results.js';
import type { NotRun, RanCell } from '../../src/trial/results.js';
import type { Sweep } from '../../src/trial/sweep-results.js';
import type { Frame } from '../../src/trial/terminal.js';
import { ledgerWith, REQUEST } from '../proof/ledgers.js';
import { planner } from '../support/plans.js';
import { folder } from '../trial/support/little.js';
import { ran, STAMPS } from '../trial/support/records.js';
import { evidence } from '../trial/support/runs.js';

/** Folders as a matrix, a sweep and an idle table leave them, made by hand. */

/** A healthy answer as it is on the wire. */
export const ANSWER = planner({ contentBlocks: 2 })('success', 'openai-chat');
/** Where its first half ends, as a cut in the middle leaves it. */
export const HALF = Math.floor(ANSWER.bytes.length / 2);

/** Some bytes of that answer, read by the client. */
export function exchange(given: Partial<Ledger> = {}, bytes = ANSWER.bytes.length): Ledger {
  return ledgerWith({
    plan: { sha256: 'a'.repeat(64), bytes: ANSWER.bytes.length, writtenSha256: null },
    bytes: { written: bytes, flushed: bytes, acked: bytes, read: bytes },
    ...given,
  });
}

/** Cut in the middle by a reset. */
export function broken(given: Partial<Ledger> = {}): Ledger {
  return exchange(
    {
      cut: { position: 'half', offset: HALF, inside: 'event:3+17' },
      terminal: { name: '[DONE]', delivered: false },
      teardown: { kind: 'rst', first: 'server' },
      outcome: 'reset',
      selection: { scripted: 'F2', behavior: 'F2', source: 'rule', rule: 'fault' },
      ...given,
    },
    HALF,
  );
}

/** The request was sent again 512 ms after the answer had ended. */
export const RETRIED: readonly Ledger[] = [
  broken({ times: { ...exchange().times, requestAt: '2026-11-30T20:00:00.000Z', endMs: 8, teardownMs: 8 } }),
  exchange({
    exchange: 2,
    connection: 2,
    times: { ...exchange().times, requestAt: '2026-11-30T20:00:00.520Z' },
  }),
];

export interface SampleRun {
  readonly record: RanCell;
  readonly evidence?: Partial<RunEvidence>;
  readonly frames?: readonly Frame[];
}

/** A run whose evidence lies where a matrix puts it. */
export function run(
  client: string,
  fault: string,
  verdict: RanCell['verdict'],
  given: Partial<RanCell> = {},
  more: Omit<SampleRun, 'record'> = {},
): SampleRun {
  const dir = `cells/${client}/${fault}/${given.repeat ?? 1}`;
  return { record: ran(client, fault, verdict, { dir, ...given }), ...more };
}

/** Writes them as a matrix would; gone when the test is done. */
export async function matrixFolder(
  runs: readonly SampleRun[],
  notRun: readonly NotRun[] = [],
  dir?: string,
): Promise<string> {
  const out = dir ?? (await folder());
  const records = [...runs.map(({ record }) => record), ...notRun];
  await writeFile(join(out, 'results.jsonl'), records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  for (const { record, evidence: given, frames } of runs) {
    if (!given) continue;
    const own = join(out, record.dir);
    await mkdir(join(own, 'bytes'), { recursive: true });
    const whole = evidence({ fault: record.fault, ...given });
    await writeFile(join(own, 'evidence.json'), JSON.stringify(whole));
    for (const { exchange: number, bytes } of [...whole.main, ...whole.auxiliary]) {
      const name = `${String(number).padStart(6, '0')}.response`;
      await writeFile(join(own, 'bytes', name), ANSWER.bytes.subarray(0, bytes.written));
    }
    if (frames) {
      await writeFile(join(own, 'screen.jsonl'), frames.map((frame) => `${JSON.stringify(frame)}\n`).join(''));
    }
  }
  return out;
}

export const FINDING = {
  kind: 'replay_after_output',
  exchanges: [1, 2],
  evidence: ['exchange 1: 6 events with output delivered, then reset', 'exchange 2: the same request'],
  advice: 'Text of a broken answer has been handed out: take it back before the next answer is shown, or say so.',
} as const;

/** One of each kind of cell: well, failed, flaky, in a terminal, without evidence, not run. */
export const SAMPLES: readonly SampleRun[] = [
  run('sdk', 'F0', 'complete', {}, { evidence: { main: [exchange()], stdout: 'all of it' } }),
  run(
    'sdk',
    'F2',
    'silent',
    { because: 'exit code 0 and not a word' },
    { evidence: { main: [broken()], stdout: 'half' } },
  ),
  run('sdk', 'F2', 'detected', { repeat: 2 }, { evidence: { main: [broken()], stderr: 'Error: terminated' } }),
  run('sdk', 'F2+', 'detected', { control: true, because: 'it says: mock stream error' }),
  run('tui', 'F0', 'complete', {}, { evidence: { main: [exchange()] } }),
  run(
    'tui',
    'F2',
    'duplicated',
    { findings: [FINDING], requests: { main: 2, auxiliary: 1 } },
    {
      evidence: { main: RETRIED, auxiliary: [exchange({ exchange: 3, request: { ...REQUEST, path: '/v1/models' } })] },
      frames: [
        { ms: 400, text: 'starting' },
        { ms: 800, text: '> tell me' },
        { ms: 1600, text: '> tell me\n\nonce and once again' },
      ],
    },
  ),
  run('tui', 'F3', 'hang', { exitCode: null, because: 'no end within 60 s' }),
];

export const ABSENT: NotRun = {
  ...STAMPS,
  kind: 'not_run',
  client: 'absent',
  because: 'program absent not on PATH',
  install: 'npm i -g absent',
};

export const SWEEP: Sweep = {
  ...STAMPS,
  kind: 'sweep',
  client: 'sdk',
  way: 'driver',
  positions: 'every-byte',
  seed: 42,
  paragraphs: 6,
  retries: 0,
  timeoutMs: 5000,
  jobs: 2,
  durationMs: 60_000,
  cutsPerMinute: 4000,
  answer: {
    bytes: 4000,
    sha256: 'b'.repeat(64),
    terminal: { start: 3900, end: 3980 },
    marks: [800, 1500, 2200, 3100, 3900].map((start, n) => ({
      label: `event:${n + 1}`,
      kind: 'event',
      name: 'content',
      role: 'delta',
      start,
      end: start + 80,
    })),
  },
  teardowns: [
    {
      teardown: 'eof',
      cuts: 4001,
      verdicts: { detected: 810, silent: 3190, complete: 1 },
      ranges: [
        range(0, 809, 'detected', 'the head is not whole'),
        range(810, 3999, 'silent', 'exit code 0 and not a word'),
        range(4000, 4000, 'complete', 'the whole answer was shown'),
      ],
    },
  ],
};

function range(first: number, last: number, verdict: RanCell['verdict'], because: string) {
  return { first, last, cuts: last - first + 1, verdict, because, from: `byte ${first}`, to: `byte ${last}` };
}

export const IDLE: IdleResults = {
  ...STAMPS,
  client: 'sdk',
  seed: 42,
  maxWaitMs: 60_000,
  repeats: 1,
  probes: [
    {
      probe: 'headers',
      meaning: 'the connection is accepted, and nothing comes',
      from: 'the end of the request',
      measuredBy: 'socket',
      outcome: 'limit',
      minMs: 10_012,
      medianMs: 10_012,
      maxMs: 10_012,
      repeats: [
        {
          repeat: 1,
          outcome: 'gave_up',
          patienceMs: 10_012,
          closed: 'fin',
          retries: { count: 2, pausesMs: [512, 1030], capped: false },
          because: null,
        },
      ],
    },
    {
      probe: 'between_events',
      meaning: 'events stop in the middle',
      from: 'the last event',
      measuredBy: 'socket',
      outcome: 'no_limit',
      minMs: null,
      medianMs: null,
      maxMs: null,
      repeats: [{ repeat: 1, outcome: 'no_limit', patienceMs: null, closed: 'none', retries: null, because: null }],
    },
  ],
  rearm: [
    {
      by: 'comment',
      meaning: 'a comment line',
      rearms: true,
      limitMs: 10_000,
      everyMs: 5000,
      livedMs: [null],
      watchedMs: 40_000,
      because: null,
    },
  ],
  gap: { minMs: 9800, medianMs: 9900, maxMs: 10_100, found: [], because: null },
};

/** A folder with all of it. */
export async function everything(): Promise<string> {
  const out = await matrixFolder(SAMPLES, [ABSENT]);
  await mkdir(join(out, 'sweeps'));
  await writeFile(join(out, 'sweeps', 'sdk-openai-chat.json'), JSON.stringify(SWEEP));
  await writeFile(join(out, 'idle.json'), JSON.stringify(IDLE));
  return out;
}
