import type { Connection, StreamCase } from '../support/stream-case.js';
import { LAUNCHDARKLY } from './launchdarkly-parsing.js';

/** LaunchDarkly's SSE contract tests: what a client sends, and when it connects again. Redirects are in `redirects`. */

const HTTP = 'ssetests/tests_http_behavior.go';
const RECONNECTION = 'ssetests/tests_reconnection.go';

const REQUESTS: readonly StreamCase[] = (
  [
    ['default_request', 'asks with GET, `Accept: text/event-stream`, `Cache-Control: no-cache`, no `Last-Event-ID`'],
    ['custom_request_headers', 'sends the two headers that it was told'],
    ['post_with_body', 'sends POST with the content type and the JSON body that it was told'],
    ['report_with_body', 'the same with REPORT'],
    ['initial_last_event_id', 'sends the `Last-Event-ID` that it was told'],
  ] as const
).map(([id, expectation]) => ({
  id,
  source: HTTP,
  connections: [],
  expectation,
  aboutClient: 'the request',
}));

const NO_MORE: StreamCase = {
  id: 'status_204_stops_reconnecting',
  source: HTTP,
  connections: [{ segments: [], status: 204, contentType: '', framing: 'content_length', end: 'whole' }],
  expectation: 'no second request within 1 s',
  aboutClient: 'reconnecting',
};

const open = (...segments: readonly string[]): Connection => ({ ...LAUNCHDARKLY, segments });

/** The suite's server breaks a connection in one of two ways: the body ends as it should, or with the connection. */
const BREAKS = [
  ['', 'whole'],
  ['_unfinished_body', 'broken'],
] as const;

interface Reconnection {
  readonly id: string;
  readonly first: Connection;
  readonly second: Connection;
  readonly expectation: string;
}

function broken({ id, first, second, expectation }: Reconnection): StreamCase[] {
  return BREAKS.map(([suffix, end]) => ({
    id: `${id}${suffix}`,
    family: id,
    source: RECONNECTION,
    connections: [{ ...first, end }, second],
    expectation,
    aboutClient: 'reconnecting',
  }));
}

const HELLO = 'id: abc\ndata: Hello\n\n';
const SILENT: Connection = { ...open(), expected: [] };

export const LAUNCHDARKLY_REQUESTS: readonly StreamCase[] = [...REQUESTS, NO_MORE];

export const LAUNCHDARKLY_RECONNECTION: readonly StreamCase[] = [
  {
    id: 'caller_restart',
    source: RECONNECTION,
    connections: [
      { ...open('data: Hello\n\n'), expected: [{ data: 'Hello' }] },
      { ...open('data: Thanks\n\n'), expected: [{ data: 'Thanks' }] },
    ],
    expectation: 'a second request when the caller asks for it',
    aboutClient: 'reconnecting',
  },
  ...broken({
    id: 'last_id_sent_on_reconnect',
    first: { ...open(HELLO), expected: [{ data: 'Hello', id: 'abc' }] },
    second: SILENT,
    expectation: '`Last-Event-ID: abc` in the second request only',
  }),
  ...broken({
    id: 'last_id_survives_events_without_id',
    first: {
      ...open(HELLO, 'data: World\n\n'),
      expected: [
        { data: 'Hello', id: 'abc' },
        { data: 'World', id: 'abc' },
      ],
    },
    second: SILENT,
    expectation: '`Last-Event-ID: abc` in the second request',
  }),
  ...broken({
    id: 'last_id_cleared_by_empty_id',
    first: {
      ...open(HELLO, 'id: \ndata: World\n\n'),
      expected: [{ data: 'Hello', id: 'abc' }, { data: 'World' }],
    },
    second: SILENT,
    expectation: 'no `Last-Event-ID` in the second request',
  }),
  ...broken({
    id: 'body_resent_on_reconnect',
    first: SILENT,
    second: SILENT,
    expectation: 'the second request has the body of the first',
  }),
  {
    id: 'read_timeout_reconnects',
    source: RECONNECTION,
    connections: [{ ...open('data: Hello\n\n'), expected: [{ data: 'Hello' }] }],
    expectation: 'an error after 500 ms of silence, then a second request',
    aboutClient: 'reconnecting',
  },
  ...broken({
    id: 'partial_event_dropped_on_break',
    first: { ...open(`${HELLO}id: def\ndata: Goodbye`), expected: [{ data: 'Hello', id: 'abc' }] },
    second: { ...open('data: We meet again\n\n'), expected: [{ data: 'We meet again', id: 'abc' }] },
    expectation: 'nothing of the unfinished event',
  }),
  ...broken({
    id: 'second_connection_works',
    first: { ...open(HELLO), expected: [{ data: 'Hello', id: 'abc' }] },
    second: { ...open('id: def\ndata: World\n\n'), expected: [{ data: 'World', id: 'def' }] },
    expectation: 'events of both',
  }),
];
