import { answersOf } from '../../src/answers.js';
import { type BehaviorName, faultOf } from '../../src/fault/catalogue.js';
import { earlyPlan } from '../../src/fault/early-plan.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import { requestBytesOf } from '../../src/fault/stage.js';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import type { Request } from '../../src/http/request.js';
import type { GivenOptions } from '../../src/options.js';
import { resolveOptions } from '../../src/resolve-options.js';
import type { Protocol } from '../../src/sse/dialect.js';

export interface Asked {
  readonly body?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly lane?: string;
  readonly attempt?: number;
  readonly httpVersion?: '1.0' | '1.1';
}

const TIME = new Date('2026-08-19T14:34:11Z');

/** A maker of plans as the server makes them, without a server: of a behavior, or of a fault. Seed and time are fixed. */
export function planner(options: GivenOptions = {}, now = () => TIME) {
  const resolved = resolveOptions({ sequence: ['random'], randomSeed: 7, ...options }, (name) => name);
  const answers = answersOf(resolved, now);
  return (what: BehaviorName | FaultSpec, protocol: Protocol, asked: Asked = {}): WirePlan => {
    const fault = typeof what === 'string' ? faultOf(what) : what;
    if (requestBytesOf(fault) !== undefined) return earlyPlan(fault, resolved);
    const behavior = typeof what === 'string' ? what : 'fault:1';
    const request: Request = {
      method: 'POST',
      target: '/',
      path: '/',
      httpVersion: asked.httpVersion ?? '1.1',
      headers: asked.headers ?? {},
      body: Buffer.alloc(0),
      keepAlive: true,
      expectsContinue: false,
    };
    const attempt = asked.attempt ?? 1;
    const chosen = {
      kind: 'behavior',
      lane: asked.lane ?? 'default',
      attempt,
      scripted: behavior,
      behavior,
      fault,
      source: 'script',
      windows: [],
    } as const;
    return answers.plan(chosen, protocol, { stream: true, model: 'mock-model', ...asked.body }, request);
  };
}
