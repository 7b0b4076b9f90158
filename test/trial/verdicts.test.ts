import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runCell } from '../../src/trial/cell.js';
import { type Judgement, type RunEvidence, VERDICTS, type Verdict } from '../../src/trial/evidence.js';
import { judge } from '../../src/trial/judge.js';
import { controlOf, isHealthy } from '../../src/trial/matrix-plan.js';
import { little, type Manners } from './support/little.js';

/** Real processes against real faults: each verdict is given to a client that earns it, and withheld from its twin. */
interface Row {
  readonly manners: Manners;
  readonly fault: string;
  readonly verdict: Verdict;
  readonly because?: RegExp;
}

/** What ends must not meet the limit on a slow machine, and what hangs must not make the test slow. */
const LIMIT_MS = 15_000;
const HANG_MS = 3000;

const ROWS: Readonly<Record<Verdict, { readonly given: readonly Row[]; readonly withheld: readonly Row[] }>> = {
  complete: {
    given: [{ manners: 'strict', fault: 'F0', verdict: 'complete' }],
    withheld: [{ manners: 'mute', fault: 'F0', verdict: 'invalid', because: /not shown whole/ }],
  },
  recovered: {
    given: [
      { manners: 'patient', fault: 'F1', verdict: 'recovered' },
      { manners: 'patient', fault: 'F4', verdict: 'recovered' },
    ],
    withheld: [{ manners: 'strict', fault: 'F1', verdict: 'detected' }],
  },
  duplicated: {
    given: [{ manners: 'doubling', fault: 'F2', verdict: 'duplicated', because: /exchange 2, and text of exchange 1/ }],
    withheld: [{ manners: 'patient', fault: 'F2', verdict: 'recovered' }],
  },
  looping: {
    given: [{ manners: 'looping', fault: 'F2', verdict: 'looping' }],
    withheld: [{ manners: 'looping', fault: 'F0', verdict: 'complete' }],
  },
  detected: {
    given: [
      { manners: 'strict', fault: 'F3', verdict: 'detected', because: /exit code 1: the answer ended early/ },
      { manners: 'polite', fault: 'F2', verdict: 'detected', because: /"incomplete"/ },
    ],
    withheld: [{ manners: 'naive', fault: 'F2', verdict: 'silent' }],
  },
  silent: {
    given: [
      { manners: 'naive', fault: 'F1', verdict: 'silent', because: /never came \(3 paragraphs/ },
      { manners: 'naive', fault: 'F3', verdict: 'silent', because: /never came \(6 paragraphs/ },
      // No protocol can tell this one from a whole answer, and nobody is spared.
      { manners: 'strict', fault: 'F5', verdict: 'silent', because: /not whole \(3 paragraphs/ },
    ],
    withheld: [{ manners: 'strict', fault: 'F2', verdict: 'detected' }],
  },
  hang: {
    given: [
      { manners: 'strict', fault: 'stall@event:3', verdict: 'hang', because: /still connected/ },
      { manners: 'waiting', fault: 'F2', verdict: 'hang', because: /waiting for something else/ },
    ],
    withheld: [{ manners: 'waiting', fault: 'F0', verdict: 'complete' }],
  },
  crash: {
    given: [
      { manners: 'crashing', fault: 'F2', verdict: 'crash', because: /nothing caught/ },
      { manners: 'aborting', fault: 'F2', verdict: 'crash', because: /SIGABRT/ },
    ],
    withheld: [{ manners: 'crashing', fault: 'F0', verdict: 'complete' }],
  },
  invalid: {
    given: [
      { manners: 'deaf', fault: 'F2', verdict: 'invalid', because: /positive control was not noticed/ },
      { manners: 'idle', fault: 'F2', verdict: 'invalid', because: /no main request/ },
      { manners: 'mute', fault: 'F2', verdict: 'invalid', because: /healthy control/ },
    ],
    withheld: [{ manners: 'naive', fault: 'F2', verdict: 'silent' }],
  },
};

const out = mkdtempSync(join(tmpdir(), 'wf-verdicts-'));
afterAll(() => rmSync(out, { recursive: true, force: true }));
const ran = new Map<string, Promise<RunEvidence>>();

/** Controls are run once for all rows that need them. */
function run(manners: Manners, fault: string, timeoutMs = LIMIT_MS): Promise<RunEvidence> {
  const dir = join(out, manners, fault, `${timeoutMs}`);
  const running =
    ran.get(dir) ??
    runCell({
      client: little(manners),
      fault,
      prompt: 'Tell me about the town.',
      seed: 1,
      dir,
      paragraphs: 6,
      timeoutMs,
    });
  ran.set(dir, running);
  return running;
}

async function judged({ manners, fault, verdict }: Row): Promise<Judgement> {
  const control = controlOf(fault);
  const [usual, controlled, broken] = await Promise.all([
    isHealthy(fault) ? undefined : run(manners, 'F0'),
    control === undefined ? undefined : run(manners, control, manners === 'waiting' ? HANG_MS : LIMIT_MS),
    run(manners, fault, verdict === 'hang' ? HANG_MS : LIMIT_MS),
  ]);
  return judge({ run: broken, healthy: isHealthy(fault), usual, control: controlled });
}

describe.each(VERDICTS)('%s', (verdict) => {
  it.each(ROWS[verdict].given)('is given: $manners, $fault', async (row) => {
    expect(row.verdict).toBe(verdict);
    expect(await judged(row)).toEqual({ verdict, because: expect.stringMatching(row.because ?? /./) });
  });

  it.each(ROWS[verdict].withheld)('is withheld: $manners, $fault', async (row) => {
    expect(row.verdict).not.toBe(verdict);
    expect(await judged(row)).toEqual({ verdict: row.verdict, because: expect.stringMatching(row.because ?? /./) });
  });
});
