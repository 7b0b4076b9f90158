import { NONE, PARTIAL, type Rows, SUCCESS, turn } from './row.js';

/** The port, the connection, and time: what a network or a dying server does. */
export const CONNECTION = {
  connection_refused: {
    layer: 'port',
    meaning: 'the port is closed for listenDelayMs: a true TCP refusal',
    fault: { listen: { refuseMs: 'listenDelayMs' } },
  },
  connection_reset: {
    layer: 'connection',
    meaning: 'the request is read, then RST: no byte of an answer',
    weight: 5,
    fault: { answer: turn(SUCCESS), cut: { at: 'request', teardown: 'rst' } },
  },
  stream_disconnect: {
    layer: 'connection',
    meaning: 'headers, disconnectDelayMs, RST before the first event',
    weight: 5,
    fault: { answer: turn(SUCCESS), cut: { at: 'headers', teardown: 'rst', delayMs: 'disconnectDelayMs' } },
  },
  partial_disconnect: {
    layer: 'connection',
    meaning: 'the deltas of partialText, paced by chunkDelayMs, then disconnectDelayMs, RST',
    weight: 10,
    fault: {
      answer: turn(PARTIAL),
      pace: { after: { role: 'delta', ms: 'chunkDelayMs' } },
      cut: { at: 'deltas', teardown: 'rst', delayMs: 'disconnectDelayMs' },
    },
  },
  stall: {
    layer: 'time',
    meaning: 'headers, then silence until the client or the server closes',
    weight: 2,
    fault: { answer: turn(SUCCESS), cut: { at: 'headers', teardown: 'stall' } },
  },
  ping_flood: {
    layer: 'time',
    meaning: 'keep-alives every keepaliveMs for ever, never progress',
    fault: {
      answer: turn(NONE),
      events: [
        { op: 'keep', where: { role: 'open' } },
        { op: 'insert', event: 'keepalive' },
      ],
      pace: { pulse: { everyMs: 'keepaliveMs' } },
      framing: { kind: 'chunked' },
      cut: { at: 'events', teardown: 'stall' },
    },
  },
  terminal_no_close: {
    layer: 'http',
    meaning: 'everything is delivered, but the body is left open',
    fault: { answer: turn(SUCCESS), framing: { kind: 'chunked' }, cut: { at: 'events', teardown: 'stall' } },
  },

  refuse: {
    layer: 'port',
    meaning: 'as connection_refused',
    fault: { listen: { refuseMs: 'listenDelayMs' } },
  },
  refuse_until: {
    layer: 'port',
    meaning: 'the port refuses three connects, then listens (Linux, needs the right to count them)',
    fault: { listen: { refuseAttempts: 3 } },
  },
  backlog_blackhole: {
    layer: 'port',
    meaning: 'the accept queue is full for listenDelayMs: connects get no answer (Linux)',
    fault: { listen: { blackholeMs: 'listenDelayMs' } },
  },
  accept_silent: {
    layer: 'connection',
    meaning: 'accepted and read, and never a byte',
    fault: { cut: { at: 'request', teardown: 'stall' } },
  },
  zero_window: {
    layer: 'connection',
    meaning: 'accepted, and nothing is ever read: a large request fills the window',
    fault: { cut: { at: 'accept', teardown: 'stall' } },
  },
  fin_on_accept: {
    layer: 'connection',
    meaning: 'closed before anything is read',
    fault: { cut: { at: 'accept', teardown: 'fin' } },
  },
  rst_on_accept: {
    layer: 'connection',
    meaning: 'reset before anything is read',
    fault: { cut: { at: 'accept', teardown: 'rst' } },
  },
  rst_unread_request: {
    layer: 'connection',
    meaning: 'closed after disconnectDelayMs with the request unread, which the kernel makes a RST',
    fault: { cut: { at: 'accept', teardown: 'fin', delayMs: 'disconnectDelayMs' } },
  },
  rst_during_upload: {
    layer: 'connection',
    meaning: 'RST after 100 bytes of the request',
    fault: { cut: { at: 'request:100', teardown: 'rst' } },
  },
  rst_before_headers: {
    layer: 'connection',
    meaning: 'as connection_reset',
    fault: { cut: { at: 'request', teardown: 'rst' } },
  },
  fin_before_headers: {
    layer: 'connection',
    meaning: 'the request is read, then FIN: no byte of an answer',
    fault: { cut: { at: 'request', teardown: 'fin' } },
  },
  rst_drained: {
    layer: 'connection',
    meaning: 'the first event, RST once the client has read it',
    fault: { cut: { at: 'event:1', teardown: 'rst' } },
  },
  rst_undrained: {
    layer: 'connection',
    meaning: 'all of the text and a RST at once: what the client loses by it is recorded',
    fault: { cut: { at: 'deltas', teardown: 'rst_now' } },
  },
  fin_at: {
    layer: 'connection',
    meaning: 'all of the text, then FIN without an end of the framing',
    fault: { cut: { at: 'deltas', teardown: 'fin' } },
  },
  half_close: {
    layer: 'connection',
    meaning: 'all of the text, then FIN, and the client is still read until it closes',
    fault: { cut: { at: 'deltas', teardown: 'half_close' } },
  },
  slow_close: {
    layer: 'time',
    meaning: 'a whole answer that says close, FIN after keepaliveMs',
    fault: { head: { connection: 'close' }, cut: { at: 'end', teardown: 'fin', delayMs: 'keepaliveMs' } },
  },
  stall_at: {
    layer: 'time',
    meaning: 'all of the text, then silence',
    fault: { cut: { at: 'deltas', teardown: 'stall' } },
  },
  stall_resume: {
    layer: 'time',
    meaning: 'keepaliveMs of silence behind the first event, then the rest',
    fault: { pace: { pauses: [{ at: 'event:1', ms: 'keepaliveMs' }] } },
  },
  drip: {
    layer: 'time',
    meaning: 'sixteen bytes every two milliseconds',
    fault: { segments: { everyBytes: 16, gapMs: 2 } },
  },
  throttle: { layer: 'time', meaning: '10,000 bytes a second', fault: { pace: { bytesPerSecond: 10_000 } } },
  coalesce: {
    layer: 'connection',
    meaning: 'all events in one chunk and one segment',
    fault: { framing: { chunks: 'whole' } },
  },
} satisfies Rows;
