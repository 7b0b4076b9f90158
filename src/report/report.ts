import type { Ledger } from '../proof/ledger.js';
import type { Finding } from '../trial/findings.js';
import type { IdleResults } from '../trial/idle-results.js';
import type { MatrixCell } from '../trial/matrix-table.js';
import type { CellRecord, RanCell } from '../trial/results.js';
import type { Sweep } from '../trial/sweep-results.js';
import type { Frame } from '../trial/terminal.js';
import type { Excerpt } from './excerpt.js';
import type { ReportedExchange } from './exchange.js';

/** What a report is made of, whatever it was read from. */
export interface Report {
  /** As they were given: folders, files, URLs. */
  readonly sources: readonly string[];
  /** Of matrices; none where there is none. */
  readonly records: readonly CellRecord[];
  /** What the runs have left behind, where it was read. */
  readonly evidence: ReadonlyMap<RanCell, RunDetail>;
  readonly sweeps: readonly Sweep[];
  readonly idle: readonly IdleResults[];
  readonly journals: readonly ReportedJournal[];
}

/** Of one run of a matrix; `missing` says why there is nothing more. */
export type RunDetail =
  | { readonly kind: 'missing'; readonly why: string }
  | {
      readonly kind: 'found';
      /** Exchanges of its main request, in order, and those of other requests. */
      readonly main: readonly ReportedExchange[];
      readonly auxiliary: readonly ReportedExchange[];
      readonly stdout: Excerpt;
      readonly stderr: Excerpt;
      readonly structuredError: string | null;
      /** The last screens of a client in a terminal, and how many came before. */
      readonly frames: readonly { readonly ms: Frame['ms']; readonly text: Excerpt }[];
      readonly framesBefore: number;
      /** `ended by wirefault at the limit of its time` and the like. */
      readonly notes: readonly string[];
    };

/** Exchanges of one run of a server: a journal's last run, or what a live server keeps. */
export interface ReportedJournal {
  readonly source: string;
  /** In order. */
  readonly ledgers: readonly Ledger[];
  readonly findings: readonly Finding[];
  /** The last ones, with what their bytes tell. */
  readonly exchanges: readonly ReportedExchange[];
  /** What of the source is not in `ledgers`, in sentences. */
  readonly leftOut: readonly string[];
}

/** The runs of a matrix, controls included. */
export function runsOf({ records }: Pick<Report, 'records'>): RanCell[] {
  return records.filter((record): record is RanCell => record.kind === 'run');
}

/** A cell of the heat map, and the id of the dialog that it opens. */
export interface PlacedCell {
  readonly id: string;
  readonly client: string;
  readonly fault: string;
  readonly cell: MatrixCell;
}
