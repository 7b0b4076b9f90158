import { failing } from '../trial/matrix-table.js';
import type { Sweep, SweepTeardown } from '../trial/sweep-results.js';
import type { Report } from './report.js';

/** What of a report meets the words of `--fail-on`, a line for each. Pure. */
export function failingIn(report: Report, words: readonly string[]): string[] {
  return [...failing(report.records, words), ...failingSweeps(report, words), ...failingJournals(report, words)];
}

/** The words that a teardown of a sweep meets: its verdicts, as many as there are. */
export function wordsMet({ verdicts }: Pick<SweepTeardown, 'verdicts'>, words: readonly string[]): string[] {
  return Object.entries(verdicts).flatMap(([verdict, count]) =>
    count > 0 && words.includes(verdict) ? [verdict] : [],
  );
}

export function sweepName({ client, protocol }: Sweep): string {
  return `sweep ${client} ${protocol}`;
}

function failingSweeps({ sweeps }: Report, words: readonly string[]): string[] {
  return sweeps.flatMap((sweep) =>
    sweep.teardowns.flatMap((one) =>
      wordsMet(one, words).map((word) => `${sweepName(sweep)} ${one.teardown}: ${word}`),
    ),
  );
}

function failingJournals({ journals }: Report, words: readonly string[]): string[] {
  return journals.flatMap(({ source, findings }) => {
    const kinds = new Set(findings.map(({ kind }) => kind));
    return [...kinds].filter((kind) => words.includes(kind)).map((kind) => `${source}: ${kind}`);
  });
}
