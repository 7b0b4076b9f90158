import type { FaultSpec } from '../spec.js';
import type { Answer, TurnShape } from '../spec-answer.js';

/** What of an answer, or around it, a behavior is about. */
export const LAYERS = ['answer', 'port', 'connection', 'http', 'sse', 'protocol', 'time', 'status'] as const;
export type Layer = (typeof LAYERS)[number];

/** One behavior: one row of a table. */
export interface Row {
  /** One line for people: what is at the wire. */
  readonly meaning: string;
  readonly layer: Layer;
  /** Share in `random`'s default draw; absent for 0. */
  readonly weight?: number;
  readonly fault: FaultSpec;
}

export type Rows = Readonly<Record<string, Row>>;

export const SUCCESS: TurnShape = { text: 'success', finish: 'stop' };
export const PARTIAL: TurnShape = { text: 'partial', finish: 'stop' };
export const NONE: TurnShape = { text: 'none', finish: 'stop' };

export function turn(shape: TurnShape): Answer {
  return { kind: 'turn', turn: shape };
}
