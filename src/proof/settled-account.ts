import type { Selection } from '../fault/script.js';
import type { WirePlan } from '../fault/wire-plan.js';
import type { Request, RequestHead } from '../http/request.js';
import { type Account, type BodyFacts, type Intent, rounded } from './account.js';
import type { EvidenceSource } from './counters.js';
import type { Entry, ExchangeBooks, ExchangeEnd } from './exchange-books.js';
import type { UpstreamAccount } from './ledger.js';
import type { ExchangeEvidence } from './recorder.js';

/** What the book of an exchange knows by itself. Times by `performance.now()`, but for the first. */
export interface BookFacts {
  readonly exchange: number;
  readonly options: ExchangeBooks;
  readonly plan: WirePlan;
  /** By `Date.now()`. */
  readonly requestAtMs: number;
  readonly startMs: number;
  readonly firstWriteMs: number | undefined;
  readonly lastWriteMs: number | undefined;
  readonly teardownMs: number | undefined;
  /** Worked out of the bytes when it is first asked for. */
  intent(): Intent;
}

/** The account of an exchange that has settled: nothing is copied of what is known elsewhere (a copy takes 900 bytes). */
export class SettledAccount implements Account {
  readonly seen: ExchangeEvidence;
  private readonly book: BookFacts;
  private readonly entry: Entry;
  private readonly end: ExchangeEnd;
  private readonly endMs: number;
  private told: SettledTimes | undefined;

  constructor(book: BookFacts, entry: Entry, end: ExchangeEnd, endMs: number, seen: ExchangeEvidence) {
    this.book = book;
    this.entry = entry;
    this.end = end;
    this.endMs = endMs;
    this.seen = seen;
  }

  get exchange(): number {
    return this.book.exchange;
  }

  get connection(): number {
    return this.entry.connection;
  }

  get onConnection(): number {
    return this.entry.onConnection;
  }

  get evidence(): EvidenceSource {
    return this.book.options.evidence;
  }

  get head(): RequestHead | undefined {
    return this.entry.head;
  }

  get request(): Request | undefined {
    return this.entry.request;
  }

  get body(): BodyFacts | undefined {
    return this.entry.body;
  }

  get requestBytes(): number {
    return this.end.requestBytes;
  }

  get protocol(): string {
    return this.entry.protocol;
  }

  get timeScale(): number {
    return this.book.options.timeScale;
  }

  get selection(): Selection {
    return this.entry.selection;
  }

  get generation(): number {
    return this.entry.generation;
  }

  get droppedLanes(): number {
    return this.entry.droppedLanes;
  }

  get state(): 'shared' | 'local' | undefined {
    return this.entry.state;
  }

  get countDelivered(): Account['countDelivered'] {
    return this.book.options.countDelivered;
  }

  get plan(): WirePlan {
    return this.end.came?.plan ?? this.book.plan;
  }

  get intent(): Intent {
    return this.end.came?.intent ?? this.book.intent();
  }

  get upstream(): UpstreamAccount | undefined {
    return this.end.came?.upstream;
  }

  get outcome(): string {
    return this.end.outcome;
  }

  get teardown(): string {
    return this.end.teardown;
  }

  get redact(): boolean {
    return this.book.options.redact;
  }

  get times(): Account['times'] {
    this.told ??= new SettledTimes(this.book, this.endMs, this.seen.clientEndAtMs);
    return this.told;
  }
}

class SettledTimes {
  private readonly book: BookFacts;
  private readonly endAtMs: number;
  private readonly clientEndAtMs: number | undefined;

  constructor(book: BookFacts, endAtMs: number, clientEndAtMs: number | undefined) {
    this.book = book;
    this.endAtMs = endAtMs;
    this.clientEndAtMs = clientEndAtMs;
  }

  get requestAt(): string {
    return timeOf(this.book.requestAtMs);
  }

  get firstWriteMs(): number | null {
    return this.sinceStart(this.book.firstWriteMs);
  }

  get lastWriteMs(): number | null {
    return this.sinceStart(this.book.lastWriteMs);
  }

  get endMs(): number {
    return Math.max(0, rounded(this.endAtMs - this.book.startMs));
  }

  get clientEndMs(): number | null {
    return this.sinceStart(this.clientEndAtMs);
  }

  get teardownMs(): number | null {
    return this.sinceStart(this.book.teardownMs);
  }

  private sinceStart(ms: number | undefined): number | null {
    return ms === undefined ? null : Math.max(0, rounded(ms - this.book.startMs));
  }
}

/** Many exchanges begin in one millisecond. */
let lastTime = { ms: 0, text: new Date(0).toISOString() };

function timeOf(ms: number): string {
  if (lastTime.ms !== ms) lastTime = { ms, text: new Date(ms).toISOString() };
  return lastTime.text;
}
