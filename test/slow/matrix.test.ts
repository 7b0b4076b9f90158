import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { MATRIX_DEFAULTS, runMatrix } from '../../src/trial/matrix.js';
import { tableOf } from '../../src/trial/matrix-table.js';
import { PRESETS } from '../../src/trial/presets.js';
import { BUILT, NOT_BUILT } from '../trial/support/little.js';

/** F0 to F5. What has no end passes as an answer with those that read event by event, as people write it. */
const READER = ['complete', 'detected', 'silent', 'silent', 'detected', 'silent'];
/** Those that look for the end themselves. F5 is what nobody can tell. */
const HELPER = ['complete', 'detected', 'detected', 'detected', 'detected', 'silent'];

const EXPECTED = {
  'node-fetch': READER,
  'sdk-openai-chat': READER,
  'sdk-openai-chat-helper': HELPER,
  'sdk-openai-responses': READER,
  'sdk-anthropic': HELPER,
  'sdk-anthropic-raw': READER,
  'sdk-ai-openai-chat': HELPER,
  'sdk-ai-openai-responses': HELPER,
  'sdk-ai-anthropic': HELPER,
  'sdk-ai-compat': HELPER,
  'sdk-langchain-chat': READER,
  'sdk-langchain-responses': READER,
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
