import { answersOf } from '../../src/answers.js';
import type { ConcreteBehaviorName } from '../../src/fault/catalogue.js';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import type { Request } from '../../src/http/request.js';
import type { GivenOptions } from '../../src/options.js';
import { resolveOptions } from '../../src/resolve-options.js';
import type { Protocol } from '../../src/sse/dialect.js';

export interface Asked {
  readonly body?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly attempt?: number;
  readonly httpVersion?: '1.0' | '1.1';
}

/** A maker of plans as the server makes them, without a server. The seed is fixed. */
export function planner(options: GivenOptions = {}) {
  const resolved = resolveOptions({ sequence: ['random'], randomSeed: 7, ...options }, (name) => name);
  const answers = answersOf(resolved);
  return (behavior: ConcreteBehaviorName, protocol: Protocol, asked: Asked = {}): WirePlan => {
    const request: Request = {
      method: 'POST',
      target: '/',
      path: '/',
      httpVersion: asked.httpVersion ?? '1.1',
      headers: asked.headers ?? {},
      body: Buffer.alloc(0),
      keepAlive: true,
    };
    const attempt = asked.attempt ?? 1;
    const chosen = { kind: 'behavior', lane: 'default', attempt, scripted: behavior, behavior, refusals: 0 } as const;
    return answers.plan(chosen, protocol, { stream: true, model: 'mock-model', ...asked.body }, request);
  };
}
