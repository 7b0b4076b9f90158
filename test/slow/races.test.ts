import { describe, expect, it } from 'vitest';
import { serve } from '../support/server.js';
import { byRule, counted, storm } from '../support/storm.js';

/** As test/wire/races, with as many requests as the design asks for. */
const ONCE = 'rate_limit'; // 429
const SEVEN = 'auth_error'; // 401

describe('10,000 requests over 80 connections', () => {
  const TOTAL = 10_000;
  const STORM = { total: TOTAL, connections: 80 };

  it('hit once exactly once, and times: 7 exactly seven times', async () => {
    const server = await serve({ ledgerHistory: TOTAL, requestHistory: TOTAL });
    server.inject({ fault: SEVEN, times: 7, label: 'seven' });
    server.inject({ fault: ONCE, once: true, label: 'once' });
    const statuses = await storm(server.port, STORM);
    expect(counted(statuses)).toEqual({ 200: TOTAL - 8, 429: 1, 401: 7 });
    expect(await byRule(server)).toEqual({ script: TOTAL - 8, 'rule once': 1, 'rule seven': 7 });
    expect(server.spentRules.map(({ spec, hits, left }) => [spec.label, hits, left])).toEqual([
      ['seven', 7, 0],
      ['once', 1, 0],
    ]);
    // Attempts are counted without a gap, whoever chose.
    const attempts = server.ledgers.map(({ attempt }) => attempt).toSorted((a, b) => a - b);
    expect(attempts).toEqual(Array.from({ length: TOTAL }, (_, n) => n + 1));
  });
});
