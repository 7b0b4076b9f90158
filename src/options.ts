import type { Catalogue, RandomWeights } from './fault/catalogue.js';
import type { LaneBy } from './fault/lanes.js';
import type { RuleSpec } from './fault/rules.js';
import type { Named, Script } from './fault/script.js';
import type { FaultSpec } from './fault/spec.js';
import type { ScriptWord } from './fault/word.js';
import type { Content } from './fault/words.js';
import type { EvidenceChoice, SimpleOptionName, SimpleOptions, StateFallback } from './option-rows.js';
import type { ReplayTiming } from './replay/timing.js';
import type { Fidelity, KeyOrder } from './sse/dialect.js';
import type { ChatVariant } from './sse/dialects.js';

/** Defaults of the library. The command line differs in the port alone. */
export const DEFAULTS = {
  host: '127.0.0.1',
  port: 0,
  apiKey: undefined,
  listenDelayMs: 750,
  successText: 'mock response recovered',
  contentBlocks: 0,
  partialText: 'discarded partial response',
  reasoningText: 'mock reasoning',
  chunkSize: 8,
  chunkDelayMs: 25,
  disconnectDelayMs: 10,
  settleTimeoutMs: 2000,
  timeScale: 1,
  keepaliveMs: 1000,
  keepaliveCount: 3,
  retryAfterMs: 1000,
  requestId: undefined,
  toolName: 'mock_tool',
  toolArguments: '{"value":"mock"}',
  evidence: 'auto',
  journal: undefined,
  journalMaxBytes: 0,
  capture: undefined,
  replay: undefined,
  replayTiming: 'recorded',
  chatVariant: 'auto',
  fidelity: 'full',
  keyOrder: 'sorted',
  controlPort: undefined,
  controlToken: undefined,
  state: undefined,
  stateName: 'default',
  stateFallback: 'none',
  journalStream: undefined,
  maxLanes: 10_000,
  maxHeadBytes: 65_536,
  maxBodyBytes: 67_108_864,
  requestTimeoutMs: 60_000,
} as const satisfies { readonly [K in SimpleOptionName]: SimpleOptions[K] | undefined };

/** A behavior of one's own. */
export interface OwnBehavior {
  /** The behavior whose fault it is, with the layers of this one in the place of its own. */
  readonly extends?: string | undefined;
  /** One line for people. */
  readonly meaning?: string | undefined;
  readonly fault?: FaultSpec | undefined;
}

/** The script of one lane. */
export interface LaneScript {
  readonly sequence: readonly (ScriptWord | FaultSpec)[];
  /** Default false. */
  readonly repeatLast?: boolean | undefined;
}

/** Options that decide which behavior a request gets. */
export interface ScriptOptions {
  /** Behaviors of one's own by name, for the sequence and for `random`. A name of a built-in one takes its place. */
  readonly behaviors?: Readonly<Record<string, OwnBehavior>>;
  /** Behaviors, or faults as data, in the order of the requests; `['success']`, repeated, by default. */
  readonly sequence?: readonly (ScriptWord | FaultSpec)[];
  /** Reuse the last behavior for ever instead of answering 500 `MOCK_SCRIPT_EXHAUSTED`. Default: false with a `sequence`. */
  readonly repeatLast?: boolean;
  /** What separates lanes: `none` (default), `header:NAME`, `query:NAME`, `key`, `path`, `connection`, `body`. */
  readonly laneBy?: string;
  /** With `laneBy: 'body'`: places in the JSON that change on a retry. */
  readonly laneIgnore?: readonly string[];
  /** Lanes with a script of their own, by name; all others walk `sequence`. */
  readonly lanes?: Readonly<Record<string, LaneScript>>;
  /** Which requests get a fault whatever the script says; the first that matches. */
  readonly rules?: readonly RuleSpec[];
  /** Unsigned 32-bit; drawn and told where absent. */
  readonly randomSeed?: number;
  /** Relative shares for `random`; default `DEFAULT_RANDOM_WEIGHTS`. Needs `random` in the sequence. */
  readonly randomWeights?: RandomWeights;
}

export interface ResolvedOptions extends Content {
  readonly host: string;
  readonly port: number;
  readonly apiKey: string | undefined;
  readonly chunkSize: number;
  readonly requestId: string | undefined;
  readonly evidence: EvidenceChoice;
  readonly journal: string | undefined;
  readonly journalMaxBytes: number;
  readonly capture: string | undefined;
  readonly replay: string | undefined;
  readonly replayTiming: ReplayTiming;
  readonly chatVariant: ChatVariant;
  readonly fidelity: Fidelity;
  readonly keyOrder: KeyOrder;
  readonly control: boolean;
  readonly controlPort: number | undefined;
  readonly controlToken: string | undefined;
  readonly state: string | undefined;
  readonly stateName: string;
  readonly stateFallback: StateFallback;
  readonly journalStream: number | undefined;
  readonly maxLanes: number;
  readonly maxHeadBytes: number;
  readonly maxBodyBytes: number;
  readonly requestTimeoutMs: number;
  readonly timeScale: number;
  readonly script: Script;
  readonly catalogue: Catalogue;
  readonly laneBy: LaneBy;
  readonly laneIgnore: readonly string[];
  readonly lanes: ReadonlyMap<string, Script>;
  readonly rules: readonly NamedRule[];
}

/** A rule with what its fault means. */
export interface NamedRule {
  readonly spec: RuleSpec;
  readonly named: Named;
  /** What later requests with the same key get. */
  readonly later?: Named;
}

/** Options of the server that are neither simple nor of the script. */
export interface ControlOptions {
  /** Whether there is a control plane (`/__control` and its like). Default true. */
  readonly control?: boolean;
}

/** Options as a caller may give them. */
export type GivenOptions = { readonly [K in SimpleOptionName]?: SimpleOptions[K] | undefined } & ScriptOptions &
  ControlOptions;
