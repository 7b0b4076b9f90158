import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { TrialClient } from '../../src/trial/client.js';
import { evidenceSchema } from '../../src/trial/evidence.js';
import { MATRIX_DEFAULTS, type MatrixOptions, type Progress, runMatrix } from '../../src/trial/matrix.js';
import { tableOf } from '../../src/trial/matrix-table.js';
import { PRESETS } from '../../src/trial/presets.js';
import { type CellRecord, type RanCell, readResults } from '../../src/trial/results.js';
import { BUILT, folder, little, NOT_BUILT } from './support/little.js';

function matrix(
  out: string,
  clients: readonly TrialClient[],
  given: Partial<MatrixOptions> = {},
): Promise<CellRecord[]> {
  return runMatrix({
    ...MATRIX_DEFAULTS,
    clients,
    out,
    repeats: 1,
    jobs: 2,
    resume: false,
    isolate: 'none',
    terminal: false,
    timeoutMs: 15_000,
    ...given,
  });
}

/** Verdicts by client and fault. */
function verdicts(records: readonly CellRecord[]): Record<string, Record<string, string>> {
  const { rows } = tableOf(records);
  const of = rows.map(({ client, cells }) => [
    client,
    Object.fromEntries([...cells].map(([fault, { text }]) => [fault, text])),
  ]);
  return Object.fromEntries(of);
}

const preset = (name: string): TrialClient => {
  const client = PRESETS.find((one) => one.name === name);
  if (!client) throw new Error(`no preset ${name}`);
  return client;
};

describe('a matrix over SDK drivers', () => {
  beforeEach(({ skip }) => skip(!BUILT, NOT_BUILT));

  it('tells which of them pass half an answer off as whole', { timeout: 60_000 }, async () => {
    const names = ['node-fetch', 'sdk-openai-chat', 'sdk-anthropic', 'sdk-ai-compat'];
    const records = await matrix(await folder(), names.map(preset), { faults: ['F0', 'F2'] });
    const seen = verdicts(records);
    expect(seen).toEqual({
      'node-fetch': { F0: 'complete', F2: 'silent' },
      'sdk-openai-chat': { F0: 'complete', F2: 'silent' },
      'sdk-anthropic': { F0: 'complete', F2: 'detected' },
      'sdk-ai-compat': { F0: 'complete', F2: 'detected' },
    });
    const [openai] = records.filter((one): one is RanCell => one.kind === 'run' && one.client === 'sdk-openai-chat');
    expect(openai?.clientVersion).toMatch(/^openai \d+\.\d+/);
  });
});

describe('a matrix', () => {
  it('has a record and evidence of each run', async () => {
    const out = await folder();
    const steps: Progress[] = [];
    const records = await matrix(out, [little('naive')], {
      faults: ['F2'],
      onProgress: (step) => steps.push(step),
    });
    // Two run at a time: in the order in which they end.
    const runs = records.filter((one): one is RanCell => one.kind === 'run');
    expect(runs.toSorted((a, b) => (a.fault < b.fault ? -1 : 1))).toMatchObject([
      { fault: 'F0', control: true, verdict: 'complete', repeat: 1 },
      {
        fault: 'F2',
        control: false,
        verdict: 'silent',
        client: 'naive',
        clientVersion: null,
        requests: { main: 1, auxiliary: 0 },
        paragraphs: { told: 3, delivered: 3, shown: 3 },
        isolation: 'none',
        node: process.version,
        findings: [{ kind: 'truncated_accepted', exchanges: [1] }],
        dir: 'cells/naive/F2/1',
      },
      { fault: 'F2+', control: true, verdict: 'detected' },
    ]);
    expect(await readResults(join(out, 'results.jsonl'))).toEqual(records);
    const dir = join(out, 'cells/naive/F2/1');
    expect((await readdir(dir)).toSorted()).toEqual([
      'bytes',
      'evidence.json',
      'journal.jsonl',
      'stderr.txt',
      'stdout.txt',
    ]);
    const evidence = evidenceSchema.parse(JSON.parse(await readFile(join(dir, 'evidence.json'), 'utf8')));
    expect(evidence.shown).toBe(await readFile(join(dir, 'stdout.txt'), 'utf8'));
    expect(steps.map(({ done, total }) => `${done}/${total}`)).toEqual(['0/3', '1/3', '2/3', '3/3']);
    expect(steps.at(-1)?.etaMs).toBe(0);
  });

  it('says of a client that is not there that it is not, and why', async () => {
    const clients = [
      { ...little('naive'), name: 'gone', command: ['no-such-program-wf'] },
      { ...little('naive'), name: 'unpackaged', needs: ['@no-such-scope/wf'] },
      { ...little('naive'), name: 'broken', probe: ['{{node}}', '-e', '1'] },
      preset('gemini'),
    ];
    const records = await matrix(await folder(), clients, { faults: ['F0'] });
    expect(records).toMatchObject([
      { kind: 'not_run', client: 'gone', because: 'program no-such-program-wf not on PATH' },
      { kind: 'not_run', client: 'unpackaged', because: 'npm package @no-such-scope/wf not found from here' },
      { kind: 'not_run', client: 'broken', because: 'not installed: {{node}} -e 1 fails' },
      { kind: 'not_run', client: 'gemini', because: expect.stringContaining('none of') },
    ]);
  });

  it('that was stopped goes on where it was, with the same seeds', { timeout: 60_000 }, async () => {
    const [whole, stopped] = [await folder(), await folder()];
    const faults = ['F0', 'F2'];
    const all = await matrix(whole, [little('naive')], { faults, repeats: 2 });
    // Stopped in the middle of a line, after two runs; of the third there is a folder.
    const lines = (await readFile(join(whole, 'results.jsonl'), 'utf8')).split('\n');
    await matrix(stopped, [little('naive')], { faults, repeats: 2 });
    await writeFile(join(stopped, 'results.jsonl'), `${lines.slice(0, 2).join('\n')}\n${lines[2]?.slice(0, 50)}`);
    await expect(matrix(stopped, [little('naive')], { faults, repeats: 2 })).rejects.toThrow(/--resume/);
    const steps: Progress[] = [];
    const resumed = await matrix(stopped, [little('naive')], {
      faults,
      repeats: 2,
      resume: true,
      onProgress: (step) => steps.push(step),
    });
    expect(steps.at(-1)).toMatchObject({ done: all.length - 2, total: all.length - 2 });
    expect(verdicts(resumed)).toEqual(verdicts(all));
    const seeds = (records: readonly CellRecord[]) =>
      records.flatMap((one) => (one.kind === 'run' ? [one.seed] : [])).toSorted();
    expect(seeds(resumed)).toEqual(seeds(all));
    expect(await readResults(join(stopped, 'results.jsonl'))).toEqual(resumed);
    // And nothing is left to do.
    expect(await matrix(stopped, [little('naive')], { faults, repeats: 2, resume: true })).toEqual(resumed);
  });

  it('refuses results that are none', async () => {
    const out = await folder();
    await appendFile(join(out, 'results.jsonl'), '{"version":1}\n');
    await expect(matrix(out, [little('naive')], { resume: true })).rejects.toThrow(/results\.jsonl:1: not a record/);
  });
});
