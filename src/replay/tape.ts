import { frame } from '../http/framing.js';
import type { Header, Protocol } from '../sse/dialect.js';
import { PROTOCOLS } from '../sse/dialect.js';
import { recognize } from '../sse/recognize.js';
import { fieldsOf, sseScanner } from '../sse/scanner.js';
import { wholeMarks } from '../sse/whole-marks.js';
import type { RecordedEnd, Segment } from './format.js';

/** An answer that was told by somebody else, ready to be told again: out of a recording, a HAR or the file of a body. */
export interface Tape {
  /** Where it is from, for ledgers: `000003`, `capture.har#2`, `report.sse`. */
  readonly name: string;
  /** `any`: it can't be told from the answer; `beside`: it answers a request beside those for answers. */
  readonly dialect: Protocol | 'any' | 'beside';
  /** Of the request; an answer to HEAD has no body. */
  readonly method: string;
  /** `undefined`: the request isn't known. */
  readonly fingerprint: string | undefined;
  /** Whether the request asked for a stream. */
  readonly stream: boolean;
  /** All of it as it is on the wire. */
  readonly answer: Buffer;
  /** As it came; none: all at once. */
  readonly segments: readonly Segment[];
  readonly end: RecordedEnd;
  readonly endMs: number;
}

/** A body with what is said of it in its head. */
export interface ToldBody {
  readonly status: number;
  /** The words behind the status; by default the usual ones. */
  readonly reason?: string;
  readonly headers: readonly Header[];
  readonly body: Buffer;
}

/** An answer around a body of which only that is known: a stream in a chunk for each event, anything else with its length. */
export function answerOf({ status, reason, headers, body }: ToldBody): Buffer {
  const streams = headers.some(
    ([name, value]) => /^content-type$/i.test(name) && /^\s*text\/event-stream\b/i.test(value),
  );
  const parts = (streams ? eventsIn(body) : [body]).map((bytes) => ({ bytes, marks: [] }));
  const framing = streams ? 'chunked' : status === 204 ? 'until_close' : 'content_length';
  const form = reason ? { reason } : undefined;
  return frame({ status, headers, framing, keepAlive: true, form }, parts).bytes;
}

/** Every byte of `body`, broken behind each of its events. */
function eventsIn(body: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let at = 0;
  const take = (end: number): void => {
    if (end > at) parts.push(body.subarray(at, end));
    at = end;
  };
  const scanner = sseScanner({ onEvent: ({ end }) => take(end) });
  scanner.feed(body, 0);
  scanner.finish();
  take(body.length);
  return parts;
}

/** Roles that only an event of the protocol's own has here; the last words of all protocols are known to each. */
const TELLING: readonly string[] = ['open', 'start', 'delta', 'done', 'finish'];

/** Whose events these are, or `any` where that can't be told. */
export function dialectOfEvents(body: Buffer): Protocol | 'any' {
  const counts = new Map<Protocol, number>();
  const scanner = sseScanner({
    onEvent: ({ bytes, index }) => {
      const fields = fieldsOf(bytes, index === 1);
      for (const protocol of PROTOCOLS) {
        if (TELLING.includes(recognize(protocol, fields).role)) counts.set(protocol, (counts.get(protocol) ?? 0) + 1);
      }
    },
  });
  scanner.feed(body, 0);
  scanner.finish();
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
  return most?.[0] ?? 'any';
}

/** Whose JSON body this is, by where it has content. */
export function dialectOfJson(body: Buffer): Protocol | 'any' {
  return PROTOCOLS.find((protocol) => wholeMarks(body, protocol).some(({ kind }) => kind !== 'part')) ?? 'any';
}
