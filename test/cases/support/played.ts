import { onTestFinished } from 'vitest';
import type { Served } from '../../support/server.js';
import { post, type WireEnd, type Witness, witness, witnessed } from '../../support/witness.js';
import { caseServer } from './case-server.js';
import { notationOf } from './wire-notation.js';

/** A variant of a case, asked for by a raw client. */
export const CHAT = post('/v1/chat/completions', { model: 'mock', stream: true, messages: [] });
export const MESSAGES = post('/v1/messages', { model: 'mock', stream: true, max_tokens: 9, messages: [] });

export interface Played {
  readonly wire: string;
  readonly bytes: Buffer;
  readonly end: WireEnd;
}

/** Plays a variant to the end of its connection. */
export async function played(id: string, variant: string, request = CHAT): Promise<Played> {
  const server = await caseServer(id, { sequence: [variant] });
  const { bytes, end } = await witnessed(server.port, request);
  return { wire: notationOf(bytes), bytes, end };
}

/** A raw client that is closed at the end of the test. */
export function connect(server: Served): Witness {
  const client = witness(server.port);
  onTestFinished(() => client.close());
  return client;
}

const LAST = Buffer.from('\r\n0\r\n\r\n');

/** The last chunk has come, wherever in the answer. */
export function isWhole(received: Buffer): boolean {
  return received.subarray(-LAST.length).equals(LAST);
}

/**
 * Everything that came to the server before is dealt with: it reads what is there before it answers what comes later.
 * This request uses nothing of the script up.
 */
export async function caughtUp(server: Served): Promise<void> {
  const request = 'GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  for (let n = 0; n < 2; n++) await witnessed(server.port, request);
}

/** Whether the connection is still open, now. */
export async function isOpen(client: Witness): Promise<boolean> {
  return (await Promise.race([client.ended, Promise.resolve('open')])) === 'open';
}
