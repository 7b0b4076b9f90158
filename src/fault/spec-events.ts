import { z } from 'zod';
import { ODD_EVENTS, ROLES } from '../sse/dialect.js';

/** Changes to the list of a stream's events. */

export const rawEventSchema = z
  .strictObject({
    event: z.string().optional().describe('the event line'),
    data: z
      .union([z.string(), z.record(z.string(), z.json()), z.array(z.json())])
      .optional()
      .describe('the data line as text, or JSON that is written as one; line breaks make several lines'),
    comment: z.string().optional().describe('a comment line before the fields'),
    commentBytes: z.int().min(1).max(67_108_864).optional().describe('a comment line of so many x'),
    id: z.string().optional(),
    retry: z.string().optional(),
    raw: z.string().optional().describe('all of its text, line ends included; nothing else of it is sent'),
    name: z.string().optional().describe('how positions and ledgers call it. Default: the event line, or extra'),
    role: z.enum(ROLES).optional().describe('Default extra'),
  })
  .readonly()
  .describe('an event as it is written');

export type RawEvent = z.infer<typeof rawEventSchema>;

const newEvent = z
  .union([z.enum(ODD_EVENTS), rawEventSchema])
  .describe("an event that the dialect knows by what's odd about it, or any event as it is written");
export type NewEvent = z.infer<typeof newEvent>;

const where = z
  .strictObject({
    role: z.union([z.enum(ROLES), z.array(z.enum(ROLES)).readonly()]).optional(),
    name: z.string().optional().describe("the event's name in its dialect"),
    nth: z
      .int()
      .refine((n) => n !== 0, { error: 'counts from 1, or from -1 backwards' })
      .optional()
      .describe('which of those, from 1, or from -1 backwards. Default: all of them'),
  })
  .readonly()
  .describe('which events');
export type Where = z.infer<typeof where>;

export const eventEditSchema = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('keep'), where }).readonly(),
  z.strictObject({ op: z.literal('omit'), where }).readonly(),
  z.strictObject({ op: z.literal('duplicate'), where, times: z.int().min(1).max(100_000).optional() }).readonly(),
  z
    .strictObject({ op: z.literal('move'), where, before: where.optional(), after: where.optional() })
    .readonly()
    .describe('to the place before the first or after the last of some others; to the end without either'),
  z.strictObject({ op: z.literal('replace'), where, event: newEvent }).readonly(),
  z
    .strictObject({
      op: z.literal('patch'),
      where,
      path: z.string().describe('a place in the JSON of the data: choices[0].delta.content'),
      value: z.json().optional().describe('what stands there then; without it, nothing does'),
    })
    .readonly(),
  z
    .strictObject({
      op: z.literal('insert'),
      event: newEvent,
      before: where.optional(),
      after: where.optional(),
      times: z.union([z.int().min(0).max(100_000), z.literal('keepaliveCount')]).optional(),
    })
    .readonly()
    .describe('before the first or after the last of some others; at the end without either'),
  z
    .strictObject({ op: z.literal('end_after_deltas') })
    .readonly()
    .describe('drops what stands behind the last delta'),
  z
    .strictObject({ op: z.literal('end_after_half') })
    .readonly()
    .describe('drops what stands behind half of the deltas'),
]);

export type EventEdit = z.infer<typeof eventEditSchema>;
