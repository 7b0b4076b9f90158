import { expect, onTestFinished } from 'vitest';
import { TEXT } from '../../clients/support/sdk.js';
import type { Served } from '../../support/server.js';
import { caseServer } from './case-server.js';
import { classify, type Ran, run, type Sent } from './classify-connection.js';
import type { Ask, Client } from './clients-connection.js';
import { caughtUp } from './played.js';

/** The ways in which a client meets a variant of a case; each says in one line what it did. */

/** A client that doesn't end is ended after this; the time-out that can be set is shorter, and long enough for a head. */
const HANG_MS = 3000;
const TIMEOUT_MS = 1500;

export type Play = (id: string, variant: string, client: Client) => Promise<string>;

const asking = ({ baseURL }: Served): Omit<Ask, 'signal'> => ({ baseURL, prompt: 'hello' });

/** One call. */
export const once: Play = async (id, variant, client) => {
  const server = await caseServer(id, { sequence: [variant] });
  return classify(await run(client, asking(server)), { sent: TEXT });
};

/** Calls that hang start one after the other, so that on a busy machine too each has its head within the time-out. */
let turn: Promise<void> = Promise.resolve();

/** One call that never ends by itself. */
export const hanging: Play = async (id, variant, client) => {
  const server = await caseServer(id, { sequence: [variant] });
  const timeoutMs = client.timesOut ? TIMEOUT_MS : undefined;
  const before = turn;
  let onHead = (): void => {};
  turn = new Promise((resolve) => {
    onHead = resolve;
  });
  await before;
  const ran = await run(client, { ...asking(server), timeoutMs, onHead }, { hangMs: HANG_MS });
  return classify(ran, { sent: TEXT, timeoutMs });
};

/** One call that finds no server. */
export const refused: Play = async (id, variant, client) => {
  const server = await caseServer(id, { sequence: [variant, 'success'] });
  return classify(await run(client, asking(server)), { sent: TEXT });
};

/** A call that is answered, and one that follows it, in the tick of its end or when `then` has come. */
const following =
  (then: (server: Served) => Promise<unknown>): Play =>
  async (id, variant, client) => {
    const sequence = variant.endsWith('_last_byte') ? ['success', variant, 'success'] : [variant, 'success'];
    const server = await caseServer(id, { sequence });
    const first = await run(client, asking(server));
    expect(classify(first, { sent: TEXT })).toMatch(/^returns the whole text, finish \w+$/);
    await then(server);
    const second = await run(client, asking(server));
    return `${classify(second, { sent: TEXT })}${await where(server, second)}`;
  };

/** The client has its first connection back in its pool, and has seen whatever became of it so far. */
export const pooled = following(caughtUp);
export const atOnce = following(async () => {});
export const afterIdle = following(async (server) => {
  await server.event(({ type }) => type === 'idle_fault');
  await caughtUp(server);
});

/** On which connection an answer came. */
async function where(server: Served, { thrown, seen }: Ran): Promise<string> {
  if (thrown !== undefined || seen.errors.length > 0) return '';
  await server.idle();
  const answered = server.ledgers.filter(({ outcome }) => outcome === 'completed');
  return answered.at(-1)?.connection === answered[0]?.connection ? ' (same connection)' : ' (new connection)';
}

/** A request that is much larger than what the kernel takes. */
export const uploading: Play = async (id, variant, client) => {
  const server = await caseServer(id, { sequence: [variant] });
  return classify(await run(client, { ...asking(server), prompt: 'x'.repeat(16_777_216) }), { sent: TEXT });
};

/** A reader that is busy with the first piece until the connection is broken. */
export const busy: Play = async (id, variant, client) => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => {
    unhandled.push(error);
  };
  const server = await caseServer(id, { sequence: [variant] });
  process.on('unhandledRejection', note).on('uncaughtException', note);
  onTestFinished(() => {
    process.off('unhandledRejection', note).off('uncaughtException', note);
  });
  const between = async (): Promise<void> => {
    await server.results(1);
  };
  const did = classify(await run(client, { ...asking(server), between }), { sent: TEXT });
  return unhandled.length > 0 ? `${did}, and ${unhandled.length} errors that nobody handles` : did;
};

/**
 * The HTTP client below allows less than the pause, as its 300 s are less than 301. Its clock for such limits ticks about
 * twice a second (undici, lib/util/timers.js), so the pause is scaled to three.
 */
export const impatient: Play = async (id, variant, client) => {
  const server = await caseServer(id, { sequence: [variant], timeScale: 100 });
  const did = classify(await run(client, { ...asking(server), bodyTimeoutMs: 150 }), { sent: TEXT });
  return `${did} (its limit set below the pause)`;
};

export const patient: Play = async (id, variant, client) => {
  const server = await caseServer(id, { sequence: [variant], timeScale: 100 });
  return classify(await run(client, asking(server)), { sent: TEXT });
};

const LARGE: Readonly<Record<string, Sent>> = {
  kib_segments: /^\[1:\w{12}\] [\s\S]*\[10000:\w{12}\][a-z ]+\.$/,
  byte_segments: 'mock',
  burst: 'mock'.repeat(16_384),
};

export const large: Play = async (id, variant, client) => {
  const server = await caseServer(id, { sequence: [variant], timeScale: 2 });
  return classify(await run(client, asking(server)), { sent: LARGE[variant] ?? TEXT });
};
