import { WirefaultError } from '../errors.js';
import { gzipped } from '../http/encoding.js';
import { type Framing, frame, type Head } from '../http/framing.js';
import type { AnswerContext, Dialect } from '../sse/dialect.js';
import { encodeEvents, encodeWhole } from '../sse/encoder.js';
import { joinMarked, type Marked, takeMarked } from '../sse/mark.js';
import { editedBody, editedEvents } from './edits.js';
import { offsetOf, type Position } from './position.js';
import type { AnswerFault, Cut, TurnShape } from './spec.js';
import { stepsOf } from './steps.js';
import type { WirePlan } from './wire-plan.js';
import { type Content, turnOf } from './words.js';

export interface PlanInput {
  readonly fault: AnswerFault;
  readonly dialect: Dialect;
  readonly context: AnswerContext;
  readonly content: Content;
  /** Whether the client will use the connection again. */
  readonly keepAlive: boolean;
  /** HTTP/1.0 knows no chunks (RFC 9112, section 7.1). */
  readonly chunkedAllowed: boolean;
  /** Streams are compressed. */
  readonly gzip: boolean;
}

/** An answer's body before its framing: parts that become chunks where the framing has any. */
interface Body {
  readonly status: number;
  readonly headers: Head['headers'];
  readonly framing: Framing;
  readonly parts: readonly Marked[];
}

const STREAM_TYPE = 'text/event-stream; charset=utf-8';
const JSON_TYPE = 'application/json';
const HTML =
  '<!doctype html>\n<html lang="en"><head><title>Welcome</title></head><body><h1>It works!</h1></body></html>\n';

function text(body: string): Marked[] {
  return [{ bytes: Buffer.from(body), marks: [] }];
}

function bodyOf(input: PlanInput): Body {
  const { fault, dialect, context, content } = input;
  const { answer } = fault;
  switch (answer.kind) {
    case 'turn':
      return told(answer.turn, input);
    case 'http_error': {
      const error = dialect.error(answer.error, answer.message, content.retryAfterMs, context);
      return { ...error, framing: 'content_length', parts: text(error.body) };
    }
    case 'html': {
      const headers = dialect.headers('text/html; charset=utf-8', context);
      return { status: 200, headers, framing: 'content_length', parts: text(HTML) };
    }
    case 'json_error': {
      const headers = dialect.headers(JSON_TYPE, context);
      return { status: 200, headers, framing: 'content_length', parts: text(dialect.wholeError(context)) };
    }
    default:
      return answer satisfies never;
  }
}

function told(shape: TurnShape, input: PlanInput): Body {
  const { fault, dialect, context, content } = input;
  const { edits = [] } = fault;
  const streamed = context.request.stream;
  const type = streamed === (fault.contentType === 'swapped') ? JSON_TYPE : STREAM_TYPE;
  const headers = dialect.headers(type, context);
  const turn = turnOf(shape, content, context);
  // A body has no events, but some edits put the words of an odd one into it.
  const tell = () => dialect.tell(turn, context);
  const parts = streamed
    ? encodeEvents(editedEvents(tell(), edits, content))
    : editedBody(encodeWhole(dialect.whole(turn, context)), tell, () => dialect.wholeError(context), edits, content);
  const chunked = streamed || fault.framing === 'chunked';
  return { status: 200, headers, framing: framingOf(chunked, input), parts };
}

function framingOf(chunked: boolean, input: PlanInput): Framing {
  if (!chunked) return 'content_length';
  return input.chunkedAllowed ? 'chunked' : 'until_close';
}

/** Ends the body at the cut, so that the framing ends correctly behind it. */
function endedAt(body: Body, cut: Cut): Body {
  let left = offsetOrThrow(cut.at, joinMarked(body.parts));
  const parts = body.parts.map((part) => {
    const kept = takeMarked(part, Math.max(0, Math.min(left, part.bytes.length)));
    left -= part.bytes.length;
    return kept;
  });
  return { ...body, parts };
}

function compressed(body: Body): Body {
  const at = body.headers.findIndex(([name]) => name.toLowerCase() === 'content-type') + 1;
  const headers = [...body.headers.slice(0, at), ['Content-Encoding', 'gzip'] as const, ...body.headers.slice(at)];
  return { ...body, headers, parts: gzipped(body.parts) };
}

function offsetOrThrow(position: Position, answer: Marked): number {
  const offset = offsetOf(position, answer);
  if (offset !== undefined) return offset;
  const events = answer.marks.filter((mark) => mark.kind === 'event').map((mark) => mark.name);
  const has = `${answer.bytes.length} bytes and the events ${events.join(', ') || '(none)'}`;
  throw new WirefaultError('plan_impossible', `position ${position}: the answer doesn't reach it; it has ${has}`);
}

/**
 * Compiles a fault into the bytes of an answer and the steps that play them:
 *
 *   turn ─▶ dialect ─▶ events ─▶ edits ─▶ bytes ─▶ (gzip) ─▶ framing ─▶ cut ─▶ steps
 *
 * @throws WirefaultError `plan_impossible` where the answer doesn't reach the cut
 */
export function compile(input: PlanInput): WirePlan {
  const { fault, content, context } = input;
  const { cut } = fault;
  const intended = bodyOf(input);
  const ended = cut?.teardown === 'eof' ? endedAt(intended, cut) : intended;
  const body = input.gzip && context.request.stream && fault.answer.kind === 'turn' ? compressed(ended) : ended;
  const answer = frame({ ...body, keepAlive: input.keepAlive && body.framing !== 'until_close' }, body.parts);
  const offset = !cut || cut.teardown === 'eof' ? answer.bytes.length : offsetOrThrow(cut.at, answer);
  const streamed = context.request.stream;
  return {
    ...answer,
    ...(cut ? { cut: { position: cut.at, offset } } : {}),
    steps: stepsOf(answer, offset, { fault, content, streamed, chunkSize: context.chunkSize }),
  };
}
