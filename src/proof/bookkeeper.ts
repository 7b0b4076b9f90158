import { LRUCache } from 'lru-cache';
import { WirefaultError } from '../errors.js';
import type { Entry, ExchangeBooks, HowKept, OpenExchange } from './exchange-books.js';
import type { Journal } from './journal.js';
import type { Ledger } from './ledger.js';
import { openExchange } from './open-exchange.js';
import { type OwedLedger, WrittenLedger } from './owed-ledger.js';
import { shelf } from './shelf.js';

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

export interface BookkeeperOptions extends HowKept {
  /** Ledgers kept in memory; 0 for none. */
  readonly history: number;
  readonly journal: Journal | undefined;
}

/** As many as a rule remembers. */
const MAX_KEYS = 10_000;

export function bookkeeper(options: BookkeeperOptions): Bookkeeper {
  const { journal, capture, history } = options;
  const ledgers = shelf(history);
  const wanted = journal !== undefined || history > 0;
  const waiting = new Map<number, Waiting[]>();
  /** Exchanges that are under way, or whose evidence is. */
  const unsettled = new Set<number>();
  const followers = new Set<(ledger: Ledger | undefined) => void>();
  const idlers: (() => void)[] = [];
  let exchanges = 0;
  let closed = false;

  function settle(exchange: number, owed: OwedLedger, now: boolean): void {
    const waiters = waiting.get(exchange);
    // A line is cheaper than a ledger, but where there will be a ledger already it is made of that: a key is counted once.
    const made = (now && history > 0) || waiters !== undefined || followers.size > 0;
    if (made) owed.make();
    const line = journal && owed.line();
    if (line !== undefined) journal?.append(line);
    if (history > 0) ledgers.put(exchange, line === undefined || made ? owed : new WrittenLedger(line));
    if (waiters) {
      for (const { resolve } of waiters) resolve(owed.make());
      waiting.delete(exchange);
    }
    for (const follower of followers) follower(owed.make());
    if (history === 0) owed.drop();
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

  const kept: ExchangeBooks = { ...options, wanted, countDelivered, settle, close: closeOne };
  function open(entry: Entry): OpenExchange {
    const exchange = entry.exchange ?? exchanges + 1;
    exchanges = Math.max(exchanges, exchange);
    unsettled.add(exchange);
    return openExchange(exchange, entry, kept);
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
