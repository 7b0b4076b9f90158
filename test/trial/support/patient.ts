import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { IDLE_DEFAULTS, type IdleOptions } from '../../../src/trial/idle.js';
import { MATRIX_DEFAULTS } from '../../../src/trial/matrix.js';

const SCRIPT = fileURLToPath(new URL('./patient-client.mjs', import.meta.url));

export interface Patience {
  /** For ever without it. */
  readonly idleMs?: number;
  readonly rearmedBy?: 'bytes' | 'events';
  readonly totalMs?: number;
  readonly close?: 'fin' | 'rst';
  /** Pauses before it asks again. */
  readonly retriesMs?: readonly number[];
}

/** The words of its command; `log` is where it writes how long it waited. */
export function patientCommand(patience: Patience, log: string): string[] {
  return [process.execPath, SCRIPT, '{{baseURL}}', log, JSON.stringify(patience)];
}

export function patient(patience: Patience, log: string): IdleOptions['client'] {
  return { name: 'patient', command: patientCommand(patience, log), output: { kind: 'text' } };
}

export const MEASURE = {
  ...IDLE_DEFAULTS,
  repeats: 1,
  maxWaitMs: 1500,
  seed: 42,
  prompt: MATRIX_DEFAULTS.prompt,
} as const satisfies Partial<IdleOptions>;

export interface Waited {
  readonly attempt: number;
  readonly why: 'idle' | 'total' | 'pause';
  readonly waitedMs: number;
}

/** What the client itself wrote down. */
export function waitedIn(log: string): Waited[] {
  return readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
