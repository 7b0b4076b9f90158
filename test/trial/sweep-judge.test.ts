import { describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/proof/ledger.js';
import type { RunEvidence, Verdict } from '../../src/trial/evidence.js';
import { judgeCut } from '../../src/trial/sweep-judge.js';
import { cut, evidence, shown, whole } from './support/runs.js';

const USUAL = evidence({ fault: 'success', shown: shown(1, 1, 2, 3, 4), main: [whole(1)] });
const PLANNED = { position: 'byte:600', offset: 600, planBytes: 1000, writtenBytes: 600 };
const BYTES = { written: 600, flushed: 600, acked: 600, read: 600 };

function at600(given: Partial<Ledger> = {}): Ledger {
  const place = { position: 'byte:600', offset: 600, inside: 'after event:6 (content)' };
  return cut(1, { cut: place, bytes: BYTES, lost: 0, ...given });
}

const TERMINAL = { terminal: { name: '[DONE]', delivered: true } };
const ALL = shown(1, 1, 2, 3, 4);

describe('a cut', () => {
  it.each<[string, Verdict, Partial<RunEvidence>]>([
    ['success for a part', 'silent', { main: [at600()], shown: shown(1, 1, 2) }],
    ['success for all the text without the terminal', 'silent', { main: [at600()], shown: ALL }],
    ['an error', 'detected', { main: [at600()], shown: shown(1, 1, 2), exitCode: 1 }],
    ['the terminal had come, and all is shown', 'complete', { main: [at600(TERMINAL)], shown: ALL }],
    ['the terminal had come, and a part is shown', 'silent', { main: [at600(TERMINAL)], shown: shown(1, 1) }],
    ['the terminal had come, and it complains', 'detected', { main: [at600(TERMINAL)], shown: ALL, exitCode: 1 }],
    ['the terminal had come, and it waits', 'hang', { main: [at600(TERMINAL)], timedOut: true, exitCode: null }],
    [
      'it went with the terminal, before the cut',
      'complete',
      {
        main: [at600({ ...TERMINAL, outcome: 'client_closed', teardown: { kind: 'none', first: 'client_fin' } })],
        shown: ALL,
      },
    ],
    [
      'it went before the terminal, and before the cut',
      'invalid',
      { main: [at600({ outcome: 'client_closed', teardown: { kind: 'none', first: 'client_fin' } })], shown: ALL },
    ],
    [
      'another request, another answer',
      'invalid',
      { main: [at600({ plan: { sha256: '', bytes: 999, writtenSha256: '' } })] },
    ],
    [
      'another place',
      'invalid',
      { main: [at600({ cut: { position: 'byte:601', offset: 601, inside: '' } })], shown: shown(1, 1, 2) },
    ],
    ['no cut at all', 'invalid', { main: [at600({ cut: null })], shown: ALL }],
    [
      'fewer bytes than were planned',
      'invalid',
      { main: [at600({ bytes: { written: 599, flushed: 599, acked: 599, read: 599 } })], shown: shown(1, 1, 2) },
    ],
    [
      'bytes that were lost',
      'invalid',
      { main: [at600({ lost: 3, bytes: { ...BYTES, read: 597 } })], shown: shown(1, 1) },
    ],
    ['no request', 'invalid', {}],
    ['the second answer', 'recovered', { main: [at600(), whole(2)], shown: shown(2, 1, 2, 3, 4) }],
  ])('%s: %s', (_, verdict, run) => {
    expect(judgeCut({ run: evidence(run), usual: USUAL, planned: PLANNED }).verdict).toBe(verdict);
  });

  it('says what the ledger does not prove', () => {
    const run = evidence({ main: [at600({ cut: { position: 'byte:601', offset: 601, inside: '' } })] });
    expect(judgeCut({ run, usual: USUAL, planned: PLANNED }).because).toBe(
      'the cut was at byte:601, byte 601, not at byte:600',
    );
  });
});
