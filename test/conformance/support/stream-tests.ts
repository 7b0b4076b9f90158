import { describe, expect, it } from 'vitest';
import { serve } from '../../support/server.js';
import type { StreamCase } from './stream-case.js';
import { expectedOf, LANES, lanesOf, notedOf, parserOutcomes, wireProblems } from './stream-run.js';

/** A busy machine reads what came in 10 ms as one: pauses that are so many times longer tell what was sent as one. */
const SLOW = 0.1;

/** The tests of groups of stream cases, by their names. */
export function testStreams(groups: Readonly<Record<string, readonly StreamCase[]>>): void {
  describe.each(Object.entries(groups))('%s', (_, all) => {
    const cases = all.filter(({ connections }) => connections.length > 0);
    const parsed = cases.filter((one) => expectedOf(one) !== undefined);

    it('have their bytes on the wire, send by send', async () => {
      const server = await serve({ ...LANES, lanes: lanesOf(cases) });
      const problems = Object.keys(await wireProblems(server.port, cases));
      const again = cases.filter(({ id }) => problems.some((lane) => lane.startsWith(`${id}/`)));
      const slow = await serve({ ...LANES, lanes: lanesOf(again), timeScale: SLOW });
      expect(await wireProblems(slow.port, again)).toEqual({});
    });

    if (parsed.length === 0) return; // the documentation lists them: docs.test.ts
    it('come out of eventsource-parser as noted', async () => {
      const server = await serve({ ...LANES, lanes: lanesOf(parsed) });
      const noted = Object.fromEntries(parsed.map((one) => [one.id, notedOf(one)]));
      expect(await parserOutcomes(server.baseURL, parsed)).toEqual(noted);
    });
  });
}
