import type { Verdict } from './evidence.js';
import { agreed } from './judge.js';
import type { CellRecord, NotRun, RanCell } from './results.js';

/** The records of a matrix as a table: clients × faults. Pure. */
export interface MatrixTable {
  readonly faults: readonly string[];
  readonly rows: readonly MatrixRow[];
  readonly notRun: readonly NotRun[];
}

export interface MatrixRow {
  readonly client: string;
  readonly version: string | null;
  /** The verdicts of the repeats as one, by fault; of a fault that wasn't run there is none. */
  readonly cells: ReadonlyMap<string, MatrixCell>;
}

export interface MatrixCell {
  /** A verdict, or `flaky silent 2/3`. */
  readonly text: string;
  /** The most frequent one. */
  readonly verdict: Verdict;
  readonly flaky: boolean;
  readonly runs: readonly RanCell[];
}

export function tableOf(records: readonly CellRecord[]): MatrixTable {
  const runs = records.filter((record): record is RanCell => record.kind === 'run');
  const cells = runs.filter(({ control }) => !control);
  const faults = [...new Set(cells.map(({ fault }) => fault))].toSorted();
  const ran = new Set(runs.map(({ client }) => client));
  const rows = [...ran].map((client): MatrixRow => {
    const own = cells.filter((record) => record.client === client);
    const of = faults.flatMap((fault) => {
      const repeats = own.filter((record) => record.fault === fault).toSorted((a, b) => a.repeat - b.repeat);
      return repeats.length === 0 ? [] : [[fault, cellOf(repeats)] as const];
    });
    return {
      client,
      version: runs.findLast((record) => record.client === client)?.clientVersion ?? null,
      cells: new Map(of),
    };
  });
  const notRun = records.filter((record): record is NotRun => record.kind === 'not_run' && !ran.has(record.client));
  return { faults, rows, notRun };
}

function cellOf(runs: readonly RanCell[]): MatrixCell {
  const text = agreed(runs.map(({ verdict }) => verdict));
  const counts = new Map<Verdict, number>();
  for (const { verdict } of runs) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  const verdict = [...counts].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? 'invalid';
  return { text, verdict, flaky: counts.size > 1, runs };
}

/** What `--fail-on` can name, beside verdicts and findings: repeats that disagree. */
export const FLAKY = 'flaky';

/** A cell that meets words of `--fail-on`. */
export interface FailingCell {
  readonly client: string;
  readonly fault: string;
  readonly words: readonly string[];
}

/** In the order of the table. Controls are meant to be noticed, and don't count. */
export function failingCells(records: readonly CellRecord[], words: readonly string[]): FailingCell[] {
  const { rows } = tableOf(records);
  return rows.flatMap(({ client, cells }) =>
    [...cells].flatMap(([fault, { runs, flaky }]) => {
      const met = [
        ...(flaky ? [FLAKY] : []),
        ...runs.map(({ verdict }) => verdict),
        ...runs.flatMap(({ findings }) => findings.map(({ kind }) => kind)),
      ].filter((word) => words.includes(word));
      return met.length === 0 ? [] : [{ client, fault, words: [...new Set(met)] }];
    }),
  );
}

/** The same, a line for each word. */
export function failing(records: readonly CellRecord[], words: readonly string[]): string[] {
  return failingCells(records, words).flatMap(({ client, fault, words: met }) =>
    met.map((word) => `${client} ${fault}: ${word}`),
  );
}
