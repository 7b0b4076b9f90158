import { z } from 'zod';
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

export const ledgerSchema = z.object({
  version: z.literal(LEDGER_VERSION),
  exchange: z.int().min(1).describe('counts from 1 over all connections'),
  connection: z.int().min(1).describe('counts from 1'),
  onConnection: z.int().min(1).describe('which exchange of its connection'),
  client: endpoint.describe('as the server saw it; null: the socket was gone already'),
  server: endpoint.describe('the address that the client connected to'),
  connectionOffset: bytes.describe('bytes sent on the connection before the first of this answer'),
  lane: z.string(),
  attempt: z.int().min(1).describe('accepted requests of the lane, from 1'),
  evidence: z.enum(EVIDENCE_SOURCES).describe('where the byte counts come from'),
  request: z.object({
    method: z.string(),
    path: z.string(),
    protocol: z.string(),
    httpVersion: z.string(),
    headers: z.record(z.string(), z.string()).describe('keys redacted'),
    userAgent: z.string().nullable(),
    bodyBytes: bytes,
    bodySha256: sha256,
    marker: z.string().nullable().describe('NAME of the first wirefault:NAME in the body'),
  }),
  selection: z.object({
    scripted: z.string().describe('the word in the script'),
    behavior: z.string().describe('what was played'),
    source: z.enum(['script']),
  }),
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
    .object({ told: bytes, delivered: bytes.describe('the last whole paragraph at the best level') })
    .nullable()
    .describe('numbered paragraphs (content blocks)'),
  settled: z
    .object({ level, reached: z.boolean(), waitedMs: z.number().min(0) })
    .nullable()
    .describe('the wait for evidence before a reset'),
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
    endMs: z.number().min(0).describe('from the request to the end of the answer'),
    teardownMs: z.number().min(0).nullable().describe('from the request to a teardown of ours'),
  }),
});

export type Ledger = z.infer<typeof ledgerSchema>;

/** The published JSON Schema of one line of the journal. */
export function ledgerJsonSchema(): unknown {
  return z.toJSONSchema(ledgerSchema);
}
