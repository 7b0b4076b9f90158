import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { messageOf, WirefaultError } from '../errors.js';
import { VERSION } from '../version.js';
import { versionOfClient, whyNotHere } from './available.js';
import type { TrialClient } from './client.js';
import { evidenceSchema, type Judgement, type RunEvidence } from './evidence.js';
import { type CellRunner, cellRunner, type ISOLATIONS } from './isolation.js';
import { judge } from './judge.js';
import { controlOf, HEALTHY, isHealthy, keyOf, keyWith, type PlannedRun, planOf, seedOf } from './matrix-plan.js';
import { type CellRecord, RESULTS_VERSION, readResults } from './results.js';
import { findingsIn, paragraphsOf } from './run-facts.js';

/** Clients × faults × repeats. */
export interface MatrixOptions {
  readonly clients: readonly TrialClient[];
  readonly faults: readonly string[];
  readonly repeats: number;
  readonly jobs: number;
  readonly out: string;
  /** Goes on with what is in `out`; without it, `out` has to be new. */
  readonly resume: boolean;
  readonly isolate: (typeof ISOLATIONS)[number];
  /** Instead of each client's own limit. */
  readonly timeoutMs?: number | undefined;
  /** All of them run in a terminal. */
  readonly terminal: boolean;
  readonly seed: number;
  readonly prompt: string;
  readonly paragraphs: number;
  onProgress?(progress: Progress): void;
}

export interface Progress {
  readonly done: number;
  readonly total: number;
  /** `undefined` at the start. */
  readonly etaMs: number | undefined;
  /** The newest record. */
  readonly record: CellRecord | undefined;
}

export const MATRIX_DEFAULTS = {
  faults: ['F0', 'F1', 'F2', 'F3', 'F4', 'F5'],
  repeats: 3,
  seed: 42,
  // No word in it that a judge looks for: many clients print it back.
  prompt: 'Please tell me about the town in a few numbered paragraphs.',
  paragraphs: 6,
} as const;

const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * Runs what is not there yet, and returns all records, the old ones first.
 * @throws WirefaultError `bad_option`, `bad_evidence`
 */
export async function runMatrix(options: MatrixOptions): Promise<CellRecord[]> {
  const { repeats, faults, jobs } = options;
  const out = resolve(options.out);
  const results = join(out, 'results.jsonl');
  await mkdir(join(out, 'cells'), { recursive: true });
  const records = await readResults(results, options.resume);
  if (records.length > 0 && !options.resume) {
    throw new WirefaultError(
      'bad_option',
      `--out: ${out} has results already; use --resume to go on with them, or another folder`,
    );
  }
  const runner = await cellRunner(options.isolate);
  let writing: Promise<unknown> = Promise.resolve();
  const keep = async (record: CellRecord): Promise<void> => {
    records.push(record);
    writing = writing.then(() => appendFile(results, `${JSON.stringify(record)}\n`));
    await writing;
  };

  const clients: TrialClient[] = [];
  const versions = new Map<string, string | null>();
  for (const client of options.clients.map((one) => (options.terminal ? inTerminal(one) : one))) {
    const because = await whyNotHere(client);
    if (because === undefined) {
      clients.push(client);
      versions.set(client.name, await versionOfClient(client));
    } else if (!records.some((record) => record.kind === 'not_run' && record.client === client.name)) {
      await keep({ ...stamps(client, null), kind: 'not_run', because, install: client.install ?? null });
    }
  }

  const plan = planOf(clients, faults, repeats);
  const had = new Set(
    records.flatMap((one) => (one.kind === 'run' ? [keyWith(one.client, one.fault, one.repeat)] : [])),
  );
  const todo = plan.filter((run) => !had.has(keyOf(run)));
  const progress = progressOf(todo.length, options);
  const evidence = new Map<string, Promise<RunEvidence | undefined>>();
  /** Of a run that is done, under way, or was done by an earlier matrix. */
  const evidenceOf = (key: string): Promise<RunEvidence | undefined> => {
    const known = evidence.get(key) ?? storedEvidence(join(out, 'cells', key));
    evidence.set(key, known);
    return known;
  };
  const next = todo[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (const run of next) {
      const key = keyOf(run);
      const running = ranOnce(run, { options, runner, dir: join(out, 'cells', key) });
      evidence.set(
        key,
        running.then(({ evidence: one }) => one),
      );
      const { evidence: got, failed } = await running;
      const control = controlOf(run.fault);
      const judged = await judgement(run, got, failed, {
        usual: isHealthy(run.fault) ? undefined : await evidenceOf(keyWith(run.client.name, HEALTHY, 1)),
        control: control === undefined ? undefined : await evidenceOf(keyWith(run.client.name, control, 1)),
      });
      const record: CellRecord = {
        ...stamps(run.client, versions.get(run.client.name) ?? null),
        kind: 'run',
        fault: run.fault,
        repeat: run.repeat,
        control: run.control,
        ...judged,
        seed: seedOf(options.seed, run),
        isolation: runner.isolation,
        durationMs: got?.durationMs ?? 0,
        exitCode: got?.exitCode ?? null,
        signal: got?.signal ?? null,
        requests: { main: got?.main.length ?? 0, auxiliary: got?.auxiliary.length ?? 0 },
        paragraphs: got ? paragraphsOf(got) : null,
        foreign: got?.foreign ?? [],
        findings: got ? await findingsIn(got, judged.verdict, join(out, 'cells', key)) : [],
        dir: join('cells', key),
      };
      await keep(record);
      progress(record);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, jobs) }, work));
  return records;
}

function judgement(
  run: PlannedRun,
  got: RunEvidence | undefined,
  failed: string | undefined,
  held: { readonly usual: RunEvidence | undefined; readonly control: RunEvidence | undefined },
): Judgement {
  if (!got) return { verdict: 'invalid', because: `it could not be run: ${failed}` };
  const healthy = isHealthy(run.fault);
  if (!healthy && !held.usual) return { verdict: 'invalid', because: 'its healthy control could not be run' };
  if (!healthy && controlOf(run.fault) !== undefined && !held.control) {
    return { verdict: 'invalid', because: 'its positive control could not be run' };
  }
  return judge({ run: got, healthy, ...held });
}

interface Ran {
  readonly evidence: RunEvidence | undefined;
  readonly failed: string | undefined;
}

async function ranOnce(
  run: PlannedRun,
  { options, runner, dir }: { readonly options: MatrixOptions; readonly runner: CellRunner; readonly dir: string },
): Promise<Ran> {
  const { prompt, paragraphs, seed } = options;
  const { client, fault } = run;
  const timeoutMs = options.timeoutMs ?? client.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  // What a stopped run has left there is nobody's evidence.
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  try {
    const evidence = await runner.run({ client, fault, prompt, paragraphs, seed: seedOf(seed, run), dir, timeoutMs });
    await writeFile(join(dir, 'evidence.json'), JSON.stringify(evidence));
    return { evidence, failed: undefined };
  } catch (thrown) {
    return { evidence: undefined, failed: messageOf(thrown) };
  } finally {
    // A client's home can be hundreds of megabytes, none of which is evidence.
    await rm(join(dir, 'home'), { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  }
}

async function storedEvidence(dir: string): Promise<RunEvidence | undefined> {
  const text = await readFile(join(dir, 'evidence.json'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : evidenceSchema.parse(JSON.parse(text));
}

/** The same client, run in a terminal until it ends by itself; what it prints is looked at as a user sees it. */
function inTerminal(client: TrialClient): TrialClient {
  return client.terminal ? client : { ...client, terminal: { type: [] }, output: { kind: 'text' } };
}

function stamps({ name: client, protocol }: TrialClient, clientVersion: string | null) {
  const platform = `${process.platform} ${process.arch}`;
  const date = new Date().toISOString();
  return {
    version: RESULTS_VERSION,
    client,
    clientVersion,
    protocol,
    date,
    platform,
    node: process.version,
    wirefault: VERSION,
  } as const;
}

function progressOf(total: number, { onProgress }: MatrixOptions): (record: CellRecord) => void {
  const startMs = performance.now();
  let done = 0;
  onProgress?.({ done, total, etaMs: undefined, record: undefined });
  return (record) => {
    done++;
    const etaMs = ((performance.now() - startMs) / done) * (total - done);
    onProgress?.({ done, total, etaMs, record });
  };
}
