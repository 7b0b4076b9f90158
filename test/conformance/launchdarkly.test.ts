import { it } from 'vitest';
import { LAUNCHDARKLY_RECONNECTION, LAUNCHDARKLY_REQUESTS } from './cases/launchdarkly-http.js';
import { LAUNCHDARKLY_LINE_ENDS } from './cases/launchdarkly-line-ends.js';
import { LAUNCHDARKLY_COMMENTS, LAUNCHDARKLY_MARKS, LAUNCHDARKLY_PARSING } from './cases/launchdarkly-parsing.js';
import { QUICK_SIZES, sizeCase } from './cases/launchdarkly-sizes.js';
import { REDIRECTS } from './cases/redirects.js';
import { expectRedirects } from './support/redirect-run.js';
import { testStreams } from './support/stream-tests.js';

testStreams({
  fields: LAUNCHDARKLY_PARSING,
  'byte order marks': LAUNCHDARKLY_MARKS,
  comments: LAUNCHDARKLY_COMMENTS,
  'line ends': LAUNCHDARKLY_LINE_ENDS,
  sizes: QUICK_SIZES.map(sizeCase),
  requests: LAUNCHDARKLY_REQUESTS,
  reconnection: LAUNCHDARKLY_RECONNECTION,
});

it('redirects are on the wire, and undici follows them as noted', () =>
  expectRedirects(REDIRECTS.filter(({ suite }) => suite === 'launchdarkly')));
