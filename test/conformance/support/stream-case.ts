import type { FaultSpec } from '../../../src/fault/spec.js';

/** A case about an event stream: what is on the wire, what the suite expects of a client, and what ours makes of it. */
export interface StreamCase {
  readonly id: string;
  /** The suite's file, from the root of its repository. */
  readonly source: string;
  /** One for each request of the client, in order. */
  readonly connections: readonly Connection[];
  /** What eventsource-parser makes of it where that isn't what is expected. */
  readonly parser?: string;
  /** What is to be known about the case, beside its bytes. */
  readonly note?: string;
  /** Cases of one row in the documentation, where they come out alike. */
  readonly family?: string;
  /** What of it only a client could be asked that connects, reconnects or sends headers by itself. */
  readonly aboutClient?: string;
  /** The expectation in words, where it is about more than events. */
  readonly expectation?: string;
}

export interface Connection {
  /** What is sent, send by send, as byte strings: `\xNN` is one byte. */
  readonly segments: readonly string[];
  /** Absent: the suite says nothing about events. */
  readonly expected?: readonly Told[];
  /** The stream stays open; its framing ends; or the connection ends without that. Default open. */
  readonly end?: 'open' | 'whole' | 'broken';
  /** Pause between sends. Default: what keeps them apart. */
  readonly gapMs?: number;
  readonly framing?: 'chunked' | 'content_length' | 'until_close';
  readonly status?: number;
  readonly reason?: string;
  /** Empty: there is none. */
  readonly contentType?: string;
  readonly headers?: readonly (readonly [string, string])[];
  /** Changes of the fault that the above can't say. */
  readonly also?: FaultSpec;
}

/** What a parser says, in order. Comments only count where some are expected. */
export type Told = SseEvent | { readonly comment: string } | { readonly retry: number };

export interface SseEvent {
  readonly data: string;
  /** Default message. */
  readonly type?: string;
  /** The last event ID as it is at dispatch. Default empty. */
  readonly id?: string;
}

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

export function bodyOf({ segments }: Connection): Buffer {
  return Buffer.concat(segments.map(bytesOf));
}

/** `bytes` in sends of `size`. */
export function inPieces(bytes: string, size: number): string[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.slice(n * size, (n + 1) * size));
}

/** Where sends end, the last one left out: offsets in the body. */
function bordersOf({ segments }: Connection): number[] {
  let at = 0;
  return segments.slice(0, -1).map(({ length }) => {
    at += length;
    return at;
  });
}

/** The fault that puts a connection's bytes on the wire as the suite's server does. */
export function faultOf(connection: Connection): FaultSpec {
  const { framing: kind = 'chunked', end = 'open', gapMs, status = 200, reason, headers, also } = connection;
  const { contentType = 'text/event-stream; charset=utf-8' } = connection;
  const places = bordersOf(connection).map((at) => `body:${at}`);
  const [first] = places;
  const chunked = kind === 'chunked';
  const ends = chunked ? ['chunk:*'] : places;
  const gap = gapMs === undefined ? {} : { gapMs };
  return {
    // A body is UTF-8 text, and all of these are.
    answer: {
      kind: 'http',
      status,
      ...(contentType === '' ? {} : { contentType }),
      ...(headers ? { headers } : {}),
      body: bodyOf(connection).toString(),
    },
    framing: { kind, ...(chunked ? { chunks: first === undefined ? 'whole' : { at: places } } : {}) },
    ...(reason === undefined ? {} : { head: { reason } }),
    segments: { at: ['headers', ...ends], ...gap },
    ...(end === 'whole'
      ? {}
      : { cut: { at: chunked ? 'last_chunk' : 'end', teardown: end === 'open' ? 'stall' : 'fin' } }),
    ...also,
  };
}
