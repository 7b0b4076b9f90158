import { ANSWERS } from './behaviors/answers.js';
import { CONNECTION } from './behaviors/connection.js';
import { HTTP } from './behaviors/http.js';
import { PROTOCOL } from './behaviors/protocol.js';
import type { Row } from './behaviors/row.js';
import { SSE } from './behaviors/sse.js';
import { STUDIES } from './behaviors/studies.js';
import type { FaultSpec } from './spec.js';
import { isPlayed } from './stage.js';

/**
 * The behaviors: one row each, in tables by what they are about. Docs, `wirefault behaviors`, validation and `random`
 * read them; to add a behavior is to add a row.
 */
const TABLE = { ...ANSWERS, ...CONNECTION, ...HTTP, ...SSE, ...PROTOCOL, ...STUDIES };

/** Every behavior's name but `random`, which draws one of the others. */
export type BehaviorName = keyof typeof TABLE;

export interface Behavior extends Row {
  readonly name: string;
}

/** Behaviors by name, in the order in which they are printed and drawn. */
export type Catalogue = ReadonlyMap<string, Behavior>;

export const BEHAVIOR_NAMES = Object.keys(TABLE) as readonly BehaviorName[];

const ROWS: Readonly<Record<BehaviorName, Row>> = TABLE;

/** The rows, for printing. */
export const BEHAVIORS: readonly Behavior[] = BEHAVIOR_NAMES.map((name) => ({ name, ...ROWS[name] }));

export const BUILT_IN: Catalogue = new Map(BEHAVIORS.map((behavior) => [behavior.name, behavior]));

/** A behavior that is played on a connection: all but those of the port. */
export type ConcreteBehaviorName = Exclude<
  BehaviorName,
  'connection_refused' | 'refuse' | 'refuse_until' | 'backlog_blackhole'
>;

export const CONCRETE_BEHAVIOR_NAMES = BEHAVIOR_NAMES.filter((name): name is ConcreteBehaviorName =>
  isPlayed(ROWS[name].fault),
);

/** The fault of a behavior. */
export function faultOf(name: BehaviorName): FaultSpec {
  return ROWS[name].fault;
}

/** Relative shares of `random`: test pressure, not an estimate of how often providers fail. */
export type RandomWeights = Readonly<Record<string, number>>;

export const DEFAULT_RANDOM_WEIGHTS: RandomWeights = Object.fromEntries(
  BEHAVIORS.flatMap(({ name, weight }) => (weight === undefined ? [] : [[name, weight]])),
);
