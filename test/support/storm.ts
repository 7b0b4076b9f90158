import { expect } from 'vitest';
import { keeper } from './control.js';
import { type Served, serve } from './server.js';
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

const ONCE = 'rate_limit'; // 429
const SEVEN = 'auth_error'; // 401

/** Rules among many requests at the same moment are hit as often as they say, by the clients' count and by the ledgers. */
export async function expectExactHits(total: number, connections: number): Promise<void> {
  const server = await serve({ ledgerHistory: total, requestHistory: total });
  server.inject({ fault: SEVEN, times: 7, label: 'seven' });
  server.inject({ fault: ONCE, once: true, label: 'once' });
  const statuses = await storm(server.port, { total, connections });
  expect(counted(statuses)).toEqual({ 200: total - 8, 429: 1, 401: 7 });
  expect(await byRule(server)).toEqual({ script: total - 8, 'rule once': 1, 'rule seven': 7 });
  expect(server.spentRules.map(({ spec, hits, left }) => [spec.label, hits, left])).toEqual([
    ['seven', 7, 0],
    ['once', 1, 0],
  ]);
  // Attempts are counted without a gap, whoever chose.
  const attempts = server.ledgers.map(({ attempt }) => attempt).toSorted((a, b) => a - b);
  expect(attempts).toEqual(Array.from({ length: total }, (_, n) => n + 1));
}
