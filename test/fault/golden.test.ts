import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BEHAVIORS, type Behavior } from '../../src/fault/catalogue.js';
import { isPlayed } from '../../src/fault/stage.js';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { planner } from '../support/plans.js';
import { briefOf } from './golden/brief.js';

/**
 * The plans of the whole catalogue in each protocol, held against files that people review (test/golden). They are
 * written anew by `UPDATE_GOLDEN=1 npx vitest run test/fault/golden.test.ts`.
 */
const UPDATE = process.env.UPDATE_GOLDEN !== undefined;
const TIME = new Date('2026-01-01T00:00:00Z');
const MOST_LINES = 1500;

const planOf = planner({ fidelity: 'plain' }, () => TIME);

function made(behavior: Behavior, protocol: Protocol, stream: boolean): string {
  const { fault } = behavior;
  return briefOf(behavior, isPlayed(fault) ? planOf(fault, protocol, { body: { stream } }) : undefined);
}

/** The briefs of a file by the names at their margins. */
function reviewed(file: URL): Map<string, string> {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const briefs = text.split(/\n{2,}/).map((brief) => brief.trimEnd());
  return new Map(briefs.filter(Boolean).map((brief) => [brief.slice(0, brief.indexOf(':')), brief]));
}

describe.each(PROTOCOLS)('%s', (protocol) => {
  for (const stream of [true, false]) {
    describe(stream ? 'as a stream' : 'as a JSON body', () => {
      const file = new URL(`../golden/${protocol}${stream ? '' : '-json'}.txt`, import.meta.url);
      if (UPDATE) {
        writeFileSync(file, `${BEHAVIORS.map((behavior) => made(behavior, protocol, stream)).join('\n\n')}\n`);
      }
      const known = reviewed(file);

      for (const behavior of BEHAVIORS) {
        it(behavior.name, () => {
          expect(made(behavior, protocol, stream)).toBe(known.get(behavior.name));
        });
      }

      it('no other is in the file, and it is no longer than a person reads', () => {
        expect([...known.keys()]).toEqual(BEHAVIORS.map(({ name }) => name));
        expect(readFileSync(file, 'utf8').split('\n').length).toBeLessThan(MOST_LINES);
      });
    });
  }
});
