import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readJournal } from '../../src/proof/journal-read.js';
import type { Ledger } from '../../src/proof/ledger.js';
import { type Serving, serving } from '../support/cli-process.js';
import { controlJson, keeper } from '../support/control.js';
import { NO_REDIS, redisServer } from '../support/redis.js';
import { counted, storm } from '../support/storm.js';
import { post } from '../support/witness.js';

/** 10,000 requests over several processes, which together are one server. */
const TOTAL = 10_000;
const CHAT = '/v1/chat/completions';

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'wirefault-state-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

async function ledgersIn(...paths: readonly string[]): Promise<Ledger[]> {
  const ledgers: Ledger[] = [];
  for (const path of paths) {
    for await (const line of readJournal(path)) {
      if (line.kind === 'bad') throw new Error(`${path}, line ${line.number}: ${line.reason}`);
      ledgers.push(line.ledger);
    }
  }
  return ledgers;
}

async function stop(...servers: readonly Serving[]): Promise<void> {
  for (const { child } of servers) child.kill('SIGTERM');
  for (const { ended } of servers) expect(await ended).toBe(143);
}

const toTotal = Array.from({ length: TOTAL }, (_, n) => n + 1);
const numbers = (of: readonly number[]): number[] => of.toSorted((a, b) => a - b);

const RULES = [
  { fault: 'auth_error', times: 7, label: 'seven' },
  { fault: 'rate_limit', once: true, label: 'once' },
] as const;

/** What the clients got and what the ledgers tell: `once` once, seven times seven, and every number once. */
function expectExact(statuses: readonly number[], ledgers: readonly Ledger[]): void {
  expect(counted(statuses)).toEqual({ 200: TOTAL - 8, 401: 7, 429: 1 });
  expect(counted(ledgers.map(({ selection }) => selection.rule ?? 'script'))).toEqual({
    script: TOTAL - 8,
    seven: 7,
    once: 1,
  });
  expect(numbers(ledgers.map(({ exchange }) => exchange))).toEqual(toTotal);
  expect(numbers(ledgers.map(({ attempt }) => attempt))).toEqual(toTotal);
}

describe('several workers', () => {
  it('10,000 requests over 4 of them: once exactly once, one journal', async () => {
    const journal = join(await folder(), 'journal');
    const server = await serving('--workers', '4', '--journal', journal);
    for (const rule of RULES) await controlJson(server.port, 'POST /__control', { body: rule });
    const statuses = await storm(server.port, { total: TOTAL, connections: 64 });
    await stop(server);
    const ledgers = await ledgersIn(journal);
    expectExact(statuses, ledgers);
    // More than one has worked.
    expect(new Set(ledgers.map(({ connection }) => Math.floor(connection / 1e9))).size).toBeGreaterThan(1);
  });
});

describe.skipIf(NO_REDIS)('three servers at one Redis', () => {
  async function instances(url: string, dir: string, ...more: string[]) {
    const journals = ['a', 'b', 'c'].map((name) => join(dir, name));
    const start = (journal: string): Promise<Serving> =>
      serving('--state', url, '--seed', '7', '--journal', journal, '--json', ...more);
    return { journals, start, servers: await Promise.all(journals.map(start)) };
  }

  it('10,000 requests: once exactly once, and one sequence of attempts', async () => {
    const redis = await redisServer();
    const { journals, servers } = await instances(redis.url, await folder());
    for (const [n, rule] of RULES.entries()) {
      await controlJson(servers[n]?.port ?? 0, 'POST /__control', { body: rule });
    }
    const shares = [3334, 3333, 3333];
    const statuses = await Promise.all(
      servers.map(({ port }, n) => storm(port, { total: shares[n] ?? 0, connections: 20 })),
    );
    await stop(...servers);
    expectExact(statuses.flat(), await ledgersIn(...journals));
  });

  it('Redis and a server are killed and come back: no attempt twice, and each fault that of its attempt', async () => {
    const redis = await redisServer({ durable: true });
    const script = ['--sequence', 'random', '--repeat-last', '--random-weights', 'success=3,auth_error=2,rate_limit=1'];
    const { journals, start, servers } = await instances(redis.url, await folder(), ...script);
    const [first, second, third] = servers;
    const [, , thirdJournal = ''] = journals;
    if (!first || !second || !third) throw new Error('three were started');
    let over = false;
    const statuses: number[] = [];
    const ask = async (port: number): Promise<void> => {
      const { ask: asked, client } = keeper(port);
      while (!over) statuses.push((await asked(post(CHAT, {}))).status);
      client.close();
    };
    const clients = [first, second].flatMap(({ port }) => [ask(port), ask(port)]);
    const until = async (wanted: () => boolean): Promise<void> => {
      while (!wanted()) await new Promise((resolve) => setImmediate(resolve));
    };
    await until(() => statuses.length > 500);
    await redis.kill();
    await first.event('state_lost');
    await until(() => statuses.filter((status) => status === 503).length > 20);
    third.child.kill('SIGKILL');
    await third.ended;
    await redis.start();
    await first.event('state_back');
    await second.event('state_back');
    const again = await start(thirdJournal);
    const before = statuses.length;
    clients.push(ask(again.port));
    await until(() => statuses.length > before + 500);
    over = true;
    await Promise.all(clients);
    await stop(first, second, again);
    const ledgers = await ledgersIn(...journals);
    const attempts = ledgers.map(({ attempt }) => attempt);
    expect(new Set(attempts).size).toBe(attempts.length);
    // What Redis had taken when it was killed, and nobody was told: at most one for each connection.
    expect(Math.max(...attempts) - attempts.length).toBeLessThanOrEqual(4);
    // One process, the same seed: the same fault for each attempt.
    const alone = await serving('--seed', '7', '--journal', join(await folder(), 'alone'), ...script);
    const { ask: asked, client } = keeper(alone.port);
    const expected: number[] = [];
    for (let n = 0; n < Math.max(...attempts); n++) expected.push((await asked(post(CHAT, {}))).status);
    client.close();
    const STATUS: Readonly<Record<string, number>> = { success: 200, auth_error: 401, rate_limit: 429 };
    for (const { attempt, selection } of ledgers)
      expect([attempt, STATUS[selection.behavior]]).toEqual([attempt, expected[attempt - 1]]);
    expect(Object.keys(counted(statuses)).toSorted()).toEqual(['200', '401', '429', '503']);
  });

  it('each with workers of its own', async () => {
    const redis = await redisServer();
    const { journals, servers } = await instances(redis.url, await folder(), '--workers', '2');
    for (const rule of RULES) await controlJson(servers[0]?.port ?? 0, 'POST /__control', { body: rule });
    const shares = [3334, 3333, 3333];
    const statuses = await Promise.all(
      servers.map(({ port }, n) => storm(port, { total: shares[n] ?? 0, connections: 20 })),
    );
    await stop(...servers);
    expectExact(statuses.flat(), await ledgersIn(...journals));
  });
});
