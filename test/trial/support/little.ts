import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { PACKAGE } from '../../../src/trial/cell.js';
import type { TrialClient } from '../../../src/trial/client.js';

const SCRIPT = fileURLToPath(new URL('./little-client.mjs', import.meta.url));

export type Manners =
  | 'naive'
  | 'deaf'
  | 'strict'
  | 'polite'
  | 'patient'
  | 'doubling'
  | 'looping'
  | 'waiting'
  | 'crashing'
  | 'aborting'
  | 'mute'
  | 'idle';

export function little(manners: Manners, more: Partial<TrialClient> = {}): TrialClient {
  return {
    name: manners,
    protocol: 'openai-chat',
    command: ['{{node}}', SCRIPT, '{{baseURL}}', '{{prompt}}', manners],
    output: { kind: 'text' },
    maxRequests: 6,
    ...more,
  };
}

/** A folder that is gone when the test is done. */
export async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'wf-trial-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Drivers and the process of an isolated cell run as they are shipped. */
export const BUILT = existsSync(join(PACKAGE, 'trial/cell-process.js'));
export const NOT_BUILT = 'not built: npm run build';
