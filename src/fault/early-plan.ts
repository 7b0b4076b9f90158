import type { FaultSpec } from './spec.js';
import { earlySteps } from './steps.js';
import type { WirePlan } from './wire-plan.js';
import type { Content } from './words.js';

/** The plan of a fault that acts before there is a request: no byte of an answer. */
export function earlyPlan(fault: FaultSpec, content: Content): WirePlan {
  return {
    bytes: Buffer.alloc(0),
    marks: [],
    ...(fault.cut ? { cut: { position: fault.cut.at, offset: 0 } } : {}),
    steps: earlySteps(fault, content),
    closes: false,
    unapplied: [],
  };
}
