import { isObject, type Protocol } from '../sse/dialect.js';
import { recognize } from '../sse/recognize.js';
import { type EventFields, fieldsOf, type ScannedEvent, sseScanner } from '../sse/scanner.js';
import type { BrokenEnd, EndKind } from './ends.js';

/**
 * One answer in as its parts come, with the time of each; what it came to, out. Pure: times come from outside, in
 * milliseconds of one clock. The content type isn't looked at, as SDKs don't look at it.
 */
export interface AnswerFacts {
  readonly kind: EndKind;
  /** The protocol's last word had come, whatever came after it. */
  readonly terminal: boolean;
  readonly retryAfter: boolean;
  /** From the request to the head of the answer; `undefined`: it hasn't come. */
  readonly headMs: number | undefined;
  /** To the end of the first event that is no keep-alive. */
  readonly firstEventMs: number | undefined;
  /** To the first event with a piece of the model's words or of a tool call. */
  readonly firstContentMs: number | undefined;
  /** To the end. */
  readonly totalMs: number;
}

/** What is counted as it comes, so that a run can be watched. */
export interface AnswerTally {
  /**
   * An event that is no keep-alive.
   * @param gapMs since the one before it; near 0 where both came in one read; `undefined` for the first
   */
  event(gapMs: number | undefined): void;
  /** A comment, a ping or their like. */
  keepAlive(): void;
  bodyBytes(count: number): void;
}

export interface AnswerReader {
  head(status: number, retryAfter: boolean, atMs: number): void;
  body(bytes: Buffer, atMs: number): void;
  /** @param broken how, where the body has not ended as HTTP has it */
  end(broken: BrokenEnd | undefined, atMs: number): AnswerFacts;
}

export interface AnswerReaderOptions {
  readonly protocol: Protocol;
  /** A stream was asked for; else one JSON body. */
  readonly stream: boolean;
  /** When the request was made. */
  readonly startMs: number;
  readonly tally: AnswerTally;
}

/** No provider's event is nearly as long; a line without end must not fill the memory. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;

export function answerReader({ protocol, stream, startMs, tally }: AnswerReaderOptions): AnswerReader {
  let status: number | undefined;
  let retryAfter = false;
  let headMs: number | undefined;
  let firstEventMs: number | undefined;
  let firstContentMs: number | undefined;
  let lastEventMs = 0;
  let bodyBytes = 0;
  let terminal = false;
  let malformed = false;
  let failed = false;
  let nowMs = startMs;
  const whole: Buffer[] = [];

  function onEvent(event: ScannedEvent): void {
    const fields = fieldsOf(event.bytes, event.index === 1);
    const { name, role } = recognize(protocol, fields);
    if (role === 'keepalive') {
      // Lines of no event stream say nothing at all.
      if (fields.comment || fields.data !== undefined) tally.keepAlive();
      return;
    }
    tally.event(firstEventMs === undefined ? undefined : nowMs - lastEventMs);
    firstEventMs ??= nowMs - startMs;
    lastEventMs = nowMs;
    if (role === 'malformed' || !isJson(protocol, fields)) malformed = true;
    else if (role === 'delta') firstContentMs ??= nowMs - startMs;
    else if (role === 'error' || name === 'response.failed') failed = true;
    if (role === 'terminal') terminal = true;
  }

  const scanner = sseScanner(
    {
      onEvent,
      onLong: () => {
        malformed = true;
      },
    },
    MAX_EVENT_BYTES,
  );
  const isOk = (): boolean => status !== undefined && status >= 200 && status < 300;

  function readWhole(): void {
    const json = parsed(Buffer.concat(whole).toString('utf8'));
    terminal = isObject(json);
    malformed = !terminal;
    failed = isObject(json) && isObject(json.error);
  }

  function kindOf(broken: BrokenEnd | undefined): EndKind {
    if (broken !== undefined) return broken;
    if (status === undefined) return 'malformed';
    if (!isOk()) return `http_${status}`;
    if (failed) return 'api_error';
    if (malformed) return 'malformed';
    return terminal ? 'complete' : 'no_terminal';
  }

  return {
    head: (told, retry, atMs) => {
      status = told;
      retryAfter = retry;
      headMs = atMs - startMs;
    },
    body: (bytes, atMs) => {
      nowMs = atMs;
      if (isOk() && stream) scanner.feed(bytes, bodyBytes);
      else if (isOk()) whole.push(bytes);
      bodyBytes += bytes.length;
      tally.bodyBytes(bytes.length);
    },
    end: (broken, atMs) => {
      nowMs = atMs;
      if (broken === undefined && isOk()) {
        if (stream) scanner.finish();
        else readWhole();
      }
      const kind = kindOf(broken);
      return { kind, terminal, retryAfter, headMs, firstEventMs, firstContentMs, totalMs: atMs - startMs };
    },
  };
}

/** Chat has no names, so its events are parsed to be known; those with a name are known by it, whatever their data is. */
function isJson(protocol: Protocol, { event, data = '' }: EventFields): boolean {
  return protocol === 'openai-chat' || event === undefined || parsed(data) !== undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
