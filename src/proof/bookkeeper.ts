import { LRUCache } from 'lru-cache';
import { WirefaultError } from '../errors.js';
import type { Selection } from '../fault/script.js';
import { type WirePlan, writtenPart } from '../fault/wire-plan.js';
import type { Request, RequestHead } from '../http/request.js';
import { type Intent, intentOf, ledgerOf, lostOf, rounded } from './account.js';
import type { ByteStore } from './byte-store.js';
import type { Capture } from './capture.js';
import type { EvidenceSource } from './counters.js';
import type { Journal } from './journal.js';
import type { Ledger, UpstreamAccount } from './ledger.js';
import type { ByteCounts, ExchangeEvidence, ExchangeRecorder } from './recorder.js';
import { once, shelf } from './shelf.js';

/**
 * Keeps the books: a ledger for each exchange, made when its evidence has settled, kept in memory, written to the
 * journal, and given to whoever waits for it.
 */
export interface Bookkeeper {
  /** The newest ledgers, in the order in which their exchanges were settled. */
  ledgers(): readonly Ledger[];
  /** Whether there will be ledgers. */
  readonly wanted: boolean;
  /** Whether the bytes of exchanges are stored in files. */
  readonly keepsBytes: boolean;
  /** Opens the books of an exchange whose request was accepted. */
  open(entry: Entry): OpenExchange;
  /** The ledger of exchange `number`, counted from 1, once it is settled. Rejects with `no_ledger` where none can come. */
  ledger(number: number): Promise<Ledger>;
  /** Every ledger from now on, as it is settled; ends when the books are closed. */
  follow(): AsyncIterableIterator<Ledger>;
  /** Resolves when no exchange is under way and every ledger is made and written. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export interface Entry {
  readonly connection: number;
  readonly onConnection: number;
  /** `undefined` where the fault came before it was read. */
  readonly head: RequestHead | undefined;
  /** `undefined` where it was not read whole. */
  readonly request: Request | undefined;
  /** Empty where it is not known. */
  readonly protocol: string;
  readonly selection: Selection;
  readonly generation: number;
  readonly droppedLanes: number;
  /** Its number, where exchanges of several processes are counted together. */
  readonly exchange?: number | undefined;
  /** Which state its fault was taken from, where there is a shared one. */
  readonly state?: 'shared' | 'local' | undefined;
  readonly plan: WirePlan;
  /** `undefined` where no upstream was asked. */
  readonly upstream?: undefined;
}

/** What an answer from somewhere else came to be, which isn't known before it has ended. */
export interface CameToBe {
  /** Without its bytes. */
  readonly plan: WirePlan;
  readonly intent: Intent;
  readonly upstream: UpstreamAccount;
  /** What the upstream sent, where bytes are kept. */
  readonly upstreamBytes?: readonly Buffer[];
}

export interface OpenExchange {
  /** The plan, whose bytes may end where nothing more is written. */
  readonly plan: WirePlan;
  onWrite(segment: Buffer): void;
  onTeardown(): void;
  /** The play has ended: the evidence is settled in the background. */
  ended(end: ExchangeEnd, recorder: ExchangeRecorder): void;
}

export interface ExchangeEnd {
  readonly outcome: string;
  readonly teardown: string;
  readonly flushedBytes: number;
  /** Nothing has ended the connection. */
  readonly goesOn: boolean;
  /** Read of a request that was not looked at. */
  readonly requestBytes: number;
  /** Instead of the plan that was given when the books were opened. */
  readonly came?: CameToBe | undefined;
}

export interface BookkeeperOptions {
  readonly evidence: EvidenceSource;
  /** Ledgers kept in memory; 0 for none. */
  readonly history: number;
  readonly redact: boolean;
  /** Whether answers are told in numbered paragraphs. */
  readonly contentBlocks: boolean;
  readonly settleTimeoutMs: number;
  readonly timeScale: number;
  readonly journal: Journal | undefined;
  readonly capture: Capture | undefined;
  /** The newest exchanges' bytes, where somebody may ask for them. */
  readonly bytes: ByteStore | undefined;
  /** Told of the bytes of each exchange, as it is settled. */
  onBytes?(bytes: ByteCounts, lost: number | null): void;
}

/** What a ledger is made of is kept up to this size until somebody asks for it; of what is longer it is made at once. */
const MAX_LATER_BYTES = 16_384;

/** As many as a rule remembers. */
const MAX_KEYS = 10_000;

export function bookkeeper(options: BookkeeperOptions): Bookkeeper {
  const { journal, capture, bytes, history } = options;
  const ledgers = shelf(history);
  const wanted = journal !== undefined || history > 0;
  const waiting = new Map<number, Waiting[]>();
  /** Exchanges that are under way, or whose evidence is. */
  const unsettled = new Set<number>();
  const followers = new Set<(ledger: Ledger | undefined) => void>();
  const idlers: (() => void)[] = [];
  let exchanges = 0;
  let closed = false;

  /** `make` is called at most once, and only where somebody wants the ledger. */
  function settle(exchange: number, make: () => Ledger): void {
    const ledger = once(make);
    if (history > 0) ledgers.put(exchange, ledger);
    journal?.append(JSON.stringify(ledger()));
    for (const { resolve } of waiting.get(exchange) ?? []) resolve(ledger());
    waiting.delete(exchange);
    for (const follower of followers) follower(ledger());
  }

  /** Whole answers by key: the newest keys. */
  const delivered = new LRUCache<string, number>({ max: MAX_KEYS });
  function countDelivered(key: string, whole: boolean): number {
    const count = (delivered.get(key) ?? 0) + (whole ? 1 : 0);
    delivered.set(key, count);
    return count;
  }

  function closeOne(exchange: number): void {
    unsettled.delete(exchange);
    if (unsettled.size === 0) for (const resolve of idlers.splice(0)) resolve();
  }

  /** Why the ledger of an exchange will never come, where that is known. */
  function neverComes(exchange: number): string | undefined {
    if (!wanted) return 'no ledgers are kept (ledgerHistory is 0, and there is no journal)';
    if (exchange <= exchanges && !unsettled.has(exchange)) return `only the newest ${history} are kept (ledgerHistory)`;
    return closed ? 'the server was closed before it' : undefined;
  }

  async function idle(): Promise<void> {
    while (unsettled.size > 0) await new Promise<void>((resolve) => idlers.push(resolve));
    await Promise.all([journal?.flush(), capture?.flush()]);
  }

  function open(entry: Entry): OpenExchange {
    const exchange = entry.exchange ?? exchanges + 1;
    exchanges = Math.max(exchanges, exchange);
    unsettled.add(exchange);
    const requestAtMs = Date.now();
    const startMs = performance.now();
    const plan = writtenPart(entry.plan);
    const { connection, onConnection, head, request, protocol, selection, generation, droppedLanes, state } = entry;
    const size = plan.bytes.length + (request?.body.length ?? 0);
    // The bytes of the plan that aren't written aren't kept, and keyed answers are counted as they settle.
    const later = plan === entry.plan && size <= MAX_LATER_BYTES && !isKeyed(selection);
    const intended = wanted && !later ? intentOf(entry.plan, options.contentBlocks) : undefined;
    let segments: Buffer[] | undefined = capture || bytes ? [] : undefined;
    let keptBytes = 0;
    let firstWriteMs: number | undefined;
    let lastWriteMs: number | undefined;
    let teardownMs: number | undefined;
    const sinceStart = (ms: number | undefined): number | null =>
      ms === undefined ? null : Math.max(0, rounded(ms - startMs));

    function settled(end: ExchangeEnd, endMs: number, seen: ExchangeEvidence): void {
      const { came } = end;
      const make = (): Ledger => {
        const times = {
          requestAt: new Date(requestAtMs).toISOString(),
          firstWriteMs: sinceStart(firstWriteMs),
          lastWriteMs: sinceStart(lastWriteMs),
          endMs: Math.max(0, rounded(endMs - startMs)),
          clientEndMs: sinceStart(seen.clientEndAtMs),
          teardownMs: sinceStart(teardownMs),
        };
        const { outcome, teardown, requestBytes } = end;
        return ledgerOf({
          exchange,
          connection,
          onConnection,
          evidence: options.evidence,
          head,
          request,
          requestBytes,
          protocol,
          timeScale: options.timeScale,
          selection,
          generation,
          droppedLanes,
          state,
          countDelivered,
          plan: came?.plan ?? plan,
          intent: came?.intent ?? intended ?? intentOf(plan, options.contentBlocks),
          upstream: came?.upstream,
          seen,
          outcome,
          teardown,
          redact: options.redact,
          times,
        });
      };
      if (wanted) settle(exchange, came || !later ? constant(make()) : make);
      options.onBytes?.(seen.bytes, lostOf(seen));
      if (!segments) return;
      const raw = request?.raw ?? NO_BYTES;
      const all = segments.length === 1 && segments[0] ? segments[0] : Buffer.concat(segments);
      const sent = all.subarray(0, seen.bytes.flushed);
      capture?.store(exchange, raw, sent, came?.upstreamBytes);
      bytes?.store(exchange, raw, sent);
    }

    return {
      plan,
      onWrite: (segment) => {
        lastWriteMs = performance.now();
        firstWriteMs ??= lastWriteMs;
        keptBytes += segment.length;
        // What is too long for memory isn't kept there: an answer that passes has any length.
        if (!capture && bytes && keptBytes > bytes.maxBytes) segments = undefined;
        segments?.push(segment);
      },
      onTeardown: () => {
        teardownMs = performance.now();
      },
      ended: (end, recorder) => {
        if (!wanted && !capture && !bytes) {
          closeOne(exchange);
          return;
        }
        const endMs = performance.now();
        const { flushedBytes, goesOn } = end;
        recorder.evidence({ flushedBytes, goesOn, timeoutMs: options.settleTimeoutMs }, (seen) => {
          try {
            settled(end, endMs, seen);
          } finally {
            closeOne(exchange);
          }
        });
      },
    };
  }

  return {
    ledgers: ledgers.all,
    wanted,
    keepsBytes: capture !== undefined,
    open,
    ledger: (number) => {
      const known = ledgers.find(number);
      if (known) return Promise.resolve(known);
      const never = neverComes(number);
      if (never) return Promise.reject(noLedger(number, never));
      return new Promise((resolve, reject) => {
        waiting.set(number, [...(waiting.get(number) ?? []), { resolve, reject }]);
      });
    },
    follow: () => follow(closed ? undefined : followers),
    idle,
    close: async () => {
      await idle();
      closed = true;
      for (const [number, all] of waiting) {
        for (const { reject } of all) reject(noLedger(number, 'the server was closed before it'));
      }
      waiting.clear();
      for (const follower of followers) follower(undefined);
      await journal?.close();
    },
  };
}

const NO_BYTES = Buffer.alloc(0);

function constant<T>(value: T): () => T {
  return () => value;
}

function isKeyed(selection: Selection): boolean {
  return selection.kind === 'behavior' && selection.key !== undefined;
}

interface Waiting {
  resolve(ledger: Ledger): void;
  reject(error: WirefaultError): void;
}

function noLedger(exchange: number, why: string): WirefaultError {
  return new WirefaultError('no_ledger', `exchange ${exchange} has no ledger: ${why}`);
}

/** Follows from this moment on, not from the first time that it is asked for a ledger; nobody after the end. */
function follow(followers: Set<(ledger: Ledger | undefined) => void> | undefined): AsyncIterableIterator<Ledger> {
  const queue: (Ledger | undefined)[] = followers ? [] : [undefined];
  let wake: (() => void) | undefined;
  const follower = (ledger: Ledger | undefined): void => {
    queue.push(ledger);
    wake?.();
  };
  followers?.add(follower);
  return drained();

  async function* drained(): AsyncGenerator<Ledger, void, undefined> {
    try {
      while (true) {
        while (queue.length === 0) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        const ledger = queue.shift();
        if (!ledger) return;
        yield ledger;
      }
    } finally {
      followers?.delete(follower);
    }
  }
}
