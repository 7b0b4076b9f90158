import type { ScriptWord } from '../../src/fault/word.js';
import type { FaultServerOptions } from '../../src/index.js';
import type { Ledger } from '../../src/proof/ledger.js';
import type { Protocol } from '../../src/sse/dialect.js';
import { type Served, serve } from './server.js';
import { PATHS } from './verdicts.js';
import { post, type WireEnd, type Witness, witness } from './witness.js';

/** One exchange with a server of its own, as a raw witness saw it and as the ledger tells it. */
export interface SeenExchange {
  readonly bytes: Buffer;
  /** As they were read, one after the other. */
  readonly reads: readonly Buffer[];
  readonly end: WireEnd | 'open';
  readonly ledger: Ledger;
}

export interface Exchanging {
  readonly protocol: Protocol;
  readonly stream: boolean;
  readonly options?: FaultServerOptions;
  /** Of the request. By itself it says close, so that a healthy end is a FIN. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The connection stays open: resolves when all has come that shall. */
  readonly open?: (client: Witness, server: Served) => Promise<unknown>;
}

export function bodyOf({ protocol, stream }: Pick<Exchanging, 'protocol' | 'stream'>): Record<string, unknown> {
  const limits = protocol === 'openai-responses' ? { max_output_tokens: 77 } : { max_tokens: 77 };
  return { stream, model: 'mock-model', ...limits };
}

export function requestOf(exchanging: Exchanging): string {
  const { protocol, headers = { Connection: 'close' } } = exchanging;
  return post(PATHS[protocol], bodyOf(exchanging), headers);
}

export async function exchanged(word: ScriptWord, exchanging: Exchanging): Promise<SeenExchange> {
  const { options, open } = exchanging;
  const delays = { chunkDelayMs: 1, keepaliveMs: 1, disconnectDelayMs: 20 };
  const server = await serve({ sequence: [word], ...delays, ...options });
  const client = witness(server.port);
  client.send(requestOf(exchanging));
  if (open) await open(client, server);
  const end = open ? 'open' : await client.ended;
  const bytes = client.received;
  client.close();
  return { bytes, reads: client.reads, end, ledger: await server.ledger(1) };
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
