import { z } from 'zod';
import { unknownWord } from '../errors.js';
import { encodingSchema, framingFormSchema, headFormSchema } from '../http/forms.js';
import { sseFormSchema } from '../sse/form.js';
import { POSITION_FORMS, POSITION_PATTERN, POSITIONS_PATTERN, type Position } from './position.js';
import { answerSchema } from './spec-answer.js';
import { eventEditSchema } from './spec-events.js';

/**
 * The fault language. A fault is plain data, layer by layer; a layer that isn't named is healthy, so `{}` is a healthy
 * answer. Each layer is touched without the others moving.
 */

/**
 * How a cut answer ends.
 *
 * | teardown | at the wire |
 * |---|---|
 * | `rst` | settle, then close with SO_LINGER 0: a true RST |
 * | `rst_now` | RST at once; what is lost by it is recorded |
 * | `fin` | close, without an end of the HTTP framing |
 * | `half_close` | the sending side is shut, the other is still read |
 * | `eof` | the HTTP framing ends correctly, the protocol does not; the connection stays usable |
 * | `stall` | open and silent until the client goes or the server stops |
 */
export const CUT_TEARDOWNS = ['rst', 'rst_now', 'fin', 'half_close', 'eof', 'stall'] as const;
export type CutTeardown = (typeof CUT_TEARDOWNS)[number];

/** How the connection ends; `keep_alive`: the answer was complete, and the next request is waited for. */
export type Teardown = CutTeardown | 'keep_alive';

/** Options that hold a time. */
const DURATION_OPTIONS = ['chunkDelayMs', 'disconnectDelayMs', 'keepaliveMs', 'listenDelayMs'] as const;

const MAX_DURATION_MS = 2_147_483_647;
const durationSchema = z
  .union([z.number().min(0).max(MAX_DURATION_MS), z.enum(DURATION_OPTIONS)])
  .describe('milliseconds, or the name of the option that has them');
/** Milliseconds, or the option that has them. */
export type Duration = z.infer<typeof durationSchema>;

/** Patterns say to an editor what a position is; the message says it to a person. */
function position<T extends string>(pattern: RegExp, description: string): z.ZodType<T> {
  const schema = z
    .string()
    .regex(pattern, { error: ({ input }) => unknownWord('position', String(input), POSITION_FORMS) })
    .describe(description);
  return schema as unknown as z.ZodType<T>;
}

const at = position<Position>(POSITION_PATTERN, 'a position, such as event:3+17');
/** A position, or all of a kind: `event:*.mid`. */
const places = z
  .array(position<string>(POSITIONS_PATTERN, 'a position, or with * for its number every such position'))
  .min(1)
  .readonly();

const bytesText = z.string().describe('text, as UTF-8');
const hex = z.string().regex(/^([0-9a-fA-F]{2})+$/, { error: 'expected pairs of hexadecimal digits' });

export const cutSchema = z
  .strictObject({
    at,
    teardown: z.enum(CUT_TEARDOWNS),
    delayMs: durationSchema.optional().describe('pause before the teardown'),
  })
  .readonly()
  .describe('where the answer ends, and how');

export type Cut = z.infer<typeof cutSchema>;

const paceSchema = z
  .strictObject({
    firstByteMs: durationSchema.optional().describe('pause before the first byte'),
    after: z
      .strictObject({ role: z.enum(['delta', 'keepalive', 'event']), ms: durationSchema })
      .readonly()
      .optional()
      .describe('pause after each event, or each with a role'),
    jitter: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe('each pause is stretched or shrunk by up to this part, by the seed'),
    bytesPerSecond: z.int().min(1).optional().describe('speed of the answer, in segments of 1/20 s'),
    pauses: z
      .array(z.strictObject({ at, ms: durationSchema }).readonly())
      .readonly()
      .optional()
      .describe('silence at a position, then on'),
    gates: z
      .array(z.strictObject({ at, name: z.string().min(1) }).readonly())
      .readonly()
      .optional()
      .describe('wait at a position until the gate is released'),
    pulse: z
      .strictObject({
        everyMs: durationSchema,
        times: z.int().min(1).optional().describe('Default: for ever'),
      })
      .readonly()
      .optional()
      .describe('the last event before the cut comes again and again'),
  })
  .readonly();

const segmentsSchema = z
  .strictObject({
    at: places.optional().describe('positions at which a segment ends'),
    everyBytes: z.int().min(1).optional().describe('largest size of a segment'),
    gapMs: z
      .number()
      .min(0)
      .max(60_000)
      .optional()
      .describe('pause between segments, so that they are read one by one. Default 20 with `at`, 0 otherwise'),
  })
  .readonly();

const chunksSchema = z
  .union([
    z.enum(['event', 'whole']),
    z.strictObject({ bytes: z.int().min(1) }).readonly(),
    z.strictObject({ at: places }).readonly(),
  ])
  .describe('where chunks end: with each event (default), never, every n bytes, or at positions of the body');

const spliceSchema = z
  .strictObject({
    at,
    layer: z.enum(['body', 'wire']).optional().describe('before or after the framing. Default body'),
    remove: z.int().min(0).optional().describe('bytes that are taken out there'),
    text: bytesText.optional(),
    hex: hex.optional().describe('bytes that are put in there'),
  })
  .readonly();
export type Splice = z.infer<typeof spliceSchema>;

const idleSchema = z
  .strictObject({
    teardown: z.enum(['fin', 'rst']).optional(),
    afterMs: durationSchema
      .optional()
      .describe(
        'so long after the answer, if no request has come; with onRequest, at the first byte that comes later than that',
      ),
    onRequest: z.int().min(1).optional().describe('when the first byte of the so manyth request after this one comes'),
    stray: bytesText.optional().describe('bytes that nobody asked for, behind the answer'),
    strayAfterMs: durationSchema.optional().describe('Default 0: in the tick after it'),
  })
  .readonly();

export const faultSchema = z
  .strictObject({
    listen: z
      .strictObject({
        refuseMs: durationSchema.optional().describe('the port is closed for so long'),
        refuseAttempts: z
          .int()
          .min(1)
          .max(1000)
          .optional()
          .describe('the port is closed until so many connects were refused (Linux, with rights)'),
        blackholeMs: durationSchema.optional().describe('connects are not answered at all for so long (Linux)'),
      })
      .readonly()
      .optional()
      .describe('what the port does before the next request: exactly one of these'),
    request: z
      .strictObject({
        read: z.enum(['all', 'head']).optional().describe('how much is read before the answer begins. Default all'),
        continue: z
          .enum(['send', 'withhold', 'refuse'])
          .optional()
          .describe('what a client gets that waits for a 100: it, nothing, or a 417. Default send'),
      })
      .readonly()
      .optional()
      .describe('how the request is read; cuts at accept and request:K read none and K bytes'),
    answer: answerSchema.optional().describe('what is answered. Default: a healthy turn'),
    events: z.array(eventEditSchema).readonly().optional().describe('changes to the list of events, in order'),
    sse: sseFormSchema.optional().describe('how the event stream is written'),
    splice: z.array(spliceSchema).readonly().optional().describe('bytes put in and taken out, in order'),
    encoding: encodingSchema.optional(),
    framing: framingFormSchema.extend({ chunks: chunksSchema.optional() }).readonly().optional(),
    head: headFormSchema.optional(),
    segments: segmentsSchema.optional(),
    pace: paceSchema.optional(),
    cut: cutSchema.optional(),
    idle: idleSchema.optional().describe('what becomes of the connection once the answer is through'),
  })
  .readonly();

/** What a behavior means, as plain data. */
export type FaultSpec = z.infer<typeof faultSchema>;

/** The published JSON Schema of a fault. */
export function faultJsonSchema(): unknown {
  return z.toJSONSchema(faultSchema, WRITABLE);
}

/** To JSON Schema `readOnly` is a value which its writer may not set, not one that the program leaves alone. */
export const WRITABLE = {
  override: ({ jsonSchema }: { readonly jsonSchema: { readOnly?: boolean } }) => {
    delete jsonSchema.readOnly;
  },
};
