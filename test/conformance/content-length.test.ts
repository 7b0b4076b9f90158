import { describe, expect, it } from 'vitest';
import { serve } from '../support/server.js';
import { CONTENT_LENGTH_OTHERS, CONTENT_LENGTHS } from './cases/content-length.js';
import { messageLanes, messageProblems, notedOf, undiciOutcomes } from './support/message-case.js';
import { LANES } from './support/stream-run.js';

const GROUPS = {
  'what it says': CONTENT_LENGTHS,
  'bodies and headers': CONTENT_LENGTH_OTHERS,
};

describe.each(Object.entries(GROUPS))('%s', (_, cases) => {
  it('are on the wire byte for byte, and undici makes of them what is noted', async () => {
    const server = await serve({ ...LANES, lanes: messageLanes(cases) });
    expect(await messageProblems(server.port, cases)).toEqual({});
    const noted = Object.fromEntries(cases.map((one) => [one.id, notedOf(one)]));
    expect(await undiciOutcomes(server.baseURL, cases)).toEqual(noted);
  });
});
