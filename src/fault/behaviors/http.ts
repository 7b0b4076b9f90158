import { type Rows, SUCCESS, turn } from './row.js';

const PAGE = 'text/event-stream; charset=utf-8';

/** HTTP heads, framings and encodings that lie or break off. */
export const HTTP = {
  empty_body: {
    layer: 'http',
    meaning: 'a correct HTTP end without any event',
    fault: { answer: turn(SUCCESS), cut: { at: 'headers', teardown: 'eof' } },
  },
  wrong_content_type: {
    layer: 'http',
    meaning: 'the valid event stream under application/json (and a JSON body under text/event-stream)',
    fault: { answer: turn(SUCCESS), head: { contentType: 'swapped' } },
  },
  mime_lie: {
    layer: 'http',
    meaning: 'a web page under text/event-stream',
    fault: { answer: { kind: 'html' }, head: { set: [['Content-Type', PAGE]] } },
  },
  garbage_status: {
    layer: 'http',
    meaning: "a first line that isn't HTTP",
    fault: { head: { statusLine: 'SSH-2.0-wirefault' } },
  },
  status_line_cut: {
    layer: 'http',
    meaning: 'FIN in the status line',
    fault: { cut: { at: 'status_line:9', teardown: 'fin' } },
  },
  headers_cut: { layer: 'http', meaning: 'FIN in the headers', fault: { cut: { at: 'headers:40', teardown: 'fin' } } },
  header_oversize: {
    layer: 'http',
    meaning: 'a head of 128 kB, more than any client takes by itself',
    fault: { head: { padToBytes: 131_072 } },
  },
  header_nul: { layer: 'http', meaning: 'a NUL in a header', fault: { head: { add: [['x-fault', 'a\0b']] } } },
  bare_lf: { layer: 'http', meaning: 'lines of the head end in LF', fault: { head: { eol: 'lf' } } },
  lone_cr: { layer: 'http', meaning: 'a CR without LF in a header', fault: { head: { add: [['x-fault', 'a\rb']] } } },
  informational_storm: {
    layer: 'http',
    meaning: 'a hundred 103 before the answer',
    fault: { head: { informational: { status: 103, times: 100 } } },
  },
  length_over: {
    layer: 'http',
    meaning: 'Content-Length 100 above what comes, then FIN',
    fault: {
      framing: { kind: 'content_length', contentLength: { add: 100 } },
      cut: { at: 'end', teardown: 'fin' },
    },
  },
  length_under: {
    layer: 'http',
    meaning: 'Content-Length 10 below what comes',
    fault: { framing: { kind: 'content_length', contentLength: { add: -10 } } },
  },
  length_duplicate: {
    layer: 'http',
    meaning: 'two Content-Lengths that disagree',
    fault: { framing: { kind: 'content_length', contentLength: ['{length}', '7'] } },
  },
  length_negative: {
    layer: 'http',
    meaning: 'a Content-Length of -1',
    fault: { framing: { kind: 'content_length', contentLength: ['-1'] } },
  },
  length_and_chunked: {
    layer: 'http',
    meaning: 'Content-Length and chunks',
    fault: { framing: { kind: 'chunked', contentLength: ['{length}'] } },
  },
  chunk_bad_size: {
    layer: 'http',
    meaning: "a chunk size that isn't hexadecimal",
    fault: { framing: { kind: 'chunked', sizes: [{ chunk: 1, size: 'xyz' }] } },
  },
  chunk_size_overflow: {
    layer: 'http',
    meaning: 'a chunk size of 72 bits',
    fault: { framing: { kind: 'chunked', sizes: [{ chunk: 1, size: 'ffffffffffffffffff' }] } },
  },
  chunk_cut_data: {
    layer: 'http',
    meaning: 'FIN in the data of a chunk',
    fault: { framing: { kind: 'chunked' }, cut: { at: 'chunk:1.data+5', teardown: 'fin' } },
  },
  chunk_cut_size: {
    layer: 'http',
    meaning: 'FIN behind the digits of a chunk size',
    fault: { framing: { kind: 'chunked' }, cut: { at: 'chunk:1.size', teardown: 'fin' } },
  },
  chunk_cut_crlf: {
    layer: 'http',
    meaning: 'FIN before the CRLF behind the data of a chunk',
    fault: { framing: { kind: 'chunked' }, cut: { at: 'chunk:1.end', teardown: 'fin' } },
  },
  chunk_no_last: {
    layer: 'http',
    meaning: 'a whole answer, FIN instead of the last chunk',
    fault: { framing: { kind: 'chunked', last: 'none' }, cut: { at: 'end', teardown: 'fin' } },
  },
  chunk_no_final_crlf: {
    layer: 'http',
    meaning: 'a whole answer, FIN instead of the final CRLF',
    fault: { framing: { kind: 'chunked', last: 'no_final_crlf' }, cut: { at: 'end', teardown: 'fin' } },
  },
  chunk_misaligned: {
    layer: 'http',
    meaning: 'chunks end in the middle of events',
    fault: { framing: { kind: 'chunked', chunks: { at: ['event:*.mid'] } } },
  },
  until_close_cut: {
    layer: 'http',
    meaning: 'no length and no chunks: FIN behind the text looks like a whole body',
    fault: { framing: { kind: 'until_close' }, cut: { at: 'deltas', teardown: 'fin' } },
  },
  encoding_lie: { layer: 'http', meaning: "says gzip, and isn't", fault: { encoding: 'gzip_lie' } },
  encoding_truncated: {
    layer: 'http',
    meaning: 'half of the gzip stream in a correct framing',
    fault: { encoding: 'gzip_half' },
  },
  keep_alive_stale: {
    layer: 'connection',
    meaning: 'a whole answer, FIN at the first byte of the next request on its connection',
    fault: { idle: { teardown: 'fin', onRequest: 1 } },
  },
  keep_alive_stray: {
    layer: 'connection',
    meaning: 'a whole answer, and a 408 behind it that nobody asked for',
    fault: {
      idle: {
        stray: 'HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
        teardown: 'fin',
      },
    },
  },
  close_said_kept_open: {
    layer: 'http',
    meaning: 'a whole answer that says close, and the connection stays open',
    fault: { head: { connection: 'close' }, cut: { at: 'end', teardown: 'stall' } },
  },
  early_response: {
    layer: 'http',
    meaning: 'a 413 as soon as the head is read, then close with the body unread',
    fault: {
      request: { read: 'head' },
      answer: {
        kind: 'http',
        status: 413,
        contentType: 'application/json',
        body: '{"error":{"message":"mock request too large","type":"invalid_request_error","param":null,"code":null}}',
      },
      head: { connection: 'close' },
      cut: { at: 'end', teardown: 'fin', delayMs: 'disconnectDelayMs' },
    },
  },
  expectation_failed: {
    layer: 'http',
    meaning: 'a 417 to a client that waits for a 100; others get a whole answer',
    fault: { request: { continue: 'refuse' } },
  },
} satisfies Rows;
