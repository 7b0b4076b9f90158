import { z } from 'zod';
import { PROTOCOLS } from '../sse/dialect.js';

/**
 * The directory of recordings, version 1 (docs/recordings.md): a folder for each exchange, `000001` and on, each with the
 * files below. A folder is put in its place as a whole, so that there is no half of one. Fields are added under the same
 * version, a change of meaning raises it.
 */
export const RECORDING_VERSION = 1;

export const FILES = {
  /** What is said of the exchange: `exchangeSchema`. */
  exchange: 'exchange.json',
  /** The request's bytes as the client sent them. */
  request: 'request.http',
  /** The answer's bytes as the upstream sent them, framing too. */
  answer: 'answer.http',
  /** The marks of the answer, one JSON object a line. */
  marks: 'marks.jsonl',
} as const;

/** Folders of exchanges; what is still being written has a dot before it. */
export const FOLDER = /^\d{6,}$/;
export const FOLDER_DIGITS = 6;

/**
 * How the upstream ended its answer. `whole`: as its framing says; `fin`, `reset`, `timeout`: in the middle of it, the
 * last by its silence; `dropped`: the proxy wanted no more; the others: before there was any.
 */
export const ENDS = ['whole', 'fin', 'reset', 'timeout', 'dropped', 'refused', 'unreachable', 'tls'] as const;
export type RecordedEnd = (typeof ENDS)[number];

const ms = z.number().min(0).max(2_147_483_647);

export const exchangeSchema = z.object({
  version: z.literal(RECORDING_VERSION),
  recordedAt: z.iso.datetime().describe('when the request went up'),
  dialect: z
    .enum(PROTOCOLS)
    .nullable()
    .describe('null: no request for an answer, but one beside them (a list of models)'),
  request: z.object({
    method: z.string(),
    path: z.string(),
    fingerprint: z
      .string()
      .optional()
      .describe('what makes requests one: of the protocol, the path and the body. Default: made of request.http'),
    stream: z.boolean().describe('whether a stream was asked for'),
  }),
  answer: z.object({
    status: z.int().nullable().describe('null: no head came'),
    bytes: z.int().min(0).describe('the length of answer.http'),
    segments: z
      .array(z.object({ atMs: ms, bytes: z.int().min(1) }))
      .optional()
      .describe('the answer as it came: from the request to the segment, and its bytes. Default: all of it at once'),
    end: z.enum(ENDS),
    endMs: ms.optional().describe('from the request to the end. Default: with the last segment'),
  }),
  redacted: z.array(z.string()).nullable().describe('what was replaced by as many asterisks; null: nothing was to be'),
});

export type RecordedExchangeData = z.infer<typeof exchangeSchema>;
export type Segment = NonNullable<RecordedExchangeData['answer']['segments']>[number];
