import type { ErrorKind, OddEvent, Role } from '../sse/dialect.js';
import type { Finish } from '../sse/turn.js';
import type { Position } from './position.js';

/**
 * What a behavior means, as plain data. Layers are touched independently: the turn, its events, the head,
 * the pace, and where and how the answer is cut.
 */

/**
 * How a cut answer ends.
 *
 * | teardown | at the wire |
 * |---|---|
 * | `rst` | settle, then close with SO_LINGER 0: a true RST |
 * | `rst_now` | RST at once; what is lost by it is recorded |
 * | `fin` | close, without an end of the HTTP framing |
 * | `half_close` | the sending side is shut, the other is still read |
 * | `eof` | the HTTP framing ends correctly, the protocol does not; the connection stays usable |
 * | `stall` | open and silent until the client goes or the server stops |
 */
export const CUT_TEARDOWNS = ['rst', 'rst_now', 'fin', 'half_close', 'eof', 'stall'] as const;
export type CutTeardown = (typeof CUT_TEARDOWNS)[number];

/** How the connection ends; `keep_alive`: the answer was complete, and the next request is waited for. */
export type Teardown = CutTeardown | 'keep_alive';

/** The turn by reference to the options that hold its words. */
export interface TurnShape {
  readonly text: 'success' | 'partial' | 'none';
  readonly reasoning?: true;
  /** A refusal is said instead of the text. */
  readonly refusal?: true;
  readonly toolCalls?: 1 | 2;
  /** Half of the last call's arguments, as the length limit cuts them. */
  readonly halfToolCall?: true;
  readonly finish: Finish;
}

export type Answer =
  | { readonly kind: 'turn'; readonly turn: TurnShape }
  /** The provider's own HTTP error, with this message. */
  | { readonly kind: 'http_error'; readonly error: ErrorKind; readonly message: string }
  /** A web page under 200, as a wrong base URL gives it. */
  | { readonly kind: 'html' }
  /** The provider's error object under 200. */
  | { readonly kind: 'json_error' };

/**
 * Changes to the list of events, applied in order. A JSON body is a list of parts with roles, and is changed in the
 * same way; where that would make no sense, `fault/edits` says what it makes instead.
 */
export type EventEdit =
  | { readonly op: 'keep'; readonly roles: readonly Role[] }
  | { readonly op: 'drop'; readonly roles: readonly Role[] }
  /** Drops what stands behind the last delta. */
  | { readonly op: 'end_after_deltas' }
  /** The first event once more, behind itself. */
  | { readonly op: 'repeat_first' }
  | { readonly op: 'append'; readonly event: OddEvent }
  | { readonly op: 'insert'; readonly event: OddEvent; readonly before: Role; readonly times?: 'keepaliveCount' };

export interface Cut {
  readonly at: Position;
  readonly teardown: CutTeardown;
  /** The option that says how long to pause before the teardown. */
  readonly delay?: 'disconnectDelayMs';
}

export interface AnswerFault {
  readonly kind: 'answer';
  readonly answer: Answer;
  readonly edits?: readonly EventEdit[];
  /** The content types of streams and JSON bodies change places. */
  readonly contentType?: 'swapped';
  /** `chunkDelayMs` after each delta, or `keepaliveMs` after each keep-alive; otherwise all is written at once. */
  readonly pace?: 'deltas' | 'keepalives';
  /** The last event comes again and again, every `keepaliveMs`, for ever. */
  readonly pulse?: true;
  /** JSON bodies come in chunks too, where streams do anyway. */
  readonly framing?: 'chunked';
  readonly cut?: Cut;
}

export type FaultSpec =
  | AnswerFault
  /** The port is closed for `listenDelayMs`. */
  | { readonly kind: 'refuse' }
  /** A weighted, seeded draw among the behaviors that answer. */
  | { readonly kind: 'draw' };
