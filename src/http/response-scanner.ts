import { HTTPParser } from 'http-parser-js';
import { CHUNK_LINE, watchLines } from './line-parser.js';

/**
 * Bytes of one HTTP/1.x answer in as they come, its structure out: http-parser-js, with offsets on the wire and the
 * strictness of RFC 9112 where it is lenient. Nothing is held back, nothing is kept but the head, and what is told
 * doesn't depend on how the network has split the bytes.
 */
export interface ResponseHead {
  readonly status: number;
  readonly httpVersion: string;
  /** Names as they were sent, in the order of the wire. */
  readonly headers: readonly (readonly [string, string])[];
  /** Offsets: the status line, then the headers up to behind the empty line. */
  readonly start: number;
  readonly statusLineEnd: number;
  readonly end: number;
  readonly framing: ResponseFraming;
  /** The server will take another request on the connection. */
  readonly keepAlive: boolean;
}

/** `none`: there is no body, whatever the headers say (RFC 9112, section 6.3). */
export type ResponseFraming = 'chunked' | 'content_length' | 'until_close' | 'none';

/** A chunk whose size line has come. */
export interface Chunk {
  /** Counts from 1. */
  readonly index: number;
  readonly start: number;
  readonly dataStart: number;
  /** Before the CRLF behind the data. */
  readonly dataEnd: number;
}

/** Offsets are bytes from the start of the answer, interim answers included. */
export interface ResponseEvents {
  onInformational?(start: number, end: number): void;
  onHead?(head: ResponseHead): void;
  onChunk?(chunk: Chunk): void;
  /** The size line of the chunk that ends the body has come; it begins at `start`. */
  onLastChunk?(start: number): void;
  /** Bytes of the body, decoded of the framing; `start` is where the first of them is on the wire. */
  onBody?(bytes: Buffer, start: number): void;
  /** The body is whole. */
  onEnd?(end: number): void;
  /** This is no HTTP any more; nothing else will be told. */
  onBroken?(reason: string): void;
}

export interface ResponseScanner {
  feed(bytes: Buffer): void;
  /** The server has ended its side: whether the answer is whole, perhaps by that. */
  finish(): boolean;
  /** As methods, as in all that is made for each exchange: a getter in an object literal makes a hidden class each time. */
  head(): ResponseHead | undefined;
  /** Offset behind the answer; `undefined` while it isn't whole. */
  end(): number | undefined;
  broken(): string | undefined;
}

/** The answer is whole; what comes is not a part of it. */
class Whole extends Error {}

class Broken extends Error {}

const SWITCHING_PROTOCOLS = 101;

/** @param method of the request: an answer to HEAD has no body */
export function responseScanner(method: string, events: ResponseEvents): ResponseScanner {
  const parser = new HTTPParser(HTTPParser.RESPONSE);
  /** Bytes fed before those of now. */
  let base = 0;
  /** Where the next line begins, in states that read lines. */
  let lineStart = 0;
  let answerStart = 0;
  let statusLineEnd = 0;
  let chunks = 0;
  let head: ResponseHead | undefined;
  let end: number | undefined;
  let broken: string | undefined;

  const lines = watchLines(parser, (state, line) => {
    const start = lineStart;
    lineStart = base + lines.offset;
    switch (state) {
      case 'RESPONSE_LINE':
        // Blank lines before an answer belong to none.
        if (line === '') answerStart = lineStart;
        else statusLineEnd = lineStart;
        break;
      case 'BODY_CHUNKHEAD':
        chunkLine(line, start);
        break;
    }
  });

  function chunkLine(line: string, start: number): void {
    if (!CHUNK_LINE.test(line)) throw new Broken(`chunk size ${JSON.stringify(line.slice(0, 60))} is no number`);
    const size = Number.parseInt(line, 16);
    if (size === 0) {
      events.onLastChunk?.(start);
      return;
    }
    chunks++;
    events.onChunk?.({ index: chunks, start, dataStart: lineStart, dataEnd: lineStart + size });
  }

  parser[HTTPParser.kOnHeadersComplete] = (info) => {
    const status = info.statusCode;
    const headers = pairsOf(info.headers);
    const headEnd = base + lines.offset;
    if (status >= 100 && status < 200 && status !== SWITCHING_PROTOCOLS) {
      events.onInformational?.(answerStart, headEnd);
      lines.body_bytes = 0;
      lines.isChunked = false;
      info.upgrade = false;
      return;
    }
    const framing = framingOf(status, method, headers);
    lines.isChunked = framing.kind === 'chunked';
    lines.body_bytes = framing.kind === 'none' ? 0 : framing.kind === 'content_length' ? framing.bytes : null;
    info.upgrade = false;
    head = {
      status,
      httpVersion: `${info.versionMajor}.${info.versionMinor}`,
      headers,
      start: answerStart,
      statusLineEnd,
      end: headEnd,
      framing: framing.kind,
      keepAlive: info.shouldKeepAlive && framing.kind !== 'until_close',
    };
    events.onHead?.(head);
  };

  parser[HTTPParser.kOnBody] = (bytes, start, length) => {
    const first = base + lines.offset;
    // Behind the data of a chunk a line begins: its CRLF.
    lineStart = first + length;
    events.onBody?.(bytes.subarray(start, start + length), first);
  };

  parser[HTTPParser.kOnMessageComplete] = () => {
    if (head) throw new Whole();
    // An interim answer was whole.
    answerStart = base + lines.offset;
    lineStart = answerStart;
  };

  function complete(at: number): void {
    end = at;
    events.onEnd?.(at);
  }

  function breakOff(reason: string): void {
    broken = reason;
    events.onBroken?.(reason);
  }

  return {
    feed: (bytes) => {
      if (end !== undefined || broken !== undefined || bytes.length === 0) return;
      try {
        const result = parser.execute(bytes);
        if (result instanceof Error) throw new Broken(result.message);
      } catch (thrown) {
        if (thrown instanceof Whole) complete(base + lines.offset);
        else if (thrown instanceof Broken) breakOff(thrown.message);
        else throw thrown;
      } finally {
        base += bytes.length;
      }
    },
    finish: () => {
      if (end === undefined && head?.framing === 'until_close' && broken === undefined) complete(base);
      return end !== undefined;
    },
    head: () => head,
    end: () => end,
    broken: () => broken,
  };
}

function pairsOf(raw: readonly string[]): (readonly [string, string])[] {
  return Array.from({ length: raw.length >> 1 }, (_, n) => [raw[2 * n] ?? '', raw[2 * n + 1] ?? ''] as const);
}

type Framed = { readonly kind: Exclude<ResponseFraming, 'content_length'> } | Sized;
interface Sized {
  readonly kind: 'content_length';
  readonly bytes: number;
}

/** How long the body is (RFC 9112, section 6.3). A length that is none, or two of them, end with the connection. */
function framingOf(status: number, method: string, headers: readonly (readonly [string, string])[]): Framed {
  const valuesOf = (name: string): string[] =>
    headers.filter(([known]) => known.toLowerCase() === name).flatMap(([, value]) => value.toLowerCase().split(','));
  if (method === 'HEAD' || status === 204 || status === 304) return { kind: 'none' };
  const codings = valuesOf('transfer-encoding').map((value) => value.trim());
  if (codings.length > 0) return { kind: codings.at(-1) === 'chunked' ? 'chunked' : 'until_close' };
  const lengths = new Set(valuesOf('content-length').map((value) => value.trim()));
  const [length] = lengths;
  if (length === undefined || lengths.size > 1 || !/^\d{1,15}$/.test(length)) return { kind: 'until_close' };
  return length === '0' ? { kind: 'none' } : { kind: 'content_length', bytes: Number(length) };
}

/** The value of a header, the last where there are several; names are in any case. */
export function headerIn(headers: ResponseHead['headers'], name: string): string | undefined {
  return headers.findLast(([known]) => known.toLowerCase() === name)?.[1];
}
