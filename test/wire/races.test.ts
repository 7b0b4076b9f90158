import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { control, keeper } from '../support/control.js';
import { readAnswer } from '../support/http.js';
import { serve } from '../support/server.js';
import { byRule, counted, expectExactHits, storm } from '../support/storm.js';
import { post, witness } from '../support/witness.js';

/**
 * Rules under many requests at the same moment: hit exactly as often as they say, by the count of the clients and by the
 * ledgers. The faults are told apart by their status.
 */
const PATH = '/v1/chat/completions';
const ONCE = 'rate_limit'; // 429
const SEVEN = 'auth_error'; // 401

describe('2,000 requests over 64 connections', () => {
  const TOTAL = 2000;
  const STORM = { total: TOTAL, connections: 64 };

  it('hit once exactly once, and times: 7 exactly seven times', () => expectExactHits(TOTAL, STORM.connections));

  it('hit every once that is added while they go on', async () => {
    const server = await serve({ ledgerHistory: TOTAL });
    const RULES = 40;
    const add = async (n: number): Promise<void> => {
      const body = { fault: ONCE, once: true, label: `r${n}` };
      expect((await control(server.port, 'POST /__control', { body })).status).toBe(201);
    };
    const adding = Promise.all(Array.from({ length: RULES }, (_, n) => add(n)));
    const statuses = await storm(server.port, STORM);
    await adding;
    const late = await storm(server.port, { total: RULES, connections: 4 });
    const all = [...statuses, ...late];
    expect(counted(all)).toEqual({ 200: all.length - RULES, 429: RULES });
    expect(server.spentRules.map(({ hits }) => hits)).toEqual(Array.from({ length: RULES }, () => 1));
    expect(server.rules).toEqual([]);
  });

  it('that each ask for a fault themselves use no rule up', async () => {
    const server = await serve({ ledgerHistory: TOTAL });
    server.inject({ fault: ONCE, once: true });
    const asks = post(`${PATH}?fault=empty`, {});
    await Promise.all(
      Array.from({ length: 64 }, async () => {
        const { ask, client } = keeper(server.port);
        for (let n = 0; n < 8; n++) expect((await ask(asks)).status).toBe(200);
        client.close();
      }),
    );
    expect(server.rules[0]).toMatchObject({ hits: 0, left: 1 });
    expect(counted(await storm(server.port, { total: 100, connections: 10 }))).toEqual({ 200: 99, 429: 1 });
  });
});

describe('1,000 requests at the same moment', () => {
  const CLIENTS = 1000;

  it('on connections of their own hit once exactly once, and times: 7 exactly seven times', async (ctx) => {
    const allowed = Number(spawnSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).stdout);
    // Both ends of each are in this process.
    if (allowed < 2 * CLIENTS + 200) ctx.skip(`ulimit -n is ${allowed}`);
    const server = await serve({ ledgerHistory: CLIENTS });
    server.inject({ fault: ONCE, once: true, match: 'work', label: 'once' });
    server.inject({ fault: SEVEN, times: 7, label: 'seven' });
    const clients = Array.from({ length: CLIENTS }, () => witness(server.port));
    await Promise.all(clients.map(({ connected }) => connected));
    // Half of them are those that the rule looks for.
    for (const [n, client] of clients.entries())
      client.send(post(PATH, { user: n % 2 === 0 ? 'work' : 'title' }, { Connection: 'close' }));
    await Promise.all(clients.map(({ ended }) => ended));
    const statuses = clients.map(({ received }) => readAnswer(received)?.status ?? 0);
    expect(counted(statuses)).toEqual({ 200: CLIENTS - 8, 429: 1, 401: 7 });
    expect(statuses.indexOf(429) % 2).toBe(0);
    expect(await byRule(server)).toEqual({ script: CLIENTS - 8, 'rule once': 1, 'rule seven': 7 });
  });
});
