import { WirefaultError } from '../errors.js';
import { type Framing, frame, type Head } from '../http/framing.js';
import type { AnswerContext, Dialect, DialectEvent, Telling } from '../sse/dialect.js';
import { encodeEvents, encodeWhole } from '../sse/encoder.js';
import { joinMarked, type Mark, type Marked, takeMarked } from '../sse/mark.js';
import { type Turn, tokensOf } from '../sse/turn.js';
import { offsetOf } from './position.js';
import type { AnswerFault, EventEdit, Teardown, TurnShape } from './spec.js';

/** The options that hold an answer's words and delays. */
export interface Content {
  readonly successText: string;
  readonly partialText: string;
  readonly reasoningText: string;
  readonly toolName: string;
  readonly toolArguments: string;
  readonly chunkDelayMs: number;
  readonly disconnectDelayMs: number;
  readonly retryAfterMs: number;
}

export type Step =
  /** One segment: `bytes[start, end)`. */
  | { readonly op: 'write'; readonly start: number; readonly end: number }
  /** A pause on the plan's own clock, so that delays of writes don't add up. */
  | { readonly op: 'wait'; readonly ms: number }
  /** Until the kernel has taken all that was written; the clock of the waits starts anew there. */
  | { readonly op: 'settle'; readonly until: 'flushed' }
  | { readonly op: 'teardown'; readonly kind: Teardown };

/** The exact bytes of an answer, their marks, and the steps that play them. Plain data. */
export interface WirePlan {
  /** The whole intended answer, before the cut. */
  readonly bytes: Buffer;
  readonly marks: readonly Mark[];
  readonly cut?: { readonly position: string; readonly offset: number };
  readonly steps: readonly Step[];
}

export interface PlanInput {
  readonly fault: AnswerFault;
  readonly dialect: Dialect;
  readonly context: AnswerContext;
  readonly content: Content;
  /** Whether the client will use the connection again. */
  readonly keepAlive: boolean;
  /** HTTP/1.0 knows no chunks (RFC 9112, section 7.1). */
  readonly chunkedAllowed: boolean;
}

/**
 * The pause before a reset for which no delay is set. Data and RST that arrive in one wake-up of the client look
 * like a clean end to Node clients (measured: 88 to 98 % of fast readers; 10 of 300 with 1 ms, 0 of 300 with 20 ms).
 */
const RESET_PAUSE_MS = 20;

/** The prompt's size is not looked at: an answer's bytes shall not depend on it. */
const INPUT_TOKENS = 12;

function turnOf(shape: TurnShape, content: Content, context: AnswerContext): Turn {
  const text = { success: content.successText, partial: content.partialText, none: '' }[shape.text];
  const reasoning = shape.reasoning ? content.reasoningText : '';
  const call = { name: content.toolName, arguments: content.toolArguments };
  const toolCalls = Array.from({ length: shape.toolCalls ?? 0 }, () => call);
  const reasoningTokens = tokensOf(reasoning);
  const told = tokensOf(text) + toolCalls.reduce((sum, { arguments: args }) => sum + tokensOf(args), 0);
  // Clients compare the usage of a length stop with the limit that they asked for.
  const limit = shape.finish === 'length' ? context.request.maxTokens : undefined;
  const outputTokens = limit ?? told + reasoningTokens;
  return {
    reasoning,
    text,
    refusal: '',
    toolCalls,
    finish: shape.finish,
    usage: { inputTokens: INPUT_TOKENS, outputTokens, reasoningTokens: Math.min(reasoningTokens, outputTokens) },
  };
}

function edited({ events, odd }: Telling, edits: readonly EventEdit[]): DialectEvent[] {
  let list = [...events];
  for (const edit of edits) {
    switch (edit.op) {
      case 'keep':
        list = list.filter((event) => edit.roles.includes(event.role));
        break;
      case 'insert': {
        const at = list.findIndex((event) => event.role === edit.before);
        list.splice(at < 0 ? list.length : at, 0, ...odd(edit.event));
        break;
      }
      default:
        edit satisfies never;
    }
  }
  return list;
}

/** What an edit of events makes of a body without events: the odd event's data is the body. */
function editedWhole(whole: Marked, { odd }: Telling, edits: readonly EventEdit[]): Marked {
  const insert = edits.find((edit) => edit.op === 'insert');
  const event = insert && odd(insert.event)[0];
  return event ? { bytes: Buffer.from(event.data(0)), marks: [] } : whole;
}

const CONTENT_TYPES = { stream: 'text/event-stream; charset=utf-8', json: 'application/json' } as const;

interface Body {
  readonly status: number;
  readonly headers: Head['headers'];
  readonly framing: Framing;
  readonly parts: readonly Marked[];
}

function bodyOf(input: PlanInput): Body {
  const { fault, dialect, context, content } = input;
  const { answer, edits = [] } = fault;
  switch (answer.kind) {
    case 'http_error': {
      const error = dialect.error(answer.error, answer.message, content.retryAfterMs, context);
      return { ...error, framing: 'content_length', parts: [{ bytes: Buffer.from(error.body), marks: [] }] };
    }
    case 'turn': {
      const turn = turnOf(answer.turn, content, context);
      const streamed = context.request.stream;
      const headers = dialect.headers(
        CONTENT_TYPES[streamed === (fault.contentType === 'swapped') ? 'json' : 'stream'],
        context,
      );
      const telling = dialect.tell(turn, context);
      if (streamed) {
        const parts = encodeEvents(edited(telling, edits));
        return { status: 200, headers, framing: input.chunkedAllowed ? 'chunked' : 'until_close', parts };
      }
      const part = editedWhole(encodeWhole(dialect.whole(turn, context)), telling, edits);
      return { status: 200, headers, framing: 'content_length', parts: [part] };
    }
    default:
      return answer satisfies never;
  }
}

/** Ends the body at the cut, so that the framing ends correctly behind it. */
function endedAtCut(body: Body, position: AnswerFault['cut'] & object): Body {
  const whole = joinMarked(body.parts);
  const keep = offsetOrThrow(position.at, whole);
  let left = keep;
  const parts = body.parts.map((part) => {
    const kept = takeMarked(part, Math.max(0, Math.min(left, part.bytes.length)));
    left -= part.bytes.length;
    return kept;
  });
  return { ...body, parts };
}

function offsetOrThrow(position: Parameters<typeof offsetOf>[0], answer: Marked): number {
  const offset = offsetOf(position, answer);
  if (offset !== undefined) return offset;
  const events = answer.marks.filter((mark) => mark.kind === 'event').map((mark) => mark.name);
  throw new WirefaultError(
    'plan_impossible',
    `position ${position}: the answer doesn't reach it; it has ${answer.bytes.length} bytes and the events ${events.join(', ') || '(none)'}`,
  );
}

function stepsOf(answer: Marked, offset: number, input: PlanInput): Step[] {
  const { fault, content, context } = input;
  const steps: Step[] = [];
  let at = 0;
  const writeTo = (end: number): void => {
    if (end > at) steps.push({ op: 'write', start: at, end });
    at = Math.max(at, end);
  };
  if (fault.pace === 'deltas') {
    const deltas = answer.marks.filter((mark) => mark.kind === 'event' && mark.role === 'delta');
    if (context.request.stream) {
      for (const delta of deltas) {
        // The pause stands between what was and what comes, so none follows the last delta of a cut answer.
        const end = answer.marks.find((mark) => mark.kind === 'chunk' && mark.end > delta.end)?.end ?? delta.end;
        if (end >= offset) break;
        writeTo(end);
        steps.push({ op: 'wait', ms: content.chunkDelayMs });
      }
    } else {
      // A body in one piece comes when the last delta of a stream would have.
      const text = answer.marks.filter((mark) => mark.kind === 'text');
      const count = text.reduce((sum, mark) => sum + codePoints(answer, mark), 0) / context.chunkSize;
      steps.push({ op: 'wait', ms: Math.ceil(count) * content.chunkDelayMs });
    }
  }
  writeTo(offset);
  const teardown = fault.cut?.teardown ?? 'keep_alive';
  if (teardown === 'rst' && offset > 0) {
    const delayMs = fault.cut?.delay ? content[fault.cut.delay] : 0;
    steps.push({ op: 'settle', until: 'flushed' }, { op: 'wait', ms: delayMs || RESET_PAUSE_MS });
  }
  steps.push({ op: 'teardown', kind: teardown });
  return steps;
}

function codePoints(answer: Marked, mark: Mark): number {
  return Array.from(String(JSON.parse(`"${answer.bytes.toString('utf8', mark.start, mark.end)}"`))).length;
}

/**
 * Compiles a fault into the bytes of an answer and the steps that play them: turn, events, bytes, framing, cut.
 * @throws WirefaultError `plan_impossible` where the answer doesn't reach the cut.
 */
export function compile(input: PlanInput): WirePlan {
  const { cut } = input.fault;
  const intended = bodyOf(input);
  const body = cut?.teardown === 'eof' ? endedAtCut(intended, cut) : intended;
  const answer = frame({ ...body, keepAlive: input.keepAlive && body.framing !== 'until_close' }, body.parts);
  const offset = !cut || cut.teardown === 'eof' ? answer.bytes.length : offsetOrThrow(cut.at, answer);
  return {
    ...answer,
    ...(cut ? { cut: { position: cut.at, offset } } : {}),
    steps: stepsOf(answer, offset, input),
  };
}
