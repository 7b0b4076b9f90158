import { STATUS_CODES } from 'node:http';
import type { Header } from '../sse/dialect.js';
import { joinMarked, type Mark, type Marked } from '../sse/mark.js';

/**
 * Head and body framing as bytes with marks (RFC 9112). Pure: what is said here is sent, nothing is added.
 */
export type Framing =
  /** `Transfer-Encoding: chunked`, one chunk for each part. */
  | 'chunked'
  | 'content_length'
  /** No length at all: the end of the connection ends the body, as HTTP/1.0 clients need it. */
  | 'until_close';

export interface Head {
  readonly status: number;
  readonly headers: readonly Header[];
  readonly framing: Framing;
  /** Whether the connection is offered for another request. */
  readonly keepAlive: boolean;
}

/** The framing headers stand behind the content type, where the providers have them. */
function withFraming(head: Head, bodyBytes: number): Header[] {
  const framing: Record<Framing, Header[]> = {
    chunked: [['Transfer-Encoding', 'chunked']],
    content_length: [['Content-Length', String(bodyBytes)]],
    until_close: [],
  };
  const added: Header[] = [...framing[head.framing], ['Connection', head.keepAlive ? 'keep-alive' : 'close']];
  const at = head.headers.findIndex(([name]) => name.toLowerCase() === 'content-type') + 1;
  return [...head.headers.slice(0, at), ...added, ...head.headers.slice(at)];
}

function encodeHead(head: Head, bodyBytes: number): Marked {
  const statusLine = `HTTP/1.1 ${head.status} ${STATUS_CODES[head.status] ?? ''}\r\n`;
  const lines = withFraming(head, bodyBytes).map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = Buffer.from(`${statusLine}${lines.join('')}\r\n`, 'latin1');
  return {
    bytes,
    marks: [
      { kind: 'status_line', index: 1, start: 0, end: statusLine.length },
      { kind: 'headers', index: 1, start: statusLine.length, end: bytes.length },
    ],
  };
}

function chunk(part: Marked): Marked {
  const size = Buffer.from(`${part.bytes.length.toString(16)}\r\n`, 'latin1');
  const dataEnd = size.length + part.bytes.length;
  const marks: Mark[] = [
    { kind: 'chunk', index: 1, start: 0, end: dataEnd + 2 },
    { kind: 'chunk_size', index: 1, start: 0, end: size.length },
    { kind: 'chunk_data', index: 1, start: size.length, end: dataEnd },
    ...part.marks.map((mark) => ({ ...mark, start: mark.start + size.length, end: mark.end + size.length })),
  ];
  return { bytes: Buffer.concat([size, part.bytes, Buffer.from('\r\n', 'latin1')]), marks };
}

const LAST_CHUNK: Marked = {
  bytes: Buffer.from('0\r\n\r\n', 'latin1'),
  marks: [{ kind: 'last_chunk', index: 1, start: 0, end: 5 }],
};

/** The whole answer: head, then `parts` in the head's framing. Empty parts make no chunk, which would end the body. */
export function frame(head: Head, parts: readonly Marked[]): Marked {
  const filled = parts.filter((part) => part.bytes.length > 0);
  const bodyBytes = filled.reduce((sum, part) => sum + part.bytes.length, 0);
  const body = head.framing === 'chunked' ? [...filled.map(chunk), LAST_CHUNK] : filled;
  return joinMarked([encodeHead(head, bodyBytes), ...body]);
}
