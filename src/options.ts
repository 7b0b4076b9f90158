import { z } from 'zod';
import type { Catalogue, RandomWeights } from './fault/catalogue.js';
import type { LaneBy } from './fault/lanes.js';
import type { RuleSpec } from './fault/rules.js';
import type { Named, Script } from './fault/script.js';
import type { FaultSpec } from './fault/spec.js';
import type { ScriptWord } from './fault/word.js';
import type { Content } from './fault/words.js';
import { EVIDENCE_SOURCES } from './proof/counters.js';
import { REPLAY_TIMINGS, type ReplayTiming } from './replay/timing.js';
import { FIDELITIES, type Fidelity, KEY_ORDERS, type KeyOrder } from './sse/dialect.js';
import { CHAT_VARIANTS, type ChatVariant } from './sse/dialects.js';

/** Node's timers hold at most a signed 32-bit number of milliseconds; a longer one would fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;

const EVIDENCE_CHOICES = ['auto', ...EVIDENCE_SOURCES] as const;
type EvidenceChoice = (typeof EVIDENCE_CHOICES)[number];

const STATE_FALLBACKS = ['none', 'local'] as const;
type StateFallback = (typeof STATE_FALLBACKS)[number];

/** A simple option: what it may be, in zod's words and in ours. The command line makes its flags from these rows. */
interface OptionRow<T> {
  /** What the flag takes, for `--help`. */
  readonly argument: string;
  readonly meaning: string;
  /** What is allowed, to be read after "expected". */
  readonly allowed: string;
  readonly schema: z.ZodType<T>;
  /** From the command line's text; what isn't understood is left as it is, for the schema to refuse. */
  readonly parse: (text: string) => unknown;
}

const asText = (text: string): unknown => text;
const asNumber = (text: string): unknown => (/^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text);

function integer(min: number, max: number, meaning: string, unit = ''): OptionRow<number> {
  return {
    argument: unit === 'milliseconds' ? '<ms>' : unit === 'bytes' ? '<bytes>' : '<n>',
    meaning,
    allowed: `a whole number${unit ? ` of ${unit}` : ''} from ${min} to ${max}`,
    schema: z.int().min(min).max(max),
    parse: asNumber,
  };
}

const delay = (meaning: string): OptionRow<number> => integer(0, MAX_TIMER_MS, meaning, 'milliseconds');

function text(meaning: string, allowed = 'text', schema: z.ZodType<string> = z.string()): OptionRow<string> {
  return { argument: '<text>', meaning, allowed, schema, parse: asText };
}

const visibleAscii = z.string().regex(/^[\x21-\x7e]+$/);

function isJsonObject(value: string): boolean {
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
}

/** The simple options, in the order of `--help`. Names are those of the library; the flags are the same in kebab-case. */
export const OPTION_ROWS = {
  host: text('address to listen on', 'a host name or an IP address', z.string().regex(/^[A-Za-z0-9._:%-]+$/)),
  port: integer(0, 65_535, 'port to listen on; 0 for a free one'),
  apiKey: text(
    'key that requests must have, as bearer token or x-api-key; without it any will do',
    'visible ASCII characters without spaces',
    visibleAscii,
  ),
  listenDelayMs: delay('how long connection_refused keeps the port closed'),
  successText: text('text of a whole answer'),
  contentBlocks: integer(0, 10_000, 'tell this many numbered paragraphs with unguessable marks instead of the text'),
  partialText: text('text before a cut; with content blocks the first half of them'),
  reasoningText: text('reasoning before the answer'),
  chunkSize: integer(1, 1_000_000, 'code points in one delta'),
  chunkDelayMs: delay('pause after each delta of a paced answer'),
  disconnectDelayMs: delay('pause before a reset'),
  settleTimeoutMs: delay('how long a reset waits for proof that the client has read what was sent'),
  timeScale: {
    argument: '<n>',
    meaning: 'all pauses of answers are so many times shorter; the journal keeps both',
    allowed: 'a number from 0.001 to 1000000',
    schema: z.number().min(0.001).max(1_000_000),
    parse: asNumber,
  } satisfies OptionRow<number>,
  keepaliveMs: integer(1, MAX_TIMER_MS, 'pause after each keep-alive', 'milliseconds'),
  keepaliveCount: integer(1, 10_000, 'keep-alives of keepalive_then_success'),
  retryAfterMs: integer(1, MAX_TIMER_MS, 'what rate_limit tells the client to wait', 'milliseconds'),
  requestId: text(
    "id in the provider's request-id header instead of a drawn one",
    'visible ASCII characters without spaces',
    visibleAscii,
  ),
  toolName: text('name of the called tool', 'text that is not empty', z.string().min(1)),
  toolArguments: text('arguments of the called tool', 'the text of a JSON object', z.string().refine(isJsonObject)),
  chatVariant: {
    argument: '<variant>',
    meaning: "whose Chat Completions: openai, deepseek, or auto: DeepSeek's for its models and to show reasoning",
    allowed: `one of ${CHAT_VARIANTS.join(', ')}`,
    schema: z.enum(CHAT_VARIANTS),
    parse: asText,
  } satisfies OptionRow<ChatVariant>,
  evidence: {
    argument: '<source>',
    meaning: 'where byte counts come from: auto, or one source, which then has to be there',
    allowed: `one of ${EVIDENCE_CHOICES.join(', ')}`,
    schema: z.enum(EVIDENCE_CHOICES),
    parse: asText,
  } satisfies OptionRow<EvidenceChoice>,
  journal: { ...text('file to which the ledger of each exchange is added as a JSON line'), argument: '<file>' },
  journalMaxBytes: integer(
    0,
    1_099_511_627_776,
    'size at which the journal is renamed to FILE.1 and so on; 0: never',
    'bytes',
  ),
  capture: { ...text("folder for each exchange's request and answer bytes"), argument: '<dir>' },
  replay: {
    ...text('answer from recordings: their folder, a .har, or the body of an answer as .sse or .json'),
    argument: '<path>',
  },
  replayTiming: {
    argument: '<how>',
    meaning: 'recorded: answers come as slowly as they did, by --time-scale faster; none: at once',
    allowed: `one of ${REPLAY_TIMINGS.join(', ')}`,
    schema: z.enum(REPLAY_TIMINGS),
    parse: asText,
  } satisfies OptionRow<ReplayTiming>,
  fidelity: {
    argument: '<level>',
    meaning: "full: today's provider with masking fields and all headers; plain: only what a client needs",
    allowed: `one of ${FIDELITIES.join(', ')}`,
    schema: z.enum(FIDELITIES),
    parse: asText,
  } satisfies OptionRow<Fidelity>,
  keyOrder: {
    argument: '<order>',
    meaning: "order of the keys in the Responses API's events: sorted as today, or declared as until December 2025",
    allowed: `one of ${KEY_ORDERS.join(', ')}`,
    schema: z.enum(KEY_ORDERS),
    parse: asText,
  } satisfies OptionRow<KeyOrder>,
  controlPort: integer(0, 65_535, 'port of the control plane, away from that of the answers; 0 for a free one'),
  controlToken: text(
    'token that control requests must have; needed where the server listens on more than loopback',
    'visible ASCII characters without spaces',
    visibleAscii,
  ),
  state: {
    ...text(
      'Redis or Valkey that keeps lanes, rules and generations, so that any number of servers act as one',
      'a redis:// or rediss:// URL',
      z.string().regex(/^rediss?:\/\/[^\s]+$/),
    ),
    argument: '<url>',
  },
  stateName: text(
    'servers with the same name at the same Redis act as one',
    'letters, digits, dots, hyphens and underscores',
    z.string().regex(/^[\w.-]+$/),
  ),
  stateFallback: {
    argument: '<how>',
    meaning:
      'where Redis is away: none (503 and the reason), or local: go on with a state of its own, as the journal tells',
    allowed: `one of ${STATE_FALLBACKS.join(', ')}`,
    schema: z.enum(STATE_FALLBACKS),
    parse: asText,
  } satisfies OptionRow<StateFallback>,
  journalStream: integer(
    1,
    1_000_000_000,
    'with a state: ledgers go to a Redis stream as well, which keeps about so many',
  ),
  maxLanes: integer(1, 10_000_000, 'lanes that are kept; the least recently used go first'),
  maxHeadBytes: integer(256, 16_777_216, 'largest request head; 431 beyond', 'bytes'),
  maxBodyBytes: integer(0, 1_073_741_824, 'largest request body; 413 beyond', 'bytes'),
  requestTimeoutMs: delay('time for a request from its first byte to its last; 408 beyond; 0 for no limit'),
} as const satisfies Record<string, OptionRow<unknown>>;

export type SimpleOptionName = keyof typeof OPTION_ROWS;
export const OPTION_NAMES = Object.keys(OPTION_ROWS) as readonly SimpleOptionName[];
export type SimpleOptions = { readonly [K in SimpleOptionName]: z.output<(typeof OPTION_ROWS)[K]['schema']> };

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
