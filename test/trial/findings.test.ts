import { describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/proof/ledger.js';
import { FINDING_KINDS, type FindingKind, type FindingSources } from '../../src/trial/finding-rules.js';
import { findingsOf } from '../../src/trial/findings.js';
import { REQUEST } from '../proof/ledgers.js';
import { cut, markOf, whole } from './support/runs.js';

const START = Date.parse('2026-11-30T12:00:00Z');

/** A ledger whose request came at `atMs`, and whose answer took `tookMs`. */
function at(ledger: Ledger, atMs: number, tookMs = 10): Ledger {
  const requestAt = new Date(START + atMs).toISOString();
  return { ...ledger, times: { ...ledger.times, requestAt, endMs: tookMs, teardownMs: null } };
}

/** Broken answers to one request, at these times. */
const tries = (...times: readonly number[]): Ledger[] => times.map((atMs, n) => at(cut(n + 1), atMs));

const other = (ledger: Ledger): Ledger => ({ ...ledger, request: { ...REQUEST, bodySha256: 'f'.repeat(64) } });

const answer = (status: number, ...headers: string[]): FindingSources => ({
  response: () =>
    Buffer.from(`HTTP/1.1 ${status} X\r\n${headers.map((line) => `${line}\r\n`).join('')}content-length: 0\r\n\r\n`),
});

const tool = (ledger: Ledger): Ledger => ({
  ...ledger,
  events: { tool_args: { planned: 2, flushed: 1, acked: 1, read: 1 } },
});
const stalled = (endMs: number): Ledger =>
  at(cut(1, { outcome: 'stalled', teardown: { kind: 'stall', first: null } }), 0, endMs);
const quiet = (ledger: Ledger): Ledger => ({ ...ledger, events: {} });

interface Row {
  readonly found: readonly [readonly Ledger[], FindingSources?][];
  readonly notFound: readonly [readonly Ledger[], FindingSources?][];
}

const ROWS: Readonly<Record<FindingKind, Row>> = {
  retry_after_ignored: {
    found: [
      [tries(0, 500), answer(429, 'retry-after: 1')],
      [tries(0, 30), answer(503, 'retry-after-ms: 100')],
    ],
    notFound: [
      [tries(0, 1010), answer(429, 'retry-after: 1')],
      [tries(0, 500), answer(429)],
      [tries(0, 500)],
      [[at(cut(1), 0), other(at(cut(2), 500))], answer(429, 'retry-after: 1')],
    ],
  },
  retried_unretryable: {
    found: [
      [tries(0, 500), answer(401)],
      [tries(0, 500), answer(503, 'x-should-retry: false')],
    ],
    notFound: [
      [tries(0, 500), answer(429)],
      [tries(0, 500), answer(400, 'x-should-retry: true')],
      [tries(0), answer(400)],
    ],
  },
  retry_storm: {
    found: [[tries(0, 20, 40, 60, 80)]],
    notFound: [[tries(0, 20, 40, 60)], [tries(0, 400, 800, 1200, 1600)]],
  },
  no_backoff: {
    found: [[tries(0, 200, 400, 600)]],
    notFound: [
      [tries(0, 200, 600, 1400)],
      [tries(0, 200, 400)],
      [[0, 200, 400, 600].map((ms, n) => at(whole(n + 1), ms))],
    ],
  },
  replay_after_output: {
    found: [[tries(0, 500)]],
    notFound: [[[quiet(at(cut(1), 0)), at(cut(2), 500)]], [[at(whole(1), 0), at(whole(2), 500)]]],
  },
  truncated_accepted: {
    found: [
      [tries(0), { accepted: [1] }],
      [[at(cut(1), 0), other(at(whole(2), 500))], { requestBody: (n) => (n === 2 ? `… ${markOf(1, 2)} …` : '') }],
    ],
    notFound: [
      [tries(0)],
      [[at(whole(1), 0)], { accepted: [1] }],
      [[at(cut(1), 0), other(at(whole(2), 500))], { requestBody: () => 'hello' }],
    ],
  },
  no_idle_timeout: {
    found: [[[stalled(60_000)]], [[stalled(6000)], { patienceMs: 5000 }]],
    notFound: [[[stalled(59_000)]], [[at(cut(1), 0, 90_000)]]],
  },
  socket_reused_after_broken: {
    found: [[[at(cut(1, { connection: 1 }), 0), at(whole(2, { connection: 1, onConnection: 2 }), 500)]]],
    notFound: [
      [[at(cut(1), 0), at(whole(2), 500)]],
      [[at(whole(1, { connection: 1 }), 0), at(whole(2, { connection: 1, onConnection: 2 }), 500)]],
    ],
  },
  repeated_side_effects: {
    found: [
      [[tool(at(cut(1), 0)), at(cut(2), 500)]],
      [[whole(1, { key: { name: 'header:idempotency-key', value: 'k', nth: 2, delivered: 2 } })]],
    ],
    notFound: [
      [tries(0, 500)],
      [[whole(1, { key: { name: 'header:idempotency-key', value: 'k', nth: 2, delivered: 1 } })]],
    ],
  },
};

describe.each(FINDING_KINDS)('%s', (kind) => {
  it.each(ROWS[kind].found.map((row, n) => [n + 1, ...row] as const))('is found (%i)', (_, ledgers, sources = {}) => {
    const [finding, ...more] = findingsOf(ledgers, sources).filter((one) => one.kind === kind);
    expect(more).toEqual([]);
    expect(finding?.evidence.length).toBeGreaterThan(0);
    expect(finding?.evidence.join()).toMatch(/\d/);
    expect(finding?.advice).toMatch(/^[A-Z].*\.$/);
    const known = ledgers.map(({ exchange }) => exchange);
    for (const exchange of finding?.exchanges ?? []) expect(known).toContain(exchange);
  });

  it.each(ROWS[kind].notFound.map((row, n) => [n + 1, ...row] as const))('is not (%i)', (_, ledgers, sources = {}) => {
    expect(findingsOf(ledgers, sources).filter((one) => one.kind === kind)).toEqual([]);
  });
});

it('requests at the same time are no retries', () => {
  const together = [at(cut(1), 0, 1000), at(cut(2), 10, 1000), at(cut(3), 20, 1000)];
  expect(findingsOf(together)).toEqual([]);
});

it('the order of the ledgers is that of their settling, and plays no part', () => {
  const ledgers = tries(0, 200, 400, 600);
  expect(findingsOf(ledgers.toReversed())).toEqual(findingsOf(ledgers));
});
