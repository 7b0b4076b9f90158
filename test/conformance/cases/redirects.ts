import type { FaultSpec } from '../../../src/fault/spec.js';
import { PATH } from '../support/wire.js';

/** Redirects of both suites of event streams, and what undici, which follows them, gets in the end. */
export interface RedirectCase {
  readonly id: string;
  readonly suite: 'launchdarkly' | 'eventsource';
  readonly source: string;
  readonly status: number;
  /** A URL of another origin, a path, nothing, or no such header. */
  readonly location: 'url' | 'path' | 'empty' | 'none';
  readonly expectation: string;
  readonly undici: string;
  readonly asExpected: boolean;
  readonly note?: string;
}

const HTTP = 'ssetests/tests_http_behavior.go';
const STREAM = '200 "OK", body "data: hello\\n\\n"';
const REFUSED = '405 "Method Not Allowed"';
const BY_GET = 'undici follows it with GET, as the Fetch standard says for a POST, and only POST gets a fault here';

/** A POST stays one behind a 307 only. */
const followed = (status: number): Pick<RedirectCase, 'undici' | 'asExpected' | 'note'> =>
  status === 307 ? { undici: STREAM, asExpected: true } : { undici: REFUSED, asExpected: false, note: BY_GET };

export const REDIRECTS: readonly RedirectCase[] = [
  ...[301, 307].flatMap((status): RedirectCase[] => [
    {
      id: `redirect_${status}_followed`,
      suite: 'launchdarkly',
      source: HTTP,
      status,
      location: 'url',
      expectation: 'followed: "hello"',
      ...followed(status),
    },
    {
      id: `redirect_${status}_empty_location`,
      suite: 'launchdarkly',
      source: HTTP,
      status,
      location: 'empty',
      expectation: 'an error, and no endless loop',
      ...(status === 307
        ? { undici: 'network error', asExpected: true, note: 'after 20 more requests to the URL itself' }
        : { undici: REFUSED, asExpected: false, note: BY_GET }),
    },
    {
      id: `redirect_${status}_no_location`,
      suite: 'launchdarkly',
      source: HTTP,
      status,
      location: 'none',
      expectation: 'an error',
      undici: status === 301 ? '301 "Moved Permanently"' : '307 "Temporary Redirect"',
      asExpected: false,
      note: 'given to the caller as it is',
    },
  ]),
  ...[301, 302, 303, 307].map(
    (status): RedirectCase => ({
      id: `redirect_${status}_opens`,
      suite: 'eventsource',
      source: 'eventsource/request-redirect.any.window.js',
      status,
      location: 'path',
      expectation: 'followed, and no error',
      ...followed(status),
    }),
  ),
  {
    id: 'cross_origin_redirect_origin',
    suite: 'eventsource',
    source: 'eventsource/eventsource-cross-origin-redirect-origin.any.js',
    status: 307,
    location: 'url',
    expectation: 'followed; the event has the origin of the second URL',
    undici: STREAM,
    asExpected: true,
  },
];

/** The stream at the end of a redirect. */
export const REDIRECTED: FaultSpec = {
  answer: { kind: 'http', status: 200, contentType: 'text/event-stream', body: 'data: hello\n\n' },
};

/** What the header says. `other`: the origin of another server. */
export function locationOf({ location }: RedirectCase, other: string): string | undefined {
  return { url: `${other}${PATH}`, path: PATH, empty: '', none: undefined }[location];
}

/** What is answered, request by request. */
export function faultsOf(one: RedirectCase, other: string): FaultSpec[] {
  const to = locationOf(one, other);
  const headers = [
    ...(to === undefined ? [] : [['Location', to] as const]),
    ...(one.location === 'url' ? [['Access-Control-Allow-Origin', '*'] as const] : []),
  ];
  const redirect: FaultSpec = { answer: { kind: 'http', status: one.status, headers, body: '' } };
  return one.location === 'empty' ? [redirect] : [redirect, REDIRECTED];
}
