import { z } from 'zod';
import { EVIDENCE_SOURCES } from './proof/counters.js';
import { REPLAY_TIMINGS, type ReplayTiming } from './replay/timing.js';
import { FIDELITIES, type Fidelity, KEY_ORDERS, type KeyOrder } from './sse/dialect.js';
import { CHAT_VARIANTS, type ChatVariant } from './sse/dialects.js';

/** Node's timers hold at most a signed 32-bit number of milliseconds; a longer one would fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;

const EVIDENCE_CHOICES = ['auto', ...EVIDENCE_SOURCES] as const;
export type EvidenceChoice = (typeof EVIDENCE_CHOICES)[number];

const STATE_FALLBACKS = ['none', 'local'] as const;
export type StateFallback = (typeof STATE_FALLBACKS)[number];

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
