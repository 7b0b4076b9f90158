import type { Connection, SseEvent, StreamCase, Told } from '../support/stream-case.js';

/** web-platform-tests, eventsource/: the proposal `EventSource.fromReadableStream`, for its bytes. */

type Row = readonly [id: string, segments: readonly string[], expected: readonly Told[]];

const FRAME: Omit<Connection, 'segments'> = { end: 'whole', contentType: 'text/event-stream' };
const SOURCE = 'eventsource/eventsource-from-readable-stream.any.js';

const messages = (...data: readonly string[]): SseEvent[] => data.map((one) => ({ data: one }));

const ROWS: readonly Row[] = [
  ['one_event', ['data: hello\n\n'], messages('hello')],
  ['two_data_lines', ['data: hello\ndata: world\n\n'], messages('hello\nworld')],
  ['two_events', ['data: first\n\ndata: second\n\n'], messages('first', 'second')],
  ['custom_type', ['event: custom\ndata: hello\n\n'], [{ data: 'hello', type: 'custom' }]],
  ['comment_line', [': this is a comment\ndata: hello\n\n'], messages('hello')],
  ['cut_in_field_name_and_value', ['da', 'ta: hel', 'lo\n\n'], messages('hello')],
  ['id_42', ['id: 42\ndata: hello\n\n'], [{ data: 'hello', id: '42' }]],
  ['retry_5000', ['retry: 5000\ndata: hello\n\n'], [{ retry: 5000 }, { data: 'hello' }]],
  ['retry_bogus', ['retry: bogus\ndata: hello\n\n'], messages('hello')],
  ['empty_stream', [], []],
  ['cr_lf_crlf', ['data: cr\r\rdata: lf\n\ndata: crlf\r\n\r\n'], messages('cr', 'lf', 'crlf')],
  ['bom', ['\xef\xbb\xbfdata: hello\n\n'], messages('hello')],
];

const JOINED: readonly (readonly [id: string, ...streams: readonly [body: string, expected: readonly Told[]][]])[] = [
  ['two_streams_joined', ['data: first\n\n', messages('first')], ['data: second\n\n', messages('second')]],
  [
    'id_kept_over_joined_streams',
    ['id: 42\ndata: first\n\n', [{ data: 'first', id: '42' }]],
    ['data: after-reconnect\n\n', [{ data: 'after-reconnect', id: '42' }]],
  ],
  [
    'retry_kept_over_joined_streams',
    ['retry: 3000\ndata: first\n\n', [{ retry: 3000 }, { data: 'first' }]],
    ['data: after-reconnect\n\n', messages('after-reconnect')],
  ],
];

export const EVENTSOURCE_READABLE: readonly StreamCase[] = [
  ...ROWS.map(([id, segments, expected]) => ({ id, source: SOURCE, connections: [{ ...FRAME, segments, expected }] })),
  ...JOINED.map(([id, ...streams]) => ({
    id,
    source: SOURCE,
    connections: streams.map(([body, expected]) => ({ ...FRAME, segments: [body], expected })),
  })),
  {
    id: 'http_body_id_and_retry',
    source: 'eventsource/eventsource-from-readable-stream-fetch.window.js',
    connections: [
      {
        ...FRAME,
        framing: 'content_length',
        segments: ['id: 42\nretry: 5000\ndata: hello\n\n\n'],
        expected: [{ retry: 5000 }, { data: 'hello', id: '42' }],
      },
    ],
  },
];
