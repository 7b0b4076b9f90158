import type { ExchangeListener, Outcome, RequestRecord } from './events.js';
import { outcomeOf } from './exchange-ends.js';
import type { ListenFault, Selection } from './fault/script.js';
import type { WirePlan } from './fault/wire-plan.js';
import type { EarlyJob, Job } from './net/job.js';
import type { PlayEnd } from './net/play.js';
import { eventsFlushed } from './proof/account.js';
import type { OpenExchange } from './proof/exchange-books.js';
import type { ExchangeRecorder } from './proof/recorder.js';
import type { PassedAnswer } from './proxy/proxy-answers.js';

/** What an exchange is answered with. */
export interface Planned {
  readonly plan: WirePlan;
  /** Instead of the plan, which is none then. */
  readonly passed?: PassedAnswer;
  /** Why there is another answer than the planned one. */
  readonly failed?: Outcome;
}

export interface ExchangeJobDeps {
  readonly told: ExchangeListener;
  /** Opens windows of the port, one after the other. */
  open(windows: readonly ListenFault[]): void;
}

const NO_WINDOWS: readonly ListenFault[] = [];

/** The job of one exchange, which is on record and in the books. */
export class ExchangeJob implements EarlyJob {
  readonly play: Job['play'];
  readonly requestBytes: number;
  private readonly deps: ExchangeJobDeps;
  private readonly windows: readonly ListenFault[];
  private readonly record: RequestRecord;
  private readonly book: OpenExchange;
  private readonly passed: PassedAnswer | undefined;
  private readonly failed: Outcome | undefined;

  /** `requestBytes`: where it doesn't wait for a whole request. */
  constructor(
    deps: ExchangeJobDeps,
    selection: Selection,
    record: RequestRecord,
    book: OpenExchange,
    { passed, failed }: Planned,
    requestBytes: number,
  ) {
    this.play = passed?.play;
    this.requestBytes = requestBytes;
    this.deps = deps;
    this.windows = selection.kind === 'behavior' ? selection.windows : NO_WINDOWS;
    this.record = record;
    this.book = book;
    this.passed = passed;
    this.failed = failed;
  }

  /** As far as it is written: the plan as it was to be isn't kept. */
  get plan(): WirePlan {
    return this.book.plan;
  }

  onLast(): void {
    if (this.windows.length > 0) this.deps.open(this.windows);
  }

  onWrite(segment: Buffer): void {
    this.book.onWrite(segment);
  }

  onTeardown(): void {
    this.book.onTeardown();
  }

  onRest(taken: boolean): void {
    this.book.onRest(taken);
  }

  onEnd(end: PlayEnd, recorder: ExchangeRecorder, requestBytes: number): void {
    const { record } = this;
    const came = this.passed?.came();
    const outcome = this.failed ?? came?.outcome ?? outcomeOf(end);
    record.chunksSent = eventsFlushed(came?.plan ?? this.plan, end.flushedBytes);
    record.outcome = outcome;
    this.deps.told.onResult(record, outcome, came?.why);
    const teardown = end.reached?.op === 'teardown' ? end.reached.kind : 'none';
    const goesOn = end.how === 'done' && (teardown === 'keep_alive' || teardown === 'eof');
    this.book.ended({ outcome, teardown, flushedBytes: end.flushedBytes, goesOn, requestBytes, came }, recorder);
  }
}
