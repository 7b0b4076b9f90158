import { LRUCache } from 'lru-cache';
import { WirefaultError } from '../errors.js';
import type { Selection } from '../fault/script.js';
import type { WirePlan } from '../fault/wire-plan.js';
import type { Request, RequestHead } from '../http/request.js';
import { type Intent, intentOf, ledgerOf, rounded } from './account.js';
import type { ByteStore } from './byte-store.js';
import type { Capture } from './capture.js';
import type { EvidenceSource } from './counters.js';
import type { Journal } from './journal.js';
import type { Ledger, UpstreamAccount } from './ledger.js';
import type { ExchangeRecorder } from './recorder.js';

/**
 * Keeps the books: a ledger for each exchange, made when its evidence has settled, kept in memory, written to the
 * journal, and given to whoever waits for it.
 */
export interface Bookkeeper {
  /** The newest ledgers, in the order in which their exchanges were settled. */
  readonly ledgers: readonly Ledger[];
  /** Whether there will be ledgers. */
  readonly wanted: boolean;
  /** Whether the bytes of exchanges are stored in files. */
  readonly keepsBytes: boolean;
  /** What the ledger says of the whole plan, where a ledger is wanted; so the plan itself needn't be kept. */
  intentOf(plan: WirePlan): Intent | undefined;
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
  /** Its bytes may end where nothing more is written. */
  readonly plan: WirePlan;
  readonly intent: Intent | undefined;
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
  onWrite(segment: Buffer): void;
  onTeardown(): void;
  /** The play has ended: the evidence is settled in the background. */
  ended(
    end: {
      readonly outcome: string;
      readonly teardown: string;
      readonly flushedBytes: number;
      /** Read of a request that was not looked at. */
      readonly requestBytes: number;
      /** Instead of the plan that was given when the books were opened. */
      readonly came?: CameToBe | undefined;
    },
    recorder: ExchangeRecorder,
  ): void;
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
  /** Told of each ledger, as it is settled. */
  onLedger?(ledger: Ledger): void;
}

/** As many as a rule remembers. */
const MAX_KEYS = 10_000;

export function bookkeeper(options: BookkeeperOptions): Bookkeeper {
  const { journal, capture, bytes, history } = options;
  const ledgers: Ledger[] = [];
  const wanted = journal !== undefined || history > 0;
  const waiting = new Map<number, Waiting[]>();
  /** Exchanges that are under way, or whose evidence is. */
  const unsettled = new Set<number>();
  const followers = new Set<(ledger: Ledger | undefined) => void>();
  const idlers: (() => void)[] = [];
  let exchanges = 0;
  let closed = false;

  function settle(ledger: Ledger): void {
    if (history > 0) ledgers.push(ledger);
    if (ledgers.length > history) ledgers.shift();
    journal?.append(JSON.stringify(ledger));
    options.onLedger?.(ledger);
    for (const { resolve } of waiting.get(ledger.exchange) ?? []) resolve(ledger);
    waiting.delete(ledger.exchange);
    for (const follower of followers) follower(ledger);
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

  return {
    ledgers,
    wanted,
    keepsBytes: capture !== undefined,
    intentOf: (plan) => (wanted ? intentOf(plan, options.contentBlocks) : undefined),
    open: (entry) => {
      const exchange = ++exchanges;
      unsettled.add(exchange);
      const requestAt = new Date();
      const startMs = performance.now();
      let segments: Buffer[] | undefined = capture || bytes ? [] : undefined;
      let keptBytes = 0;
      let firstWriteMs: number | null = null;
      let teardownMs: number | null = null;
      const sinceStart = (): number => rounded(performance.now() - startMs);
      return {
        onWrite: (segment) => {
          firstWriteMs ??= sinceStart();
          keptBytes += segment.length;
          // What is too long for memory isn't kept there: an answer that passes has any length.
          if (!capture && bytes && keptBytes > bytes.maxBytes) segments = undefined;
          segments?.push(segment);
        },
        onTeardown: () => {
          teardownMs = sinceStart();
        },
        ended: async (end, recorder) => {
          const endMs = sinceStart();
          try {
            if (!wanted && !capture && !bytes) return;
            const seen = await recorder.evidence(end.flushedBytes, options.settleTimeoutMs);
            const times = { requestAt: requestAt.toISOString(), firstWriteMs, endMs, teardownMs };
            const { evidence, redact, timeScale } = options;
            const { came, ...ended } = end;
            const { plan, intent, upstream } = { ...entry, ...came };
            if (intent)
              settle(
                ledgerOf({
                  ...entry,
                  ...ended,
                  plan,
                  intent,
                  upstream,
                  exchange,
                  evidence,
                  redact,
                  timeScale,
                  countDelivered,
                  seen,
                  times,
                }),
              );
            if (!segments) return;
            const raw = entry.request?.raw ?? Buffer.alloc(0);
            const sent = Buffer.concat(segments).subarray(0, seen.bytes.flushed);
            capture?.store(exchange, raw, sent, came?.upstreamBytes);
            bytes?.store(exchange, raw, sent);
          } finally {
            closeOne(exchange);
          }
        },
      };
    },
    ledger: (number) => {
      const known = ledgers.find((ledger) => ledger.exchange === number);
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
