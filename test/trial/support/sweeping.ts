import { fileURLToPath } from 'node:url';
import type { CutTeardown } from '../../../src/fault/spec.js';
import { startFaultServer } from '../../../src/index.js';
import type { Verdict } from '../../../src/trial/evidence.js';
import { MATRIX_DEFAULTS } from '../../../src/trial/matrix.js';
import { drivenBy } from '../../../src/trial/presets/sdk.js';
import { runSweep, type SweepOptions, type Swept } from '../../../src/trial/sweep.js';
import type { SweepRange } from '../../../src/trial/sweep-results.js';
import { contentOf } from '../../../src/trial/sweep-slot.js';
import { post, witness } from '../../support/witness.js';

/** Sweeps of little clients, and the answer that they get as a raw socket sees it. */
export type DriverManners = 'bad' | 'good' | 'asking' | 'crashing';

const SEED = 42;

export function driverPath(manners: DriverManners): string {
  return fileURLToPath(new URL(`./sweep-${manners}.mjs`, import.meta.url));
}

export function driver(manners: DriverManners): SweepOptions['client'] {
  const protocol = 'openai-chat';
  return { name: manners, protocol, ...drivenBy('module', [driverPath(manners), protocol]) };
}

export function swept(client: SweepOptions['client'], more: Partial<SweepOptions> = {}): Promise<Swept> {
  return runSweep({
    client,
    teardowns: ['eof'],
    positions: 'every-event',
    jobs: 2,
    retries: 0,
    timeoutMs: 10_000,
    seed: SEED,
    prompt: MATRIX_DEFAULTS.prompt,
    paragraphs: 1,
    ...more,
  });
}

export function rangesOf({ sweep }: Swept, teardown: CutTeardown): readonly SweepRange[] {
  return sweep.teardowns.find((one) => one.teardown === teardown)?.ranges ?? [];
}

/** Verdict, first and last cut of each range. */
export function inShort(ranges: readonly SweepRange[]): (readonly [Verdict, number, number])[] {
  return ranges.map(({ verdict, first, last }) => [verdict, first, last] as const);
}

/** Where the head ends, and where the terminal begins and ends, found in what a raw socket gets from such a server. */
export async function bordersOnTheWire(): Promise<{ head: number; terminal: number; behind: number; bytes: number }> {
  const server = await startFaultServer({ ...contentOf('openai-chat', SEED, 1), sequence: ['success'] });
  try {
    const client = witness(server.port);
    client.send(post('/v1/chat/completions', { stream: true, model: 'gpt-5.4' }));
    const raw = await client.until((received) => received.includes('\r\n0\r\n\r\n'));
    client.close();
    const event = 'data: [DONE]\n\n';
    const terminal = raw.indexOf(event);
    const head = raw.indexOf('\r\n\r\n') + 4;
    return { head, terminal, behind: terminal + event.length, bytes: raw.length };
  } finally {
    await server.close();
  }
}
