import { setTimeout as delay } from 'node:timers/promises';
import { post, type WireEnd, witness } from '../../support/witness.js';

/** What a raw client saw of one answer. */
export interface Seen {
  readonly bytes: Buffer;
  /** How many bytes there were after each read. */
  readonly reads: readonly number[];
  readonly end: WireEnd | 'open';
}

export const PATH = '/v1/chat/completions';

/** The request of a case, which its lane is named after. */
export const CASE_HEADER = 'x-case';

function request(id: string): string {
  return post(PATH, '', { [CASE_HEADER]: id, Connection: 'close' });
}

/** An answer that stays open has nothing to say, and no end, for so long. */
const STILL_OPEN_MS = 20;

/** Asks for a case, until the connection ends or, of one that stays open, until `wanted` bytes have come. */
export async function see(port: number, id: string, wanted?: (received: Buffer) => boolean): Promise<Seen> {
  const client = witness(port);
  const reads: number[] = [];
  const open = client.until((received) => {
    if (received.length > (reads.at(-1) ?? 0)) reads.push(received.length);
    return wanted?.(received) ?? false;
  });
  client.send(request(id));
  const still = open.then(
    () => delay(STILL_OPEN_MS, 'open' as const),
    () => client.ended,
  );
  const end = await Promise.race([still, client.ended]);
  client.close();
  return { bytes: client.received, reads, end };
}

/** Two sends that were read as one are nobody's fault: a busy machine reads late. Never is one send read as two. */
const TRIES = 3;

/** Looks again while `good` doesn't hold. */
export async function seeUntil(look: () => Promise<Seen>, good: (seen: Seen) => boolean): Promise<Seen> {
  let seen = await look();
  for (let tries = 1; tries < TRIES && !good(seen); tries++) seen = await look();
  return seen;
}

/** `work` for each item, some at a time. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>, atOnce = 12): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
