import { compile } from '../../src/fault/plan.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import { DEFAULTS } from '../../src/options.js';
import type { Protocol } from '../../src/sse/dialect.js';
import { DIALECT_OF } from '../../src/sse/dialects.js';
import { stampsFrom } from '../../src/sse/stamps.js';

export interface AskedPlan {
  readonly protocol: Protocol;
  readonly stream?: boolean;
  readonly chunkedAllowed?: boolean;
  readonly chunkSize?: number;
  readonly successText?: string;
  readonly seed?: string;
}

/** A plan compiled directly, with fixed ids and times, whatever the options of a server are. */
export function compiled(fault: FaultSpec, asked: AskedPlan): WirePlan {
  const { protocol, stream = true, chunkedAllowed = true, chunkSize = 8, seed = 'seed' } = asked;
  const dialect = DIALECT_OF[protocol];
  const stamps = stampsFrom('stamps', new Date('2026-08-19T14:34:11Z'));
  const context = {
    request: dialect.readRequest({ stream, model: 'mock-model' }),
    fidelity: 'full',
    keyOrder: 'sorted',
    chunkSize,
    stamps,
    requestId: dialect.requestId(stamps),
  } as const;
  const content = { ...DEFAULTS, successText: asked.successText ?? DEFAULTS.successText };
  return compile({ fault, dialect, context, content, keepAlive: true, chunkedAllowed, gzip: false, seed });
}
