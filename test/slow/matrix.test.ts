import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { MATRIX_DEFAULTS, runMatrix } from '../../src/trial/matrix.js';
import { tableOf } from '../../src/trial/matrix-table.js';
import { PRESETS } from '../../src/trial/presets.js';
import { BUILT, NOT_BUILT } from '../trial/support/little.js';

/** What each SDK driver makes of F0 to F5. `shared` measurements of newer versions agree but for the words. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'node-fetch': ['complete', 'detected', 'silent', 'silent', 'detected', 'silent'],
};

it('the whole matrix over the npm SDK drivers', async ({ skip }) => {
  skip(!BUILT, NOT_BUILT);
  const out = await mkdtemp(join(tmpdir(), 'wf-matrix-'));
  onTestFinished(() => rm(out, { recursive: true, force: true }));
  const clients = PRESETS.filter(({ needs }) => needs !== undefined);
  const options = {
    ...MATRIX_DEFAULTS,
    clients,
    out,
    repeats: 1,
    jobs: 2,
    resume: false,
    isolate: 'auto',
    terminal: false,
  } as const;
  const { rows, notRun } = tableOf(await runMatrix(options));
  expect(notRun).toEqual([]);
  expect(
    Object.fromEntries(rows.map(({ client, cells }) => [client, [...cells.values()].map(({ text }) => text)])),
  ).toEqual(EXPECTED);
});
