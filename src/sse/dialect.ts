import type { Stamps } from './stamps.js';
import type { Turn } from './turn.js';

/**
 * What a dialect is: one provider's protocol as pure functions from a turn to named events, JSON and headers.
 * No sockets, no clock, no chance: ids and the time come in as stamps.
 */

/** The wire protocols that a path can name. */
export const PROTOCOLS = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** A protocol, or a provider's variant of one. */
export type DialectName = Protocol | 'deepseek-chat';

/**
 * What an event does in its stream. Cuts and edits speak of roles, so that they mean the same in each dialect.
 * `open` begins the stream (Chat has no such event), `start` begins an item in it, `done` ends an item, `finish` says
 * why the model stopped, `terminal` is the protocol's last word.
 */
export const ROLES = [
  'open',
  'start',
  'delta',
  'done',
  'finish',
  'usage',
  'terminal',
  'keepalive',
  'error',
  'malformed',
  // Put in by a fault, and none of these.
  'extra',
] as const;
export type Role = (typeof ROLES)[number];

export type ContentKind = 'text' | 'reasoning' | 'refusal' | 'tool_args';

/** A piece of content inside an event's JSON: the value of `key`, whose place in the bytes becomes a mark. */
export interface Content {
  readonly kind: ContentKind;
  readonly key: string;
  readonly value: string;
  /** `value` is JSON text (of an object), not the words of a JSON string. */
  readonly raw?: true;
}

/** An event of a stream as it is to be written. */
export interface StreamEvent {
  /** The name by which positions and ledgers speak of it. */
  readonly name: string;
  readonly role: Role;
  /** A comment line before the fields. */
  readonly comment?: string;
  /** The `event:` line; dialects of data-only events have none. */
  readonly event?: string;
  /** The `id:` line. */
  readonly id?: string;
  /** The `retry:` line. */
  readonly retry?: string;
  /** The `data:` line. `sequence` counts the events of the final list from 0; a dialect without numbers ignores it. */
  readonly data?: (sequence: number) => string;
  /** All of it as it is sent, line ends included; nothing else of it is. Somebody else's bytes need not be UTF-8. */
  readonly raw?: string | Buffer;
  readonly content?: Content;
}

/** An event of a healthy stream. */
export interface DialectEvent extends StreamEvent {
  readonly data: (sequence: number) => string;
}

/** A whole answer as one JSON body, with the places of its content in the order in which they stand. */
export interface WholeAnswer {
  readonly json: string;
  readonly content: readonly Content[];
}

/** What of a request shapes its answer. Every field has a value: the API's default where the request is silent. */
export interface RequestShape {
  readonly stream: boolean;
  readonly model: string;
  /** The limit on output tokens that the request sets; `undefined` where it sets none. */
  readonly maxTokens: number | undefined;
  /** Chat: `stream_options.include_usage`. */
  readonly includeUsage: boolean;
  /** `stream_options.include_obfuscation`, which is on unless the request turns it off. */
  readonly includeObfuscation: boolean;
  /** The request names the tool that is to be called. */
  readonly forcesTool: boolean;
  /** Fields that the answer repeats (Responses); empty elsewhere. */
  readonly echo: JsonObject;
}

/**
 * How close to the real provider: `full` has its masking fields and all of its headers,
 * `plain` only what a client needs.
 */
export const FIDELITIES = ['full', 'plain'] as const;
export type Fidelity = (typeof FIDELITIES)[number];

export const KEY_ORDERS = ['sorted', 'declared'] as const;
export type KeyOrder = (typeof KEY_ORDERS)[number];

/** Everything but the turn that an answer depends on. */
export interface AnswerContext {
  readonly request: RequestShape;
  readonly fidelity: Fidelity;
  /** Responses: the order of an event's keys. `sorted` after `type` is today's, `declared` was sent until December 2025. */
  readonly keyOrder: KeyOrder;
  /** Code points in one delta. */
  readonly chunkSize: number;
  readonly stamps: Stamps;
  /** The id in the provider's request-id header, which its errors repeat. */
  readonly requestId: string;
}

export type Header = readonly [name: string, value: string];

export const ERROR_KINDS = [
  'rate_limit',
  'server_error',
  'service_unavailable',
  'overloaded',
  'auth_error',
  'invalid_request',
  'context_overflow',
  'quota_exceeded',
] as const;
/** The errors that a provider answers with before any stream begins. */
export type ErrorKind = (typeof ERROR_KINDS)[number];

export interface HttpError {
  readonly status: number;
  readonly headers: readonly Header[];
  readonly body: string;
}

export const ODD_EVENTS = [
  'malformed_json',
  'malformed_event',
  'stream_error',
  'keepalive',
  'foreign_terminal',
] as const;
/**
 * Events that no healthy turn has, by what is odd about them.
 *
 * | odd event | what it is |
 * |---|---|
 * | `malformed_json` | its data is `{not-json` |
 * | `malformed_event` | it has null where the dialect has an object |
 * | `stream_error` | the provider's in-band error, and what follows it |
 * | `keepalive` | the dialect's sign of life without progress |
 * | `foreign_terminal` | the last word of another protocol |
 */
export type OddEvent = (typeof ODD_EVENTS)[number];

/** A stream that is being told: its healthy events, and odd ones that belong to it (the same ids and times). */
export interface Telling {
  /** In order, the terminal one last. */
  readonly events: readonly DialectEvent[];
  odd(kind: OddEvent): readonly StreamEvent[];
}

/** A JSON object of unknown keys: a request's body. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The model that an answer names where the request names none. */
export const DEFAULT_MODEL = 'mock-model';

/** What in-band errors say. */
export const STREAM_ERROR_MESSAGE = 'mock stream error';

export interface Dialect {
  readonly name: DialectName;
  /** Whether the provider compresses its streams for clients that offer gzip. */
  readonly gzipWhenOffered: boolean;
  /** What of a request's body shapes the answer; an empty object is a request that is silent about everything. */
  readRequest(body: JsonObject): RequestShape;
  /** A request id of the provider's shape. */
  requestId(stamps: Stamps): string;
  tell(turn: Turn, context: AnswerContext): Telling;
  /** The body for a request that doesn't stream. */
  whole(turn: Turn, context: AnswerContext): WholeAnswer;
  /** The body that says, under a 200, what `stream_error` says in a stream. */
  wholeError(context: AnswerContext): string;
  /** Headers of a 200, without those of the framing. */
  headers(contentType: string, context: AnswerContext): Header[];
  /** `retryAfterMs` is told only with the kinds that a client should wait for. */
  error(kind: ErrorKind, message: string, retryAfterMs: number, context: AnswerContext): HttpError;
}
