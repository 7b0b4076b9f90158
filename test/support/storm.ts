import { keeper } from './control.js';
import type { Served } from './server.js';
import { post } from './witness.js';

/** Many requests at the same moment, counted by their clients and by the ledgers. */
const PATH = '/v1/chat/completions';

export type Counts = Readonly<Record<string, number>>;

export function counted(values: readonly (string | number)[]): Counts {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** What the ledgers say: exchanges by who chose the fault, and by rule. */
export async function byRule(server: Served): Promise<Counts> {
  await server.idle();
  return counted(
    server.ledgers.map(({ selection: { source, rule } }) => (rule === null ? source : `${source} ${rule}`)),
  );
}

/** Sends `total` requests over `connections` that are kept alive; the statuses in any order. */
export async function storm(
  port: number,
  { total, connections }: { readonly total: number; readonly connections: number },
): Promise<number[]> {
  const statuses: number[] = [];
  let sent = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const { ask, client } = keeper(port);
      while (sent < total) statuses.push((await ask(post(PATH, { user: `request ${++sent}` }))).status);
      client.close();
    }),
  );
  return statuses;
}
