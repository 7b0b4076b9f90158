import { appendFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { OUTCOMES } from '../outcomes-connection.js';
import { type Client, STREAMING } from './clients-connection.js';
import { NOT_MEASURED } from './fetches.js';
import type { Play } from './plays-connection.js';

/** Variants of a case that are played in one way. */
export interface Runs {
  readonly id: string;
  readonly variants: readonly string[];
  readonly play: Play;
  /** Default: all that stream. */
  readonly clients?: Readonly<Record<string, Client>>;
  /** Why some of them can't be played here. */
  readonly impossible?: Readonly<Record<string, string | undefined>>;
}

/** MEASURE=FILE adds what was measured to a file, for a new table. */
const { MEASURE } = process.env;

/** Seconds by itself, of which most are pauses of clients between two tries; more on a busy machine. */
const LONGEST_MS = 60_000;

/** All clients at once: each has a server of its own. */
async function measured({ id, play, clients = STREAMING }: Runs, variant: string): Promise<Record<string, string>> {
  const did = await Promise.all(
    Object.entries(clients).map(async ([name, client]) => [name, await play(id, variant, client)] as const),
  );
  if (MEASURE) appendFileSync(MEASURE, `${JSON.stringify([id, variant, did])}\n`);
  return Object.fromEntries(did);
}

function told(id: string, variant: string): Record<string, string> {
  const outcomes = OUTCOMES[id] ?? [];
  return Object.fromEntries(
    outcomes.filter((outcome) => outcome.variant === variant).map(({ client, does }) => [client, does]),
  );
}

/** Holds each run against the table. */
export function checkRuns(all: readonly Runs[]): void {
  describe.each(all)('$id', (runs) => {
    for (const variant of runs.variants) {
      it(
        variant,
        async (ctx) => {
          const why = NOT_MEASURED ?? runs.impossible?.[variant];
          if (why !== undefined) ctx.skip(why);
          expect(await measured(runs, variant)).toEqual(told(runs.id, variant));
        },
        LONGEST_MS,
      );
    }
  });

  it('the table has these variants and no others of these cases', () => {
    const played = all.flatMap(({ id, variants }) => variants.map((variant) => `${id} ${variant}`));
    const ids = new Set(all.map(({ id }) => id));
    const known = [...ids].flatMap((id) => (OUTCOMES[id] ?? []).map(({ variant }) => `${id} ${variant}`));
    expect([...new Set(known)].toSorted()).toEqual(played.toSorted());
  });
}
