import { readFile } from 'node:fs/promises';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { VERSION } from '../version.js';
import { rounded } from './account.js';
import { EVIDENCE_SOURCES, type EvidenceSource } from './counters.js';
import { checkTeardown, KEEP_ALIVE, TEARDOWN_CASES, tellOfFetch } from './doctor-checks.js';
import { type DoctorReport, type EvidenceResult, openFilesIn, percentile } from './doctor-report.js';
import { kernelOf } from './kernel.js';

/** Proves the tool on this very machine, over loopback alone, in about two seconds. */

/** Sockets wait for evidence, and deltas for their turn, on timers of this size. */
const TIMERS = { count: 200, ms: 5 } as const;

export async function diagnose(): Promise<DoctorReport> {
  // Each has a server of its own, and waits for evidence rather than for the clock, so they don't disturb each other.
  const teardowns = await Promise.all(TEARDOWN_CASES.map((one) => checkTeardown(one)));
  const chosen = (await kernelOf('auto'))?.source;
  const evidence = await Promise.all(EVIDENCE_SOURCES.map((source) => tryEvidence(source, source === chosen)));
  const fetch = await Promise.all(TEARDOWN_CASES.map(tellOfFetch));
  const timers = await measureTimers();
  const ok = teardowns.every((result) => result.ok) && evidence.every(({ problems }) => problems.length === 0);
  // Other platforms have no such file.
  const openFiles = openFilesIn(await readFile('/proc/self/limits', 'utf8').catch(() => ''));
  const platform = `${process.platform} ${os.release()} ${process.arch}`;
  return { ok, version: VERSION, node: process.version, platform, teardowns, evidence, timers, openFiles, fetch };
}

/** Has a source count the bytes of a healthy answer. One that isn't to be had is no problem. */
async function tryEvidence(source: EvidenceSource, chosen: boolean): Promise<EvidenceResult> {
  const kernel = await kernelOf(source);
  if (!kernel) return { source, available: false, chosen, levels: [], problems: [] };
  const { recorded, problems } = await checkTeardown(KEEP_ALIVE, source);
  const levels = Object.entries(recorded ?? {}).flatMap(([level, count]) => (count === null ? [] : [level]));
  return { source, available: true, chosen, levels, problems };
}

/** One after the other, so that none waits for another. */
async function measureTimers(): Promise<DoctorReport['timers']> {
  const late: number[] = [];
  for (let n = 0; n < TIMERS.count; n++) {
    const startMs = performance.now();
    await sleep(TIMERS.ms);
    late.push(performance.now() - startMs - TIMERS.ms);
  }
  return { ...TIMERS, medianLateMs: rounded(percentile(late, 0.5)), p99LateMs: rounded(percentile(late, 0.99)) };
}
