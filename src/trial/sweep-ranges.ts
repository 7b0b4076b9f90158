import type { CutTeardown } from '../fault/spec.js';
import type { Marked } from '../sse/mark.js';
import type { Judgement, Verdict } from './evidence.js';
import { placeOf } from './sweep-answer.js';
import type { SweepRange, SweepTeardown } from './sweep-results.js';

/** The verdicts of single cuts as ranges. Pure. */
export interface JudgedCut extends Judgement {
  readonly offset: number;
}

export function teardownOf(answer: Marked, teardown: CutTeardown, judged: readonly JudgedCut[]): SweepTeardown {
  const cuts = judged.toSorted((a, b) => a.offset - b.offset);
  const runs: JudgedCut[][] = [];
  for (const cut of cuts) {
    const last = runs.at(-1);
    if (last && last[0]?.verdict === cut.verdict) last.push(cut);
    else runs.push([cut]);
  }
  const verdicts: Partial<Record<Verdict, number>> = {};
  for (const { verdict } of cuts) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  return { teardown, cuts: cuts.length, verdicts, ranges: runs.flatMap((run) => rangeOf(answer, run)) };
}

function rangeOf(answer: Marked, run: readonly JudgedCut[]): SweepRange[] {
  const [first, last] = [run[0], run.at(-1)];
  if (!first || !last) return [];
  return [
    {
      first: first.offset,
      last: last.offset,
      cuts: run.length,
      verdict: first.verdict,
      because: first.because,
      from: placeOf(answer, first.offset),
      to: placeOf(answer, last.offset),
    },
  ];
}

/** What users look for first: success claimed for less, then what never ends. */
const WORST_FIRST = ['silent', 'hang', 'crash', 'looping', 'duplicated'] as const satisfies readonly Verdict[];
/** What is fine, or says nothing. */
const OTHERS = ['detected', 'recovered', 'complete', 'invalid'] as const satisfies readonly Exclude<
  Verdict,
  (typeof WORST_FIRST)[number]
>[];
export const BY_INTEREST: readonly Verdict[] = [...WORST_FIRST, ...OTHERS];

/** The worst first, and by rising offset within a verdict; what is fine, or says nothing, keeps its order behind them. */
export function worstFirst(ranges: readonly SweepRange[]): SweepRange[] {
  const rank = ({ verdict }: SweepRange): number => {
    return Math.min(BY_INTEREST.indexOf(verdict), WORST_FIRST.length);
  };
  return ranges.toSorted((a, b) => rank(a) - rank(b) || a.first - b.first);
}

/** Verdicts that occur, with their counts, the worst first. */
export function countsOf({ verdicts }: Pick<SweepTeardown, 'verdicts'>): (readonly [Verdict, number])[] {
  return BY_INTEREST.flatMap((verdict) => {
    const count = verdicts[verdict] ?? 0;
    return count > 0 ? [[verdict, count] as const] : [];
  });
}
