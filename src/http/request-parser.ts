import { HTTPParser } from 'http-parser-js';
import { CHUNK_LINE, watchLines } from './line-parser.js';
import { type BadRequest, type Request, type RequestHead, requestOf } from './request.js';

/**
 * Bytes in, requests out: http-parser-js with the strictness of RFC 9112 where it is lenient (measured on 0.5.10).
 * It takes a chunk size that isn't hex for 0, a content length of "1e3" for 1000, skips header lines without a colon,
 * and counts bytes of earlier bodies as header bytes; so lengths are counted and lines are looked at here. What is
 * made of the bytes doesn't depend on how the network has split them.
 */
export interface ParserLimits {
  /** Request line and headers, and trailers by themselves; 431 beyond. */
  readonly maxHeadBytes: number;
  /** 413 beyond. */
  readonly maxBodyBytes: number;
  /** Keep the bytes of each request as they came. */
  readonly keepRaw?: boolean;
}

export interface ParserEvents {
  /** The head has come. Whether the rest shall be parsed; nothing more is, otherwise. */
  onHead?(head: RequestHead): boolean;
  onRequest(request: Request): void;
  /** Nothing more is parsed after this. */
  onBad(bad: BadRequest): void;
}

export interface RequestParser {
  feed(bytes: Buffer): void;
  /** Whether a request has begun and is not complete. Blank lines between requests begin none (RFC 9112, section 2.2). */
  midRequest(): boolean;
  /** What was fed of the request that is being parsed, and all behind it; where bytes are kept. */
  taken(): Buffer;
}

/** Extensions of a chunk's size line are ignored, but not without limit (RFC 9112, section 7.1.1). */
const MAX_CHUNK_LINE_BYTES = 4096;

const CRLF_BYTES = 2;
const HEADER_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:/;

class Refused extends Error {
  readonly bad: BadRequest;
  constructor(status: BadRequest['status'], reason: string) {
    super(reason);
    this.bad = { status, reason };
  }
}

/** Whoever listens wants no more of this request. */
class Stopped extends Error {}

export function requestParser(limits: ParserLimits, events: ParserEvents): RequestParser {
  const parser = new HTTPParser(HTTPParser.REQUEST);
  const lines = watchLines(parser, checkLine);
  let head: RequestHead | undefined;
  let body: Buffer[] = [];
  const raw = rawKeeper();
  let bodyBytes = 0;
  let headBytes = 0;
  let dead = false;

  function checkLine(state: string, line: string): void {
    switch (state) {
      case 'REQUEST_LINE':
        if (line === '') break;
        checkFirstByte(line);
        countHead(line);
        checkRequestLine(line);
        break;
      case 'HEADER':
      case 'BODY_CHUNKTRAILERS':
        countHead(line);
        if (line !== '' && (!HEADER_LINE.test(line) || line.includes('\0'))) {
          throw new Refused(400, `header line ${shown(line)} is not "name: value"`);
        }
        break;
      case 'BODY_CHUNKHEAD':
        if (line.length > MAX_CHUNK_LINE_BYTES) throw chunkLineTooLong();
        if (!CHUNK_LINE.test(line)) throw new Refused(400, `chunk size ${shown(line)} is not a hexadecimal number`);
        if (bodyBytes + Number.parseInt(line, 16) > limits.maxBodyBytes) throw tooLarge(limits);
        break;
      case 'BODY_CHUNKEMPTYLINE':
        if (line !== '') throw chunkTooLong();
        break;
    }
  }

  /** What can't become a good line is refused before its end, which in a TLS handshake, say, may never come. */
  function checkBegunLine(state: string, line: string): void {
    if (line === '' || line === '\r') return;
    switch (state) {
      case 'REQUEST_LINE':
        checkFirstByte(line);
        if (headBytes + line.length > limits.maxHeadBytes) throw tooLong(limits);
        break;
      case 'HEADER':
      case 'BODY_CHUNKTRAILERS':
        if (headBytes + line.length > limits.maxHeadBytes) throw tooLong(limits);
        break;
      case 'BODY_CHUNKHEAD':
        // Its CR may be there already.
        if (line.length > MAX_CHUNK_LINE_BYTES + 1) throw chunkLineTooLong();
        break;
      case 'BODY_CHUNKEMPTYLINE':
        throw chunkTooLong();
    }
  }

  function countHead(line: string): void {
    headBytes += line.length + CRLF_BYTES;
    if (headBytes > limits.maxHeadBytes) throw tooLong(limits);
  }

  parser[HTTPParser.kOnHeadersComplete] = (info) => {
    const method = HTTPParser.methods[info.method] ?? '';
    const httpVersion = `${info.versionMajor}.${info.versionMinor}`;
    if (httpVersion !== '1.1' && httpVersion !== '1.0') {
      throw new Refused(505, `HTTP/${httpVersion} is not spoken here; use HTTP/1.1`);
    }
    const headers = collect(info.headers);
    const chunked = checkLength(headers, info.headers, httpVersion, limits);
    // An offered upgrade is never taken, so its request has a body like any other (RFC 9110, section 7.8).
    info.upgrade = false;
    lines.isChunked = chunked;
    headBytes = 0;
    // A streamed answer has no end but the connection's in HTTP/1.0, so there it is never used again.
    const keepAlive = httpVersion === '1.1' && info.shouldKeepAlive;
    const expected = headers.expect?.toLowerCase() === '100-continue' && httpVersion === '1.1';
    const expectsContinue = expected && (chunked || Number.parseInt(headers['content-length'] ?? '0', 10) > 0);
    const [path = ''] = info.url.split('?');
    head = { method, target: info.url, path, httpVersion, headers, keepAlive, expectsContinue };
    if (events.onHead?.(head) === false) throw new Stopped();
  };

  parser[HTTPParser.kOnBody] = (chunk, start, length) => {
    bodyBytes += length;
    if (bodyBytes > limits.maxBodyBytes) throw tooLarge(limits);
    body.push(chunk.subarray(start, start + length));
  };

  parser[HTTPParser.kOnMessageComplete] = () => {
    if (!head) return;
    const whole = body.length === 1 && body[0] ? body[0] : Buffer.concat(body);
    const request = requestOf(head, whole, limits.keepRaw ? raw.take(lines.offset) : undefined);
    head = undefined;
    body = [];
    bodyBytes = 0;
    headBytes = 0;
    events.onRequest(request);
  };

  function refuse(bad: BadRequest): void {
    dead = true;
    body = [];
    events.onBad(bad);
  }

  const midRequest = (): boolean =>
    !dead && (lines.state !== 'REQUEST_LINE' || (lines.line !== '' && lines.line !== '\r'));

  function feed(bytes: Buffer): void {
    if (dead || bytes.length === 0) return;
    if (limits.keepRaw) raw.begin(bytes);
    try {
      const result = parser.execute(bytes);
      if (result instanceof Error) throw result;
      if (limits.keepRaw) raw.end();
      checkBegunLine(lines.state, lines.line);
    } catch (thrown) {
      if (thrown instanceof Stopped) {
        dead = true;
        body = [];
        return;
      }
      refuse(thrown instanceof Refused ? thrown.bad : { status: 400, reason: explain(thrown) });
    }
  }

  return {
    feed,
    midRequest,
    taken: raw.left,
  };
}

/** Cuts the bytes that are fed into those of each request. */
function rawKeeper() {
  let parts: Buffer[] = [];
  let current: Buffer = Buffer.alloc(0);
  let from = 0;
  return {
    begin: (bytes: Buffer) => {
      current = bytes;
      from = 0;
    },
    /** What came up to `offset` of the current bytes belongs to the request that ends there. */
    take: (offset: number): Buffer => {
      const whole = Buffer.concat([...parts, current.subarray(from, offset)]);
      parts = [];
      from = offset;
      return whole;
    },
    /** What wasn't taken; while the current bytes are fed. */
    left: (): Buffer => Buffer.concat([...parts, current.subarray(from)]),
    end: () => {
      if (from < current.length) parts.push(current.subarray(from));
    },
  };
}

/** Methods begin with a letter. A TLS record of type handshake begins with 22 (RFC 8446, section 5.1). */
function checkFirstByte(line: string): void {
  const first = line.charCodeAt(0);
  if (first >= 65 && first <= 90) return;
  if (first === 22) throw new Refused(400, 'these bytes are a TLS handshake; use http://, not https://');
  throw notARequestLine(line);
}

function checkRequestLine(line: string): void {
  if (line === 'PRI * HTTP/2.0') throw new Refused(505, 'HTTP/2 is not spoken here; use HTTP/1.1');
  const [, method, , version] = /^(\S+) (\S+) HTTP\/(\d\.\d)$/.exec(line) ?? [];
  if (method === undefined || version === undefined) throw notARequestLine(line);
  if (!HTTPParser.methods.includes(method)) throw new Refused(501, `unknown method ${shown(method)}`);
}

function collect(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase();
    const value = raw[i + 1] ?? '';
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return headers;
}

/** Whether the body is chunked. Where two lengths could disagree nothing is guessed (RFC 9112, section 6.3). */
function checkLength(
  headers: Record<string, string>,
  raw: readonly string[],
  httpVersion: string,
  limits: ParserLimits,
): boolean {
  const encoding = headers['transfer-encoding']?.toLowerCase();
  if (encoding !== undefined) {
    if (httpVersion === '1.0') throw new Refused(400, 'HTTP/1.0 has no transfer-encoding');
    if (headers['content-length'] !== undefined) {
      throw new Refused(400, 'both transfer-encoding and content-length are set');
    }
    if (encoding !== 'chunked') throw new Refused(501, `transfer-encoding ${shown(encoding)} is unknown; use chunked`);
    return true;
  }
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]?.toLowerCase() !== 'content-length') continue;
    const value = raw[i + 1] ?? '';
    if (!/^\d+$/.test(value)) throw new Refused(400, `content-length ${shown(value)} is not a number`);
    if (Number(value) > limits.maxBodyBytes) throw tooLarge(limits);
  }
  return false;
}

function notARequestLine(line: string): Refused {
  return new Refused(400, `${shown(line)} is not an HTTP/1.1 request line`);
}

function chunkLineTooLong(): Refused {
  return new Refused(413, `a chunk's size line is over ${MAX_CHUNK_LINE_BYTES} bytes`);
}

function chunkTooLong(): Refused {
  return new Refused(400, 'a chunk has more bytes than its size says');
}

function tooLong(limits: ParserLimits): Refused {
  return new Refused(431, `the request's head is over ${limits.maxHeadBytes} bytes`);
}

function tooLarge(limits: ParserLimits): Refused {
  return new Refused(413, `the request's body is over ${limits.maxBodyBytes} bytes`);
}

function explain(thrown: unknown): string {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  if (code === 'HPE_UNEXPECTED_CONTENT_LENGTH') return 'two content-length headers disagree';
  if (code === 'HPE_LF_EXPECTED') return 'a header line has a CR inside';
  return `not an HTTP/1.1 request (${thrown instanceof Error ? thrown.message : String(thrown)})`;
}

/** At most 60 printable characters of what came, in quotes. */
function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
