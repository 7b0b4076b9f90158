import { z } from 'zod';
import { SELECTION_SOURCES } from '../fault/script.js';
import { EVIDENCE_SOURCES } from './counters.js';

/**
 * What the recorder saw of one exchange: one JSON line of the journal. The schema is published
 * (`wirefault journal --schema`); fields are added under the same version, a change of meaning raises it.
 */
export const LEDGER_VERSION = 1;

const bytes = z.int().min(0);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const endpoint = z.object({ address: z.string().nullable(), port: z.int().min(0).max(65_535).nullable() });
const level = z.enum(['flushed', 'acked', 'read']);

const byteCounts = z.object({
  written: bytes.describe('handed to the socket'),
  flushed: bytes.describe('taken by our kernel'),
  acked: bytes
    .nullable()
    .describe("acknowledged by the client's TCP; a lower bound where below flushed; null: unknown"),
  read: bytes.nullable().describe("taken out of its kernel by the client's program, same host only; null: unknown"),
});

/** What the upstream of a proxy did. */
const upstreamSchema = z.object({
  url: z.string().describe('as it was given to the proxy'),
  address: z.string().nullable().describe('that was connected to; null: none was'),
  reused: z.boolean().describe('the connection had been used before'),
  retried: z.boolean().describe('a kept connection had ended in the meantime, and a new one was made'),
  connectMs: z.number().min(0).nullable().describe('from the request until it was connected, TLS included'),
  ttfbMs: z.number().min(0).nullable().describe('from the request to its first byte'),
  status: z.int().nullable().describe('of its answer; null: there was none'),
  bytes: bytes.describe('of its answer, received'),
  sha256: sha256.nullable().describe('of those bytes'),
  end: z
    .enum(['kept', 'fin', 'reset', 'refused', 'unreachable', 'tls', 'timeout', 'dropped'])
    .describe('kept: for another exchange; dropped: by the proxy, which wanted no more; else what the upstream did'),
  error: z.string().nullable().describe('in words, where it failed'),
  buffered: z.string().nullable().describe('why the answer was kept whole before any of it was sent'),
  rewritten: z.boolean().describe('the client was sent other bytes than those of the upstream'),
  unmarkedEvents: bytes.describe('events that came behind as many as a ledger counts'),
});

export type UpstreamAccount = z.infer<typeof upstreamSchema>;

export const ledgerSchema = z.object({
  version: z.literal(LEDGER_VERSION),
  exchange: z.int().min(1).describe('counts from 1 over all connections'),
  connection: z.int().min(1).describe('counts from 1'),
  onConnection: z.int().min(0).describe('which exchange of its connection; 0: lost with its worker'),
  client: endpoint.describe('as the server saw it; null: the socket was gone already'),
  server: endpoint.describe('the address that the client connected to'),
  connectionOffset: bytes.describe('bytes sent on the connection before the first of this answer'),
  lane: z.string(),
  generation: z.int().min(1).describe('how often the scripts had been started'),
  attempt: z.int().min(1).describe('accepted requests of the lane, from 1'),
  evidence: z.enum(EVIDENCE_SOURCES).describe('where the byte counts come from'),
  request: z
    .object({
      method: z.string(),
      path: z.string(),
      protocol: z.string(),
      httpVersion: z.string(),
      headers: z.record(z.string(), z.string()).describe('keys redacted'),
      userAgent: z.string().nullable(),
      bodyBytes: bytes.nullable().describe('null: it was not read'),
      bodySha256: sha256.nullable(),
      marker: z.string().nullable().describe('NAME of the first wirefault:NAME in the body'),
    })
    .nullable()
    .describe('null: the fault came before it was looked at'),
  requestBytes: bytes.describe('read of a request that was not looked at'),
  selection: z.object({
    scripted: z.string().describe('the word in the script'),
    behavior: z.string().describe('what was played'),
    source: z.enum(SELECTION_SOURCES).describe('who chose it'),
    rule: z.string().nullable().describe("the rule's label, or its number"),
  }),
  key: z
    .object({
      name: z.string().describe('header:NAME or json:PATH'),
      value: z.string(),
      nth: z.int().min(1).describe('which request with this key'),
      delivered: bytes.describe('whole answers that clients with this key have got, this one included'),
    })
    .nullable()
    .describe('what made this request one with others (rules with a key)'),
  droppedLanes: bytes.describe('lanes that had been forgotten by then, since there were too many'),
  state: z
    .enum(['shared', 'local'])
    .optional()
    .describe('of several processes with one state: whether the fault was taken from it, or from its stand-in here'),
  plan: z.object({
    sha256,
    bytes: bytes.describe('the whole intended answer, before the cut'),
    writtenSha256: sha256.nullable().describe('of its first bytes.written bytes; null: keep-alives went beyond it'),
  }),
  cut: z.object({ position: z.string(), offset: bytes, inside: z.string().describe('what stands there') }).nullable(),
  bytes: byteCounts,
  lost: bytes.nullable().describe('written, but neither acknowledged nor read when the exchange ended; null: unknown'),
  stale: z.boolean().describe('acked and read are the last that were known: the socket went before it could be asked'),
  events: z
    .record(z.string(), z.object({ planned: bytes, flushed: bytes, acked: bytes.nullable(), read: bytes.nullable() }))
    .describe('by name: events whose last byte has the level'),
  terminal: z
    .object({ name: z.string(), delivered: z.boolean().nullable().describe('at the best level that is known') })
    .nullable(),
  blocks: z
    .object({
      told: bytes,
      delivered: bytes.describe('the last whole paragraph at the best level'),
      marks: z.array(z.string()).default([]).describe('of the told paragraphs, by which they are known anywhere'),
    })
    .nullable()
    .describe('numbered paragraphs (content blocks)'),
  settled: z
    .object({ level, reached: z.boolean(), waitedMs: z.number().min(0) })
    .nullable()
    .describe('the wait for evidence before a reset'),
  unapplied: z.array(z.string()).describe('layers of the fault that the answer had no place for'),
  replayed: z
    .object({
      recording: z.string(),
      by: z.enum(['fingerprint', 'order']).describe('how it was found for the request'),
    })
    .optional()
    .describe('what was answered from (--replay)'),
  upstream: upstreamSchema.optional().describe("a proxy's upstream; absent where none was asked"),
  teardown: z.object({
    kind: z.string().describe('rst, eof, stall or keep_alive; none: the plan was not played to its end'),
    first: z
      .enum(['server', 'client_fin', 'client_rst'])
      .nullable()
      .describe('who ended the connection first; null: open'),
  }),
  outcome: z.string(),
  times: z.object({
    requestAt: z.iso.datetime(),
    firstWriteMs: z.number().min(0).nullable().describe('from the request to the first write'),
    lastWriteMs: z.number().min(0).nullable().optional().describe('from the request to the last write'),
    clientEndMs: z
      .number()
      .min(0)
      .nullable()
      .optional()
      .describe("from the request to the client's FIN or RST; null: it had not come when the answer ended"),
    scale: z.number().describe('pauses were so many times shorter than planned (--time-scale)'),
    plannedWaitMs: z
      .number()
      .min(0)
      .describe('pauses of the plan in all, before the scale; of keep-alives for ever one'),
    endMs: z.number().min(0).describe('from the request to the end of the answer'),
    teardownMs: z.number().min(0).nullable().describe('from the request to a teardown of ours'),
  }),
});

export type Ledger = z.infer<typeof ledgerSchema>;

/** The published JSON Schema of one line of the journal. */
export function ledgerJsonSchema(): unknown {
  return z.toJSONSchema(ledgerSchema);
}
