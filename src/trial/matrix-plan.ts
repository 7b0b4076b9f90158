import { createHash } from 'node:crypto';
import { BUILT_IN } from '../fault/catalogue.js';
import type { TrialClient } from './client.js';

/** Which runs a matrix is made of, and in which order. Pure. */
export interface PlannedRun {
  readonly client: TrialClient;
  readonly fault: string;
  /** Counts from 1. */
  readonly repeat: number;
  /** It is no cell of the table: only others are held against it. */
  readonly control: boolean;
}

export const HEALTHY = 'F0';

const HEALTHY_WORDS: readonly string[] = [HEALTHY, 'success'];

export function isHealthy(fault: string): boolean {
  return HEALTHY_WORDS.includes(fault);
}

/** The positive control of a fault, where it has one. */
export function controlOf(fault: string): string | undefined {
  const control = `${fault.split('@')[0]}+`;
  return BUILT_IN.has(control) ? control : undefined;
}

/**
 * Client by client. What others are held against comes first, so that with any number of jobs nothing waits for what
 * has not begun.
 */
export function planOf(clients: readonly TrialClient[], faults: readonly string[], repeats: number): PlannedRun[] {
  const broken = faults.filter((fault) => !isHealthy(fault));
  const controls = new Set(broken.flatMap((fault) => controlOf(fault) ?? []));
  const times = (fault: string, count: number, control: boolean) => (client: TrialClient) =>
    Array.from({ length: count }, (_, n): PlannedRun => ({ client, fault, repeat: n + 1, control }));
  const healthy = faults.filter(isHealthy);
  const runs = [
    ...(healthy.includes(HEALTHY) ? [] : [times(HEALTHY, 1, true)]),
    ...healthy.map((fault) => times(fault, repeats, false)),
    ...[...controls].filter((fault) => !broken.includes(fault)).map((fault) => times(fault, 1, true)),
    ...broken
      .toSorted((a, b) => Number(controls.has(b)) - Number(controls.has(a)))
      .map((fault) => times(fault, repeats, false)),
  ];
  return clients.flatMap((client) => runs.flatMap((run) => run(client)));
}

export function keyOf({ client, fault, repeat }: PlannedRun): string {
  return keyWith(client.name, fault, repeat);
}

export function keyWith(client: string, fault: string, repeat: number): string {
  return `${client}/${folderOfFault(fault)}/${repeat}`;
}

/** A word of the fault language as the name of a folder. */
function folderOfFault(fault: string): string {
  return fault.replace(/[^A-Za-z0-9._+@-]/g, '_');
}

/** Each run has a seed of its own, which is the same whatever else is run. */
export function seedOf(seed: number, run: PlannedRun): number {
  return createHash('sha256')
    .update(`${seed} ${keyOf(run)}`)
    .digest()
    .readUInt32BE(0);
}
