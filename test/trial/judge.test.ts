import { describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/proof/ledger.js';
import type { RunEvidence, Verdict } from '../../src/trial/evidence.js';
import { agreed, judge, reached, type Trial } from '../../src/trial/judge.js';
import { cut, evidence, shown, whole } from './support/runs.js';

const USUAL = evidence({ fault: 'F0', shown: shown(1, 1, 2, 3, 4), main: [whole(1)] });
const NOTICED = evidence({ fault: 'F2+', exitCode: 1, main: [cut(1)] });

function verdictOf(run: Partial<RunEvidence>, trial: Partial<Trial> = {}): Verdict {
  return judge({ run: evidence(run), healthy: false, control: NOTICED, usual: USUAL, ...trial }).verdict;
}

const HALF = { main: [cut(1)], shown: shown(1, 1, 2) };
const AGAIN = [cut(1), whole(2)];

describe('a verdict', () => {
  it.each<[string, Verdict, Partial<RunEvidence>]>([
    ['half of the answer, and not a word', 'silent', HALF],
    ['the same, and the words of the mock itself', 'silent', { ...HALF, shown: `${HALF.shown} lumo van` }],
    ['words about it', 'detected', { ...HALF, shown: `${HALF.shown}\n(truncated)` }],
    ['words about it on stderr', 'detected', { ...HALF, stderr: 'Reconnecting... 1/5' }],
    ['an exit code', 'detected', { ...HALF, exitCode: 3 }],
    ['an error in a field', 'detected', { ...HALF, structuredError: 'finish length' }],
    ['the second answer alone', 'recovered', { main: AGAIN, shown: shown(2, 1, 2, 3, 4) }],
    ['both answers', 'duplicated', { main: AGAIN, shown: `${shown(1, 1, 2)}\n${shown(2, 1, 2, 3, 4)}` }],
    [
      'the second answer twice',
      'duplicated',
      { main: AGAIN, shown: `${shown(2, 1, 2, 3, 4)} ${shown(2, 1, 2, 3, 4)}` },
    ],
    ['a second answer that is not whole', 'silent', { main: AGAIN, shown: shown(2, 1, 2, 3) }],
    ['requests beyond the cap', 'looping', { main: AGAIN, capped: true, exitCode: null }],
    ['no end, connected', 'hang', { main: [cut(1)], timedOut: true, open: [1], exitCode: null }],
    ['a signal', 'crash', { ...HALF, signal: 'SIGSEGV', exitCode: null }],
    ['an exit code of a signal', 'crash', { ...HALF, exitCode: 134 }],
    ['a stack on stderr', 'crash', { ...HALF, exitCode: 1, stderr: 'TypeError: x\n    at y\n\nNode.js v20.20.2' }],
    ['a request that never came', 'invalid', {}],
    [
      'bytes of which some were lost',
      'invalid',
      { ...HALF, main: [cut(1, { lost: 3, bytes: { written: 9, flushed: 9, acked: 6, read: 6 } })] },
    ],
  ])('%s: %s', (_, verdict, run) => {
    expect(verdictOf(run)).toBe(verdict);
  });

  it('hard line wraps and frames of a terminal change nothing', () => {
    const wrapped = shown(2, 1, 2, 3, 4)
      .replaceAll('ange2', 'an\n  ge2')
      .replaceAll('lumo', '\n│ \u001b[1mlu\u001b[0mmo');
    expect(verdictOf({ main: AGAIN, shown: wrapped })).toBe('recovered');
  });

  it('what it says when all is well is no sign of anything', () => {
    const usual = { ...USUAL, stderr: 'warning: model 17 is unknown', shown: `${USUAL.shown} retry with /again` };
    const run = { ...HALF, stderr: 'warning: model 23 is unknown', shown: `${HALF.shown} retry with /again` };
    expect(verdictOf(run)).toBe('detected');
    expect(verdictOf(run, { usual })).toBe('silent');
    expect(verdictOf({ ...run, stderr: `${run.stderr}\nwarning: cut short` }, { usual })).toBe('detected');
  });

  it('nothing follows from a control that was not noticed, or a healthy one that failed', () => {
    const control = evidence({ main: [cut(1)], shown: shown(1, 1, 2) });
    expect(verdictOf(HALF, { control })).toBe('invalid');
    expect(verdictOf(HALF, { control: undefined })).toBe('silent');
    expect(verdictOf(HALF, { control: { ...control, main: AGAIN } })).toBe('silent');
    expect(verdictOf(HALF, { usual: evidence({ main: [whole(1)] }) })).toBe('invalid');
  });

  it.each([
    ['ERROR: stream disconnected\ntokens used\n94\n', '', 'exit code 1: ERROR: stream disconnected'],
    ['', `${shown(1, 1)}\n`, 'exit code 1, without a word'],
    ['to resume: kimi -r 1\n', 'LLM error: x\n', 'exit code 1: to resume: kimi -r 1'],
  ])('says by what words it was detected (%#)', (stderr, stdout, because) => {
    const run = evidence({ ...HALF, exitCode: 1, stderr, stdout });
    expect(judge({ run, healthy: false, control: NOTICED, usual: USUAL }).because).toBe(because);
  });

  it('of the healthy control', () => {
    const healthy = { healthy: true, control: undefined, usual: undefined };
    expect(verdictOf({ main: [whole(1)], shown: shown(1, 1, 2, 3, 4) }, healthy)).toBe('complete');
    expect(verdictOf({ main: [whole(1)], shown: shown(1, 1, 2, 3) }, healthy)).toBe('invalid');
    expect(verdictOf({ main: [whole(1)], shown: shown(1, 1, 2, 3, 4), exitCode: 1 }, healthy)).toBe('invalid');
  });
});

describe('that the fault has reached the client', () => {
  const none = { kind: 'none', first: 'client_fin' } as const;
  const read = (count: number) => ({ planned: 2, flushed: 2, acked: count, read: count });
  it.each<[string, boolean, Ledger]>([
    ['all was acknowledged', true, cut(1)],
    ['some was lost', false, cut(1, { lost: 1, bytes: { written: 10, flushed: 10, acked: 9, read: null } })],
    ['a position that was not there', false, cut(1, { outcome: 'cut_unreached' })],
    [
      'a reset behind what was not read',
      false,
      cut(1, {
        teardown: { kind: 'rst', first: 'server' },
        settled: { level: 'read', reached: false, waitedMs: 2000 },
      }),
    ],
    [
      'a reset behind what was read',
      true,
      cut(1, { teardown: { kind: 'rst', first: 'server' }, settled: { level: 'read', reached: true, waitedMs: 1 } }),
    ],
    ['the client went before the cut', false, cut(1, { teardown: none, outcome: 'client_closed' })],
    ['the client went at the terminal', true, whole(1, { teardown: none, outcome: 'client_closed' })],
    [
      'the client went at an error',
      true,
      whole(1, { terminal: null, teardown: none, outcome: 'client_closed', events: { error: read(2) } }),
    ],
    [
      'the client went before an error',
      false,
      whole(1, { terminal: null, teardown: none, outcome: 'client_closed', events: { error: read(1) } }),
    ],
    ['silence', true, cut(1, { teardown: none, outcome: 'stalled' })],
    ['nothing was to be written', true, cut(1, { bytes: { written: 0, flushed: 0, acked: 0, read: 0 } })],
  ])('%s: %s', (_, proved, ledger) => {
    expect(reached(ledger)).toBe(proved);
  });
});

describe('the verdicts of repeats', () => {
  it.each<[Verdict[], string]>([
    [['silent'], 'silent'],
    [['silent', 'silent', 'silent'], 'silent'],
    [['silent', 'detected', 'silent'], 'flaky silent 2/3'],
    [[], 'invalid'],
  ])('%j: %s', (verdicts, text) => {
    expect(agreed(verdicts)).toBe(text);
  });
});
