import type { Connection, StreamCase } from '../support/stream-case.js';
import { whole } from './eventsource-bytes.js';

/** web-platform-tests, eventsource/: statuses, requests, reconnecting. Redirects are in `redirects`. */

const DATA = 'data: data\n\n';
const data = (body = DATA): Connection => whole(body, [{ data: 'data' }]);

const FAILING = [204, 205, 210, 299, 404, 410, 503] as const;
const EMPTY: readonly number[] = [204, 205];

const STATUSES: readonly StreamCase[] = FAILING.map((status) => ({
  id: `status_${status}_fails`,
  family: 'status_fails',
  source: 'eventsource/request-status-error.window.js',
  connections: [
    {
      ...whole(EMPTY.includes(status) ? '' : DATA),
      status,
      reason: 'HAHAHAHA',
    },
  ],
  expectation: 'no event, an error, and no second request',
  aboutClient: 'what a client makes of a status',
}));

/** The suite's server sends back what it was asked with. */
const ECHOES: readonly StreamCase[] = (
  [
    ['accept_header_sent', 'request-accept.any.js', 'text/event-stream'],
    ['cache_control_same_origin_1', 'request-cache-control.any.js', 'no-cache'],
    ['cache_control_same_origin_2', 'request-cache-control.any.js', 'no-cache'],
    ['cache_control_cross_origin_1', 'request-cache-control.any.js', 'no-cache'],
    ['cache_control_cross_origin_2', 'request-cache-control.any.js', 'no-cache'],
  ] as const
).map(([id, file, value]) => ({
  id,
  source: `eventsource/${file}`,
  connections: [whole(`data: ${value}\n\n`, [{ data: value }])],
  aboutClient: 'a header of the request, which comes back as data',
}));

const CLOSED: Connection = { ...whole('', []), status: 204 };

const LIFE: readonly StreamCase[] = [
  {
    id: 'reconnect_after_body_without_event',
    source: 'eventsource/eventsource-reconnect.window.js',
    connections: [whole('retry: 2\n', [{ retry: 2 }], { reason: 'TEST' }), data()],
    aboutClient: 'reconnecting after 2 ms',
  },
  {
    id: 'reconnect_reports_error_then_event',
    source: 'eventsource/eventsource-reconnect.window.js',
    connections: [whole('retry: 2\ndata: ok\n\n', [{ retry: 2 }, { data: 'ok' }], { reason: 'TEST' }), data()],
    aboutClient: 'an error between the two, while it connects again',
  },
  {
    id: 'close_goes_through_states',
    source: 'eventsource/eventsource-close.window.js',
    connections: [data(`${DATA}\n`)],
    aboutClient: "the client's states",
  },
  {
    id: 'reconnect_ends_at_204',
    source: 'eventsource/eventsource-close.window.js',
    connections: [
      whole('retry: 2\ndata: opened\n\n', [{ retry: 2 }, { data: 'opened' }], { reason: 'OPEN' }),
      whole('retry: 2\ndata: reconnected\n\n', [{ retry: 2 }, { data: 'reconnected' }], { reason: 'RECONNECT' }),
      CLOSED,
    ],
    aboutClient: 'errors in between, and no fourth request',
  },
  {
    id: 'page_stop_cancels',
    source: 'eventsource/eventsource-request-cancellation.window.js',
    connections: [
      {
        ...whole('retry:1000\ndata:abc\n\n\n\n\n', [{ retry: 1000 }, { data: 'abc' }]),
        also: { pace: { firstByteMs: 1000 } },
      },
    ],
    expectation: 'a page that is stopped within the first second gets no event, but an error',
    aboutClient: 'a page that is stopped while its client waits',
  },
];

const OTHER_ORIGINS: readonly StreamCase[] = [
  ...(
    [
      ['safe', 'abc'],
      ['long', 'a'.repeat(255)],
      ['unsafe', 'e5p3n<3k0k0s'],
    ] as const
  ).map(([name, id]) => ({
    id: `last_event_id_cross_origin_${name}`,
    source: 'eventsource/eventsource-cross-origin-preflight.window.js',
    connections: [
      whole(`id: ${id}\nretry: 200\ndata: ${name}\n\n`, [{ retry: 200 }, { data: name, id }]),
      whole('event: success\ndata: success\n\n', [{ type: 'success', data: 'success', id }]),
    ],
    aboutClient: 'the Last-Event-ID that is sent, and the preflight of a browser',
  })),
];

export const EVENTSOURCE_HTTP: readonly StreamCase[] = [...STATUSES, ...ECHOES, ...LIFE, ...OTHER_ORIGINS];
