import type { Selection } from '../fault/script.js';
import { type WirePlan, writtenPart } from '../fault/wire-plan.js';
import { headOf } from '../http/request.js';
import type { Lease } from '../slabs.js';
import { bodyFactsOf, sha256 as hashOf, type Intent, intentOf, lostOf } from './account.js';
import type { Entry, ExchangeBooks, ExchangeEnd, OpenExchange } from './exchange-books.js';
import { OwedLedger } from './owed-ledger.js';
import type { ExchangeEvidence, ExchangeRecorder } from './recorder.js';
import { type BookFacts, SettledAccount } from './settled-account.js';

/** What a ledger is made of is kept up to this size until somebody asks for it; of what is longer it is made at once. */
const MAX_LATER_BYTES = 16_384;

export function openExchange(exchange: number, entry: Entry, options: ExchangeBooks): OpenExchange {
  return new Book(exchange, entry, options);
}

class Book implements OpenExchange, BookFacts {
  plan: WirePlan;
  readonly exchange: number;
  /** Given up at rest where no ledger is made. */
  private entry: Entry | undefined;
  readonly options: ExchangeBooks;
  readonly requestAtMs = Date.now();
  readonly startMs = performance.now();
  /** The ledger is made when somebody asks for it. */
  private readonly later: boolean;
  private intended: Intent | undefined;
  /** What was written, where that is kept; empty while it is the plan's own bytes, one behind the other. */
  private segments: Buffer[] | undefined;
  private keptBytes = 0;
  firstWriteMs: number | undefined;
  lastWriteMs: number | undefined;
  teardownMs: number | undefined;

  constructor(exchange: number, entry: Entry, options: ExchangeBooks) {
    const plan = writtenPart(entry.plan);
    const size = plan.bytes.length + (entry.request?.body.length ?? 0);
    this.plan = plan;
    this.exchange = exchange;
    this.options = options;
    // The bytes of the plan that aren't written aren't kept, and keyed answers are counted as they settle.
    this.later = plan === entry.plan && size <= MAX_LATER_BYTES && !isKeyed(entry.selection);
    this.intended = options.wanted && !this.later ? intentOf(entry.plan, options.contentBlocks) : undefined;
    this.entry = plan === entry.plan ? entry : { ...entry, plan };
    // What is written has memory of its own then.
    if (plan !== entry.plan) entry.plan.lease?.letGo();
    this.segments = options.capture || options.bytes ? [] : undefined;
  }

  onWrite(segment: Buffer): void {
    this.lastWriteMs = performance.now();
    this.firstWriteMs ??= this.lastWriteMs;
    const { segments } = this;
    if (!segments) return;
    // An object for each event of a paced answer would live as long as the answer: 1,000 streams, and collections of 10 ms.
    if (segments.length > 0 || !this.isNext(segment)) {
      if (segments.length === 0 && this.keptBytes > 0) segments.push(this.plan.bytes.subarray(0, this.keptBytes));
      segments.push(segment);
    }
    this.keptBytes += segment.length;
    // What is too long for memory isn't kept there: an answer that passes has any length.
    const { capture, bytes } = this.options;
    if (!capture && bytes && this.keptBytes > bytes.maxBytes) this.segments = undefined;
  }

  /** Whether these bytes are those of the plan that follow what was written. */
  private isNext({ buffer, byteOffset, length }: Buffer): boolean {
    const { bytes } = this.plan;
    const inside = this.keptBytes + length <= bytes.length;
    return inside && buffer === bytes.buffer && byteOffset === bytes.byteOffset + this.keptBytes;
  }

  private sent(segments: readonly Buffer[]): Buffer {
    const { bytes } = this.plan;
    if (segments.length === 0) return upTo(bytes, this.keptBytes);
    return segments.length === 1 && segments[0] ? segments[0] : Buffer.concat(segments);
  }

  onTeardown(): void {
    this.teardownMs = performance.now();
  }

  /** What the ledger says of the bytes is worked out now. */
  onRest(taken: boolean): void {
    const { plan, entry, options, segments } = this;
    if (options.capture) return;
    const lease = taken ? plan.lease : undefined;
    if (segments) options.bytes?.store(this.exchange, entry?.request?.raw ?? NO_BYTES, this.sent(segments), lease);
    this.segments = undefined;
    if (!entry || !options.wanted) {
      this.plan = withoutBytes(plan);
      this.entry = undefined;
      lease?.letGo();
      return;
    }
    const intent = this.intent();
    // Paragraphs are looked for in the bytes.
    if (intent.blocks > 0) return;
    // Written out: what is made by spreads has a hidden class of its own each time (300 bytes, measured).
    const { sha256: intended, bytes, inside, blocks, marks } = intent;
    const length = plan.bytes.length;
    const written = { bytes: length, sha256: length === bytes ? intended : hashOf(plan.bytes) };
    this.intended = { sha256: intended, bytes, inside, blocks, marks, written };
    this.plan = withoutBytes(plan);
    this.entry = withoutBody(entry, this.plan);
    lease?.letGo();
  }

  ended(end: ExchangeEnd, recorder: ExchangeRecorder): void {
    const { options, exchange } = this;
    const { wanted, capture, bytes, settleTimeoutMs: timeoutMs } = options;
    if (!wanted && !capture && !bytes) {
      if (end.goesOn && !end.came) this.plan.lease?.letGo();
      options.close(exchange);
      return;
    }
    const endMs = performance.now();
    const { flushedBytes, goesOn } = end;
    recorder.evidence({ flushedBytes, goesOn, timeoutMs }, (seen) => {
      try {
        this.settled(end, endMs, seen);
      } finally {
        options.close(exchange);
      }
    });
  }

  private settled(end: ExchangeEnd, endMs: number, seen: ExchangeEvidence): void {
    const { options, exchange, segments, entry } = this;
    const { capture, bytes } = options;
    const { came } = end;
    const lease = this.endedLease(end, seen);
    // What was stored when it came to rest may have been more than was sent.
    if (!segments) bytes?.trim(exchange, seen.bytes.flushed);
    else {
      const raw = entry?.request?.raw ?? NO_BYTES;
      const sent = upTo(this.sent(segments), seen.bytes.flushed);
      capture?.store(exchange, raw, sent, came?.upstreamBytes);
      bytes?.store(exchange, raw, sent, lease);
    }
    const now = came !== undefined || !this.later;
    if (entry && options.wanted) {
      options.settle(exchange, new OwedLedger(new SettledAccount(this, entry, end, endMs, seen), lease), now);
    } else lease?.letGo();
    options.onBytes?.(seen.bytes, lostOf(seen));
  }

  /**
   * Of bytes that nobody but the ledger looks at any more: the kernel has taken them all, and what a whole answer is
   * told by is its hash. Files are still being written.
   */
  private endedLease({ goesOn, came }: ExchangeEnd, seen: ExchangeEvidence): Lease | undefined {
    const whole = goesOn && !came && seen.bytes.written === this.plan.bytes.length;
    return whole && !this.options.capture ? this.plan.lease : undefined;
  }

  intent(): Intent {
    this.intended ??= intentOf(this.plan, this.options.contentBlocks);
    return this.intended;
  }
}

const NO_BYTES = Buffer.alloc(0);

/** Mostly that is all of them, and no view is needed. */
function upTo(bytes: Buffer, end: number): Buffer {
  return end >= bytes.length ? bytes : bytes.subarray(0, end);
}

/** The lease is gone as well: it holds the memory. */
function withoutBytes(plan: WirePlan): WirePlan {
  return { ...plan, bytes: NO_BYTES, lease: undefined };
}

function withoutBody(entry: Entry, plan: WirePlan): Entry {
  const { connection, onConnection, head, request, protocol, selection, generation, droppedLanes, exchange } = entry;
  return {
    connection,
    onConnection,
    head: head && headOf(head),
    request: undefined,
    body: request && bodyFactsOf(request.body),
    protocol,
    selection,
    generation,
    droppedLanes,
    exchange,
    state: entry.state,
    plan,
  };
}

function isKeyed(selection: Selection): boolean {
  return selection.kind === 'behavior' && selection.key !== undefined;
}
