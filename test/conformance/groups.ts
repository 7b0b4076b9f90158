import { CONTENT_LENGTH_OTHERS, CONTENT_LENGTHS } from './cases/content-length.js';
import { EVENTSOURCE_BYTES } from './cases/eventsource-bytes.js';
import { EVENTSOURCE_HTTP } from './cases/eventsource-http.js';
import { EVENTSOURCE_READABLE } from './cases/eventsource-readable.js';
import { H1_INSERTED } from './cases/h1-inserted.js';
import { H1_CUT_OFF, H1_LONE_CRS, H1_NULS, H1_STATUSES } from './cases/h1-parsing.js';
import { LAUNCHDARKLY_RECONNECTION, LAUNCHDARKLY_REQUESTS } from './cases/launchdarkly-http.js';
import { LAUNCHDARKLY_LINE_ENDS } from './cases/launchdarkly-line-ends.js';
import { LAUNCHDARKLY_COMMENTS, LAUNCHDARKLY_MARKS, LAUNCHDARKLY_PARSING } from './cases/launchdarkly-parsing.js';
import { QUICK_SIZES, SLOW_SIZES, sizeRow } from './cases/launchdarkly-sizes.js';
import { REDIRECTS, type RedirectCase } from './cases/redirects.js';
import type { MessageCase } from './support/message-case.js';
import type { StreamCase } from './support/stream-case.js';

/** All cases, as the documentation has them. */
export interface Group {
  readonly title: string;
  /** Repository, and the folder in it. */
  readonly source: string;
  readonly about: string;
  readonly streams?: readonly StreamCase[];
  readonly redirects?: readonly RedirectCase[];
  readonly messages?: readonly MessageCase[];
}

const LAUNCHDARKLY = 'launchdarkly/sse-contract-tests, ssetests/';
const EVENTSOURCE = 'web-platform-tests/wpt, eventsource/';
const H1 = 'web-platform-tests/wpt, fetch/h1-parsing/';
const LENGTHS = 'web-platform-tests/wpt, fetch/content-length/';

/** Tested in h1-parsing.test.ts. */
const NO_BARE_LF = 'undici refuses each head with bare LFs, whatever else is in it.';

const redirectsOf = (name: RedirectCase['suite']): RedirectCase[] => REDIRECTS.filter(({ suite }) => suite === name);

export const GROUPS: readonly Group[] = [
  {
    title: 'LaunchDarkly: fields',
    source: LAUNCHDARKLY,
    about: 'Each send is a chunk and a segment of its own, and the stream stays open.',
    streams: LAUNCHDARKLY_PARSING,
  },
  {
    title: 'LaunchDarkly: byte order marks',
    source: LAUNCHDARKLY,
    about: 'The mark at the start is taken away by the `TextDecoder` before the parser sees it.',
    streams: LAUNCHDARKLY_MARKS,
  },
  {
    title: 'LaunchDarkly: comments',
    source: LAUNCHDARKLY,
    about: 'For clients that report comments.',
    streams: LAUNCHDARKLY_COMMENTS,
  },
  {
    title: 'LaunchDarkly: line ends',
    source: LAUNCHDARKLY,
    about:
      'Each body with LF, CRLF and CR, sent whole, byte by byte and by two bytes. The stream stays open behind it.',
    streams: LAUNCHDARKLY_LINE_ENDS,
  },
  {
    title: 'LaunchDarkly: sizes',
    source: LAUNCHDARKLY,
    about: 'One event of 2^k - 1, 2^k and 2^k + 1 bytes, up to 128 MiB; from 2 MiB on only in `npm run test:slow`.',
    streams: [...QUICK_SIZES, ...SLOW_SIZES].map(sizeRow),
  },
  {
    title: 'LaunchDarkly: requests and redirects',
    source: LAUNCHDARKLY,
    about: 'undici asks with POST, and follows redirects by itself.',
    streams: LAUNCHDARKLY_REQUESTS,
    redirects: redirectsOf('launchdarkly'),
  },
  {
    title: 'LaunchDarkly: reconnection',
    source: LAUNCHDARKLY,
    about:
      "The suite's server breaks a connection in one of two ways, behind the last chunk or without one; both are made. " +
      'Events are those of one connection after the other.',
    streams: LAUNCHDARKLY_RECONNECTION,
  },
  {
    title: 'EventSource: bytes',
    source: EVENTSOURCE,
    about: 'Mostly whole bodies of known length, behind which a client connects again.',
    streams: EVENTSOURCE_BYTES,
  },
  {
    title: 'EventSource: statuses, requests, redirects, reconnecting',
    source: EVENTSOURCE,
    about: 'What of it is bytes.',
    streams: EVENTSOURCE_HTTP,
    redirects: redirectsOf('eventsource'),
  },
  {
    title: 'EventSource: from a readable stream',
    source: EVENTSOURCE,
    about: 'A proposal that is in no copy of the suite; its streams end.',
    streams: EVENTSOURCE_READABLE,
  },
  {
    title: 'HTTP/1.1: status codes',
    source: H1,
    about:
      'The end of the connection ends these heads, not an empty line: undici takes that for an error in all of them.',
    messages: H1_STATUSES,
  },
  {
    title: 'HTTP/1.1: CRs that stand alone',
    source: H1,
    about: `Heads with bare LFs. ${NO_BARE_LF}`,
    messages: H1_LONE_CRS,
  },
  { title: 'HTTP/1.1: a NUL in a header', source: H1, about: 'The bodies are our own.', messages: H1_NULS },
  {
    title: 'HTTP/1.1: heads that are cut off',
    source: H1,
    about: `A proposal that is in no copy of the suite but its own. ${NO_BARE_LF}`,
    messages: H1_CUT_OFF,
  },
  {
    title: 'HTTP/1.1: one byte put in',
    source: H1,
    about:
      'One of six bytes at one of 17 places of a good message, by a splice. The suite calls these tentative, and ' +
      'browsers fail many. Only what `fetch` makes of them is looked at, not what a frame does.',
    messages: H1_INSERTED,
  },
  {
    title: 'Content-Length: what it says',
    source: LENGTHS,
    about:
      'Lines of a head before a body of 42 bytes, then the end of the connection. Fetch has a rule of its own for ' +
      'values that HTTP calls errors.',
    messages: CONTENT_LENGTHS,
  },
  {
    title: 'Content-Length: bodies and headers',
    source: LENGTHS,
    about: `Bodies of another length than is said; headers that come twice, in a head with bare LFs. ${NO_BARE_LF}`,
    messages: CONTENT_LENGTH_OTHERS,
  },
];
