import { datedHead } from '../http/dates.js';
import { encoded } from '../http/encoding.js';
import { type Framing, frame, type Head } from '../http/framing.js';
import type { AnswerContext, Dialect } from '../sse/dialect.js';
import { encodeEvents, encodeWhole } from '../sse/encoder.js';
import { joinMarked, type Marked, takeParts } from '../sse/mark.js';
import type { Stamps } from '../sse/stamps.js';
import { appliesToBody, editedBody, editedEvents, eventOf } from './edits.js';
import { offsetOrThrow, offsetsOrThrow } from './reached.js';
import type { Cut, FaultSpec, Splice } from './spec.js';
import type { Answer, TurnShape } from './spec-answer.js';
import { spliced } from './splice.js';
import { idleOf, stepsOf } from './steps.js';
import type { WirePlan } from './wire-plan.js';
import { type Content, turnOf } from './words.js';

export interface PlanInput {
  readonly fault: FaultSpec;
  readonly dialect: Dialect;
  readonly context: AnswerContext;
  readonly content: Content;
  /** Whether the client will use the connection again. */
  readonly keepAlive: boolean;
  /** HTTP/1.0 knows no chunks (RFC 9112, section 7.1). */
  readonly chunkedAllowed: boolean;
  /** Streams are compressed. */
  readonly gzip: boolean;
  /** Of what the plan draws: jitter. */
  readonly seed: string;
}

/** What the layers below the events need. */
export type AssembleInput = Omit<PlanInput, 'dialect' | 'context'> & {
  readonly context: Pick<AnswerContext, 'request' | 'chunkSize'> & { readonly stamps: Pick<Stamps, 'httpDate'> };
};

/** What an answer says of its body. */
export interface Headed {
  readonly status: number;
  readonly headers: Head['headers'];
  /** An event stream, whether or not it says so. */
  readonly stream: boolean;
}

/** An answer before its framing: parts that become chunks where the framing has any. */
export interface Body extends Headed {
  readonly parts: readonly Marked[];
  /** Layers of the fault that have no place in it. */
  readonly unapplied: readonly string[];
}

const STREAM_TYPE = 'text/event-stream; charset=utf-8';
const JSON_TYPE = 'application/json';
const HTML =
  '<!doctype html>\n<html lang="en"><head><title>Welcome</title></head><body><h1>It works!</h1></body></html>\n';

const HEALTHY: Answer = { kind: 'turn', turn: { text: 'success', finish: 'stop' } };

function text(body: string): Marked[] {
  return [{ bytes: Buffer.from(body), marks: [] }];
}

/** Layers of a fault that only streams have. */
function streamLayers({ events, sse }: FaultSpec): string[] {
  return [...(events?.length ? ['events'] : []), ...(sse ? ['sse'] : [])];
}

/** What a fault does to chunks, which not every answer has. */
export function chunkLayer({ framing = {} }: FaultSpec): string[] {
  const { chunks, extension, sizes, trailers, last } = framing;
  return [chunks, extension, sizes, trailers, last].some((value) => value !== undefined) ? ['framing'] : [];
}

function bodyOf(input: PlanInput): Body {
  const { fault, dialect, context, content } = input;
  const { answer = HEALTHY } = fault;
  const plain = { stream: false, unapplied: streamLayers(fault) };
  switch (answer.kind) {
    case 'turn':
      return told(answer.turn, input);
    case 'events':
      return {
        status: 200,
        headers: dialect.headers(STREAM_TYPE, context),
        parts: encodeEvents(answer.events.map(eventOf), fault.sse),
        stream: true,
        unapplied: fault.events?.length ? ['events'] : [],
      };
    case 'http_error': {
      const error = dialect.error(answer.error, answer.message, content.retryAfterMs, context);
      return { ...error, parts: text(error.body), ...plain };
    }
    case 'html': {
      const headers = dialect.headers('text/html; charset=utf-8', context);
      return { status: 200, headers, parts: text(HTML), ...plain };
    }
    case 'json_error': {
      const headers = dialect.headers(JSON_TYPE, context);
      return { status: 200, headers, parts: text(dialect.wholeError(context)), ...plain };
    }
    case 'http': {
      const { status, contentType, headers = [], body } = answer;
      const type = contentType === undefined ? [] : [['Content-Type', contentType] as const];
      return { status, headers: [...type, ...headers], parts: text(body), ...plain };
    }
    default:
      return answer satisfies never;
  }
}

function told(shape: TurnShape, input: PlanInput): Body {
  const { fault, dialect, context, content } = input;
  const { events: edits = [] } = fault;
  const { stream } = context.request;
  const headers = dialect.headers(stream ? STREAM_TYPE : JSON_TYPE, context);
  const turn = turnOf(shape, content, context);
  // A body has no events, but some edits put the words of an odd one into it.
  const tell = () => dialect.tell(turn, context);
  if (stream) {
    return {
      status: 200,
      headers,
      parts: encodeEvents(editedEvents(tell(), edits, content), fault.sse),
      stream,
      unapplied: [],
    };
  }
  const whole = encodeWhole(dialect.whole(turn, context));
  const parts = editedBody(whole, tell, () => dialect.wholeError(context), edits, content);
  const unapplied = [...(edits.every(appliesToBody) ? [] : ['events']), ...(fault.sse ? ['sse'] : [])];
  return { status: 200, headers, parts, stream, unapplied };
}

/** The streams and the JSON bodies of a lying server change places in its headers. */
function typed<T extends Headed>(body: T, fault: FaultSpec): T {
  if (fault.head?.contentType !== 'swapped') return body;
  const type = body.stream ? JSON_TYPE : STREAM_TYPE;
  const headers = body.headers.map(([name, value]) => [name, /^content-type$/i.test(name) ? type : value] as const);
  return { ...body, headers };
}

function framingOf({ stream }: Headed, { fault, chunkedAllowed }: AssembleInput): Framing {
  const chunks = chunkedAllowed && (fault.head?.version ?? '1.1') !== '1.0';
  const kind = fault.framing?.kind ?? (stream ? 'chunked' : 'content_length');
  return kind === 'chunked' && !chunks ? 'until_close' : kind;
}

/** What a splice puts in. */
export function bytesOf({ text: written, hex = '' }: Splice): Buffer {
  return Buffer.concat([Buffer.from(written ?? ''), Buffer.from(hex, 'hex')]);
}

function splicedAt(answer: Marked, splice: Splice): Marked {
  const at = offsetOrThrow(splice.at, answer);
  return spliced(answer, { at, remove: splice.remove ?? 0, insert: bytesOf(splice) });
}

/**
 * Byte changes of the body. What is put in goes into the part that ends there or has the place inside; what is taken
 * out may reach over several. So parts stay what they are.
 */
function splicedParts(parts: readonly Marked[], splices: readonly Splice[]): readonly Marked[] {
  return splices.reduce<readonly Marked[]>((all, splice) => {
    const at = offsetOrThrow(splice.at, joinMarked(all));
    const end = at + (splice.remove ?? 0);
    let insert = bytesOf(splice);
    let start = 0;
    const changed = all.map((part) => {
      const from = Math.max(0, at - start);
      const length = part.bytes.length;
      const remove = Math.max(0, Math.min(length, end - start) - from);
      start += length;
      if (from > length || (remove === 0 && insert.length === 0)) return part;
      const put = insert;
      insert = Buffer.alloc(0);
      return spliced(part, { at: from, remove, insert: put });
    });
    return insert.length === 0 ? changed : [...changed, { bytes: insert, marks: [] }];
  }, parts);
}

/** Ends the body at the cut, so that the framing ends correctly behind it. */
function endedAt(parts: readonly Marked[], cut: Cut): readonly Marked[] {
  return takeParts(parts, offsetOrThrow(cut.at, joinMarked(parts)));
}

/** The head of an answer, and how its body is framed. */
export function headOf(told: Headed, input: AssembleInput): Head {
  const { fault } = input;
  const { status, headers, stream } = typed(told, fault);
  const framing = framingOf(told, input);
  const encoding = fault.encoding ?? (input.gzip && stream ? 'gzip' : undefined);
  return {
    status,
    headers: encoding ? withEncoding(headers) : headers,
    framing,
    keepAlive: input.keepAlive && framing !== 'until_close',
    form: fault.head && datedHead(fault.head, (laterMs) => input.context.stamps.httpDate(laterMs)),
  };
}

function withEncoding(headers: Head['headers']): Head['headers'] {
  const at = headers.findIndex(([name]) => name.toLowerCase() === 'content-type') + 1;
  return [...headers.slice(0, at), ['Content-Encoding', 'gzip'] as const, ...headers.slice(at)];
}

/** Where chunks end that are not those of the events. */
function chunkEndsOf({ fault }: AssembleInput, parts: readonly Marked[]): readonly number[] | undefined {
  const { chunks } = fault.framing ?? {};
  if (chunks === undefined || chunks === 'event') return undefined;
  if (chunks === 'whole') return [];
  const body = joinMarked(parts);
  if ('at' in chunks)
    return chunks.at.flatMap((pattern) => offsetsOrThrow(pattern, body, fault.cut?.teardown === 'eof'));
  const count = Math.ceil(body.bytes.length / chunks.bytes);
  return Array.from({ length: count }, (_, n) => (n + 1) * chunks.bytes);
}

/**
 * Compiles a fault into the bytes of an answer and the steps that play them:
 *
 *   turn ─▶ dialect ─▶ events ─▶ edits ─▶ SSE bytes ─▶ splices ─▶ encoding ─▶ framing ─▶ head ─▶ splices ─▶ cut ─▶ steps
 *
 * @throws WirefaultError `plan_impossible` where the answer doesn't reach a position
 */
export function compile(input: PlanInput): WirePlan {
  return assemble(bodyOf(input), input);
}

/** The same from the bytes of the events on, for an answer that was told by somebody else. */
export function assemble(body: Body, input: AssembleInput): WirePlan {
  const { fault } = input;
  const { cut, splice = [] } = fault;
  const whole = splicedParts(
    body.parts,
    splice.filter(({ layer }) => layer !== 'wire'),
  );
  const ended = cut?.teardown === 'eof' ? endedAt(whole, cut) : whole;
  const encoding = fault.encoding ?? (input.gzip && body.stream ? 'gzip' : undefined);
  const parts = encoding ? encoded(ended, encoding) : ended;
  const head = headOf(body, input);
  const { framing } = head;
  const chunkEnds = framing === 'chunked' ? chunkEndsOf(input, parts) : undefined;
  const framed = frame(head, parts, { ...fault.framing, ...(chunkEnds ? { chunkEnds } : {}) });
  const answer = splice.filter(({ layer }) => layer === 'wire').reduce(splicedAt, framed);
  const offset = !cut || cut.teardown === 'eof' ? answer.bytes.length : offsetOrThrow(cut.at, answer);
  const idle = idleOf(input);
  return {
    ...answer,
    ...(cut ? { cut: { position: cut.at, offset } } : {}),
    steps: stepsOf(answer, offset, input),
    closes: framing === 'until_close',
    unapplied: [...body.unapplied, ...(framing === 'chunked' ? [] : chunkLayer(fault))],
    ...(idle ? { idle } : {}),
  };
}
