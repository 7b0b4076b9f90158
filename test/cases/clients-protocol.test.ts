import { describe, expect, it } from 'vitest';
import { catalogueWith } from '../../src/fault/own-behaviors.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import type { FaultServerOptions } from '../../src/index.js';
import { isObject } from '../../src/sse/dialect.js';
import { PARTIAL, TEXT } from '../clients/support/sdk.js';
import { type Served, serve } from '../support/server.js';
import { OUTCOMES } from './outcomes-protocol.js';
import { caseOptions } from './support/case-server.js';
import { classify } from './support/classify-protocol.js';
import { CLIENTS, type ClientName } from './support/clients-protocol.js';
import { RETRYING, type RetryingClient, retried, type Told, together, wakes } from './support/retries-protocol.js';

/** What clients from npm do with the cases B29 to B56, held against the table. Pauses of clients are not waited for. */

/** OpenAI's own Chat for all clients: by themselves some would get DeepSeek's, for their model. */
const SAME = { chatVariant: 'openai', repeatLast: true } as const satisfies FaultServerOptions;

/** For a stream that stays open: time for a client to tell what it has, before this test ends it. */
const HELD_MS = 500;

function isClient(name: string): name is ClientName {
  return Object.hasOwn(CLIENTS, name);
}

function isRetrying(name: string): name is RetryingClient {
  return Object.hasOwn(RETRYING, name);
}

function faultOf({ behaviors = {} }: FaultServerOptions, variant: string): FaultSpec {
  return catalogueWith(behaviors).catalogue.get(variant)?.fault ?? {};
}

/** The text that a variant's answer has in it. */
function sentBy({ answer }: FaultSpec): string {
  if (answer?.kind === 'events') return 'mock held';
  if (answer?.kind !== 'turn') return TEXT;
  return answer.turn.say ?? (answer.turn.text === 'partial' ? PARTIAL : TEXT);
}

function asksForUsage({ requests: [request] }: Served): boolean {
  const { stream_options: options } = isObject(request?.body) ? request.body : {};
  return isObject(options) && options.include_usage === true;
}

async function didWith(id: string, variant: string, client: ClientName): Promise<string> {
  const options = await caseOptions(id);
  const server = await serve({ ...options, ...SAME, sequence: [variant] });
  const held = variant.endsWith('_held');
  if (held) setTimeout(() => server.close(), HELD_MS);
  const seen = await CLIENTS[client](server);
  const usageSent = id === 'B50' || asksForUsage(server);
  const sent = sentBy(faultOf(options, variant));
  return classify({ seen, sent, usageSent, held, requests: server.requests.length });
}

/** What the headers of a variant tell a client to wait. */
function toldBy({ head }: FaultSpec): Told {
  const [name, value = ''] = head?.set?.[0] ?? [];
  if (name === 'retry-after-ms') return { ms: Number(value), dated: false };
  if (name !== 'Retry-After') return { ms: undefined, dated: false };
  const laterMs = /^\{date\+(\d+)ms\}$/.exec(value)?.[1];
  if (laterMs !== undefined) return { ms: Number(laterMs), dated: true };
  if (/^-?[\d.]+$/.test(value)) return { ms: Number(value) * 1000, dated: false };
  const date = Date.parse(value);
  return Number.isNaN(date) ? { ms: undefined, dated: false } : { ms: date - Date.now(), dated: true };
}

const AT_ONCE = 8;

async function retriedWith(id: string, variant: string, client: RetryingClient): Promise<string> {
  const options = await caseOptions(id);
  const start = (): Promise<Served> => serve({ ...options, ...SAME, sequence: [variant, 'success'] });
  if (variant === 'unread') {
    const { sequence = [] } = options.lanes?.unread ?? {};
    const server = await serve({ ...options, ...SAME, sequence });
    const did = await together(client, server, AT_ONCE);
    expect(server.requests.length).toBe(2 * AT_ONCE);
    return did;
  }
  const server = await start();
  const did = await retried(client, server, toldBy(faultOf(options, variant)));
  expect(server.requests.length).toBe(did.startsWith('does not ask again') ? 1 : 2);
  if (!variant.endsWith('_days')) return did;
  const woken = await wakes(client, await start());
  return woken === undefined ? did : `${did}; an abort ${woken ? 'wakes' : 'does not wake'} it`;
}

describe.each(Object.entries(OUTCOMES))('%s', (id, rows) => {
  it('the table has each variant of the scenario, and each client once for it', async () => {
    const options = await caseOptions(id);
    expect(new Set(rows.map(({ variant }) => variant))).toEqual(new Set(Object.keys(options.behaviors ?? {})));
    expect(new Set(rows.map(({ variant, client }) => `${variant}: ${client}`)).size).toBe(rows.length);
  });

  it.each(rows)('$variant: $client', async ({ variant, client, does }) => {
    if (id === 'B56' && isRetrying(client)) expect(await retriedWith(id, variant, client)).toBe(does);
    else if (isClient(client)) expect(await didWith(id, variant, client)).toBe(does);
    else throw new Error(`no such client: ${client}`);
  });
});
