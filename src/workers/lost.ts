import { hash } from 'node:crypto';
import type { RuleSpec } from '../fault/rules.js';
import type { ResolvedOptions } from '../options.js';
import type { EvidenceSource } from '../proof/counters.js';
import { LEDGER_VERSION, type Ledger } from '../proof/ledger.js';
import { namedRule } from '../resolve-script.js';
import { selectionOf } from '../selector.js';
import type { Ask, Taken } from '../state/ask.js';

/** What was taken by a worker, and hasn't come back as a ledger. */
export interface UnderWay {
  readonly ask: Ask;
  readonly taken: Taken;
  /** Of the rule that was taken. */
  readonly spec: RuleSpec | undefined;
  readonly atMs: number;
}

/** The ledger of an exchange whose worker has ended: what was chosen is known, and of what was sent nothing. */
export function lostLedger(
  options: ResolvedOptions,
  { ask, taken, spec, atMs }: UnderWay,
  evidence: EvidenceSource,
): Ledger {
  const { lane } = ask;
  const picked =
    taken.by === 'rule' && spec
      ? ({
          kind: 'rule',
          rule: { id: taken.rule ?? 0, spec },
          named: namedRule(spec, 'rule', options.catalogue).named,
        } as const)
      : ({ kind: 'script' } as const);
  const selection = selectionOf(options, picked, lane, taken);
  const chosen =
    taken.by === 'asked'
      ? { scripted: ask.word ?? 'random', behavior: ask.word ?? 'random', source: ask.source ?? 'query', rule: null }
      : selection.kind === 'behavior'
        ? {
            scripted: selection.scripted,
            behavior: selection.behavior,
            source: selection.source,
            rule: selection.rule ?? null,
          }
        : ({ scripted: 'script_exhausted', behavior: 'script_exhausted', source: 'script', rule: null } as const);
  const nowhere = { address: null, port: null };
  return {
    version: LEDGER_VERSION,
    exchange: taken.exchange,
    connection: ask.connection,
    onConnection: 0,
    client: nowhere,
    server: nowhere,
    connectionOffset: 0,
    lane,
    generation: taken.generation,
    attempt: taken.attempts + 1,
    evidence,
    request: null,
    requestBytes: 0,
    selection: chosen,
    key: null,
    droppedLanes: taken.droppedLanes,
    state: 'shared',
    plan: { sha256: hash('sha256', '', 'hex'), bytes: 0, writtenSha256: null },
    cut: null,
    bytes: { written: 0, flushed: 0, acked: null, read: null },
    lost: null,
    stale: true,
    events: {},
    terminal: null,
    blocks: null,
    settled: null,
    unapplied: [],
    teardown: { kind: 'none', first: null },
    outcome: 'worker_lost',
    times: {
      requestAt: new Date(atMs).toISOString(),
      firstWriteMs: null,
      scale: options.timeScale,
      plannedWaitMs: 0,
      endMs: Math.max(0, Date.now() - atMs),
      teardownMs: null,
    },
  };
}
