import { describe, expect, it } from 'vitest';
import { serve } from '../support/server.js';
import { H1_INSERTED } from './cases/h1-inserted.js';
import { H1_CUT_OFF, H1_LONE_CRS, H1_NULS, H1_STATUSES } from './cases/h1-parsing.js';
import { literal, messageLanes, messageProblems, notedOf, resultOf, undiciOutcomes } from './support/message-case.js';
import { LANES } from './support/stream-run.js';
import { PATH } from './support/wire.js';

const GROUPS = {
  'status codes': H1_STATUSES,
  'lone CRs': H1_LONE_CRS,
  NULs: H1_NULS,
  'heads that are cut off': H1_CUT_OFF,
  'one byte put in': H1_INSERTED,
};

describe.each(Object.entries(GROUPS))('%s', (_, cases) => {
  it('are on the wire byte for byte, and undici makes of them what is noted', async () => {
    const server = await serve({ ...LANES, lanes: messageLanes(cases) });
    expect(await messageProblems(server.port, cases)).toEqual({});
    const noted = Object.fromEntries(cases.map((one) => [one.id, notedOf(one)]));
    expect(await undiciOutcomes(server.baseURL, cases)).toEqual(noted);
  });
});

it('a good head is refused by undici for its bare LFs alone', async () => {
  const good = 'HTTP/1.1 200 OK\r\nHeader: value\r\n\r\nbody';
  const server = await serve({ sequence: [literal(good), literal(good.replaceAll('\r', ''))] });
  expect(await resultOf(`${server.baseURL}${PATH}`, 'good')).toMatchObject({ status: 200, body: 'body' });
  expect(await resultOf(`${server.baseURL}${PATH}`, 'bare')).toBe('network error');
});
