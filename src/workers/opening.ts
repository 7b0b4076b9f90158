import type { ServerEvent } from '../events.js';
import { listen } from '../net/listener.js';
import type { ResolvedOptions } from '../options.js';
import { type Journal, journals, openJournal } from '../proof/journal.js';

/** What there is one of for all workers, and is opened before the first of them. */

export async function freePort(host: string): Promise<number> {
  const hooks = {
    onBound: () => {},
    onConnection: () => {},
    onWindow: () => {},
    onListening: () => {},
    onLost: () => {},
  };
  const listener = await listen({ host, port: 0, refuseFirstMs: 0 }, hooks);
  await listener.close();
  return listener.port;
}

export async function openJournals(
  { journal: path, journalMaxBytes: maxBytes }: ResolvedOptions,
  stream: Journal | undefined,
  emit: (event: ServerEvent) => void,
): Promise<Journal | undefined> {
  const onLost = (reason: string, lostLines: number): void => emit({ type: 'journal_failed', reason, lostLines });
  const file = path === undefined ? undefined : await openJournal({ path, maxBytes, onLost });
  return journals([...(file ? [file] : []), ...(stream ? [stream] : [])]);
}
