import type { Redis } from 'ioredis';
import { messageOf } from '../errors.js';
import type { Journal } from '../proof/journal.js';

/** Ledgers as entries of a Redis stream, beside the journal in a file. It holds up nothing: what can't be sent is lost, and counted. */
export interface StreamJournalOptions {
  readonly client: Redis;
  readonly key: string;
  /** The server in its group, told with each ledger. */
  readonly instance: number;
  /** Entries that the stream keeps, about. */
  readonly maxEntries: number;
  onLost(reason: string, lostLines: number): void;
}

/** Entries under way; beyond that Redis is slower than the exchanges are. */
const MAX_UNDER_WAY = 10_000;

export function streamJournal({ client, key, instance, maxEntries, onLost }: StreamJournalOptions): Journal {
  const underWay = new Set<Promise<void>>();
  let lostLines = 0;
  let reason = '';

  function lose(why: string): void {
    lostLines++;
    reason = `stream ${key}: ${why}`;
    if (lostLines === 1) onLost(reason, lostLines);
  }

  async function send(line: string): Promise<void> {
    try {
      await client.xadd(key, 'MAXLEN', '~', maxEntries, '*', 'instance', instance, 'ledger', line);
    } catch (thrown) {
      lose(messageOf(thrown));
    }
  }

  const flush = async (): Promise<void> => {
    while (underWay.size > 0) await Promise.all(underWay);
  };
  return {
    append: (line) => {
      if (underWay.size >= MAX_UNDER_WAY) {
        lose('Redis is slower than the journal');
        return;
      }
      const sending = send(line.toString());
      underWay.add(sending);
      void sending.finally(() => underWay.delete(sending));
    },
    flush,
    close: async () => {
      await flush();
      if (lostLines > 0) onLost(reason, lostLines);
    },
  };
}
