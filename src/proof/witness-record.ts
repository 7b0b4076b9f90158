import { createHash } from 'node:crypto';
import { z } from 'zod';
import { WirefaultError } from '../errors.js';
import type { Endpoint } from './endpoints.js';

/**
 * What a witness saw, and its file: JSON lines.
 *
 *   {"version":1,"url":…,"local":{"address":…,"port":…},"remote":{…},"requestSha256":…,"halfClose":false,"startedAt":…}
 *   {"atMs":3.1,"base64":"SFRUUC8xLjEg…"}                    one for each read, in order
 *   {"end":"rst","stopped":false,"atMs":42.7,"bytes":812,"sha256":…}   of all bytes together
 */
export const WITNESS_ENDS = ['fin', 'rst', 'timeout', 'refused', 'closed'] as const;
/**
 * `fin`, `rst`: what the server did. `timeout`, `closed`: the witness itself went, at its time limit or when it was
 * told to. `refused`: there was no connection.
 */
export type WitnessEnd = (typeof WITNESS_ENDS)[number];

export interface WitnessSegment {
  /** From the start. */
  readonly atMs: number;
  readonly bytes: Buffer;
}

export interface WitnessRecord {
  readonly url: string;
  /** The witness's own end of the connection; null where there was none. */
  readonly local: Endpoint;
  readonly remote: Endpoint;
  /** Of the request's bytes. */
  readonly requestSha256: string;
  /** The sending side was shut after the request. */
  readonly halfClose: boolean;
  /** It wasn't reading when it ended (a pause, a slow reader): what had come by then it doesn't know. */
  readonly stopped: boolean;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly segments: readonly WitnessSegment[];
  readonly end: WitnessEnd;
  /** The end, from the start. */
  readonly atMs: number;
}

const VERSION = 1;
const endpointSchema = z.object({ address: z.string().nullable(), port: z.int().min(0).max(65_535).nullable() });
const headerSchema = z.object({
  version: z.literal(VERSION),
  url: z.string(),
  local: endpointSchema,
  remote: endpointSchema,
  requestSha256: z.string(),
  halfClose: z.boolean(),
  startedAt: z.iso.datetime(),
});
const segmentSchema = z.object({ atMs: z.number(), base64: z.base64() });
const endSchema = z.object({
  end: z.enum(WITNESS_ENDS),
  stopped: z.boolean(),
  atMs: z.number(),
  bytes: z.int().min(0),
  sha256: z.string(),
});

export function receivedBytes(record: WitnessRecord): Buffer {
  return Buffer.concat(record.segments.map(({ bytes }) => bytes));
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function witnessFile(record: WitnessRecord): string {
  const { segments, end, stopped, atMs, ...header } = record;
  const bytes = receivedBytes(record);
  return [
    { version: VERSION, ...header },
    ...segments.map((segment) => ({ atMs: segment.atMs, base64: segment.bytes.toString('base64') })),
    { end, stopped, atMs, bytes: bytes.length, sha256: sha256(bytes) },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
}

/**
 * @param name of the file, for the message
 * @throws WirefaultError `bad_evidence` where it isn't a whole witness file, or its bytes aren't those of its last line
 */
export function readWitness(text: string, name: string): WitnessRecord {
  const lines = text.trimEnd().split('\n');
  const parsed = <T>(schema: z.ZodType<T>, line: string | undefined, number: number): T => {
    const result = schema.safeParse(jsonOf(line));
    if (result.success) return result.data;
    throw new WirefaultError('bad_evidence', `${name}:${number}: not a line of a witness file`);
  };
  const { version: _, ...header } = parsed(headerSchema, lines[0], 1);
  const segments = lines.slice(1, -1).map((line, n) => {
    const { atMs, base64 } = parsed(segmentSchema, line, n + 2);
    return { atMs, bytes: Buffer.from(base64, 'base64') };
  });
  const { bytes, sha256: told, ...end } = parsed(endSchema, lines.length > 1 ? lines.at(-1) : undefined, lines.length);
  const record = { ...header, segments, ...end };
  const received = receivedBytes(record);
  if (received.length !== bytes || sha256(received) !== told) {
    throw new WirefaultError('bad_evidence', `${name}: its bytes are not those that its last line tells of`);
  }
  return record;
}

function jsonOf(line: string | undefined): unknown {
  try {
    return JSON.parse(line ?? '');
  } catch {
    return undefined;
  }
}
