import type { Verdict } from '../../../src/trial/evidence.js';
import type { RanCell } from '../../../src/trial/results.js';

/** Records of a matrix made by hand. */
export const STAMPS = {
  version: 1,
  clientVersion: 'a 1.0',
  protocol: 'openai-chat',
  date: '2026-11-30T20:00:00.000Z',
  platform: 'linux x64',
  node: 'v20.20.2',
  wirefault: '0.1.0',
} as const;

/** A run of a cell. */
export function ran(client: string, fault: string, verdict: Verdict, given: Partial<RanCell> = {}): RanCell {
  return {
    ...STAMPS,
    kind: 'run',
    client,
    fault,
    repeat: 1,
    control: false,
    verdict,
    because: 'a | b',
    seed: 1,
    isolation: 'namespace',
    durationMs: 10,
    exitCode: 0,
    signal: null,
    requests: { main: 1, auxiliary: 0 },
    paragraphs: null,
    foreign: [],
    findings: [],
    dir: 'cells/x',
    ...given,
  };
}
