import { expect, it } from 'vitest';
import { serve } from '../support/server.js';
import { EVENTSOURCE_BYTES, REPEATED } from './cases/eventsource-bytes.js';
import { EVENTSOURCE_HTTP } from './cases/eventsource-http.js';
import { EVENTSOURCE_READABLE } from './cases/eventsource-readable.js';
import { REDIRECTS } from './cases/redirects.js';
import { expectRedirects } from './support/redirect-run.js';
import { bodyOf } from './support/stream-case.js';
import { LANES, lanesOf } from './support/stream-run.js';
import { testStreams } from './support/stream-tests.js';
import { see } from './support/wire.js';

testStreams({
  bytes: EVENTSOURCE_BYTES,
  'statuses, requests, reconnecting': EVENTSOURCE_HTTP,
  'from a readable stream': EVENTSOURCE_READABLE,
});

it('redirects are on the wire, and undici follows them as noted', () =>
  expectRedirects(REDIRECTS.filter(({ suite }) => suite === 'eventsource')));

it('a block comes again every two seconds', async () => {
  const timeScale = 20;
  const server = await serve({ ...LANES, lanes: lanesOf([REPEATED]), timeScale });
  const [connection] = REPEATED.connections;
  const block = connection ? bodyOf(connection) : Buffer.alloc(0);
  const wanted = Buffer.concat([block, block, block]);
  const started = performance.now();
  const { bytes } = await see(server.port, REPEATED.id, (received) => received.includes(wanted));
  expect(performance.now() - started).toBeGreaterThan((2 * 2000) / timeScale - 1);
  expect(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4)).toEqual(wanted);
});
