import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { messageOf, WirefaultError } from '../errors.js';
import { type IdleResults, readIdleResults } from '../trial/idle-results.js';
import { type RanCell, readResults } from '../trial/results.js';
import { readSweeps } from '../trial/sweep-results.js';
import { loadJournal, loadLive } from './load-journal.js';
import { loadRun } from './load-run.js';
import { type Report, type RunDetail, runsOf } from './report.js';

/** Reads what reports are made of: folders of matrices, sweeps and idle tables, journals, live servers. */
export interface LoadOptions {
  /** What the runs have left behind, too: a page shows it. */
  readonly evidence: boolean;
  /** What `--capture` has written for a journal. */
  readonly bytesDir: string | undefined;
  readonly controlToken: string | undefined;
}

/** @throws WirefaultError `bad_evidence` where there is nothing to be reported, or it can't be read */
export async function loadReport(sources: readonly string[], options: LoadOptions): Promise<Report> {
  const report = { sources, records: [], evidence: new Map(), sweeps: [], idle: [], journals: [] };
  const parts = await Promise.all(sources.map((source) => loadSource(source, options)));
  return parts.reduce<Report>(
    (all, part) => ({
      sources,
      records: [...all.records, ...(part.records ?? [])],
      evidence: new Map([...all.evidence, ...(part.evidence ?? [])]),
      sweeps: [...all.sweeps, ...(part.sweeps ?? [])],
      idle: [...all.idle, ...(part.idle ?? [])],
      journals: [...all.journals, ...(part.journals ?? [])],
    }),
    report,
  );
}

async function loadSource(source: string, options: LoadOptions): Promise<Partial<Report>> {
  if (/^https?:\/\//i.test(source)) return { journals: [await loadLive(source, options.controlToken)] };
  const stats = await stat(source).catch((thrown) => {
    const what = "expected a matrix's, sweep's or idle's folder, a journal, or a live server's URL";
    throw new WirefaultError('bad_evidence', `${source}: ${messageOf(thrown)}; ${what}`, { cause: thrown });
  });
  return stats.isDirectory()
    ? loadFolder(source, options)
    : { journals: [await loadJournal(source, options.bytesDir)] };
}

async function loadFolder(source: string, { evidence }: LoadOptions): Promise<Partial<Report>> {
  const folder = resolve(source);
  const records = await readResults(join(folder, 'results.jsonl'));
  const sweeps = await readSweeps(folder);
  const idle = await idleIn(folder);
  if (records.length === 0 && sweeps.length === 0 && idle.length === 0) {
    const what = 'expected results.jsonl (of a matrix), sweeps/*.json or idle.json, there or in its folders';
    throw new WirefaultError('bad_evidence', `${source}: nothing to report: ${what}`);
  }
  const details = new Map<RanCell, RunDetail>();
  // One after the other: each can hold megabytes, of which little is kept.
  if (evidence) for (const run of runsOf({ records })) details.set(run, await loadRun(folder, run));
  return { records, evidence: details, sweeps, idle };
}

/** `idle.json` is of one client: it's looked for in the folder, and in those within it. */
async function idleIn(folder: string): Promise<IdleResults[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const within = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(name, 'idle.json'));
  const all: IdleResults[] = [];
  for (const name of ['idle.json', ...within.toSorted()]) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile()) all.push(await readIdleResults(path));
  }
  return all;
}
