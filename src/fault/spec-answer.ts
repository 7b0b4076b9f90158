import { z } from 'zod';
import { ERROR_KINDS } from '../sse/dialect.js';
import { FINISHES } from '../sse/turn.js';
import { rawEventSchema } from './spec-events.js';

/** What an answer says, before anything is done to it. */

const turnSchema = z
  .strictObject({
    text: z
      .enum(['success', 'partial', 'half', 'none'])
      .describe('successText, partialText, the first half of successText, or nothing'),
    say: z.string().optional().describe("these words instead of an option's"),
    reasoning: z.boolean().optional().describe('reasoningText comes before it'),
    refusal: z.boolean().optional().describe('a refusal is said instead of the text'),
    toolCalls: z.union([z.literal(1), z.literal(2)]).optional(),
    toolArguments: z.string().optional().describe("the last call's arguments, JSON or not, instead of the option's"),
    halfToolCall: z.boolean().optional().describe("half of the last call's arguments, as the length limit cuts them"),
    finish: z.enum(FINISHES),
  })
  .readonly();

/** The turn by reference to the options that hold its words. */
export type TurnShape = z.infer<typeof turnSchema>;

export const answerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('turn'), turn: turnSchema }).readonly(),
  z
    .strictObject({ kind: z.literal('events'), events: z.array(rawEventSchema).readonly() })
    .readonly()
    .describe('a stream of these events and no others'),
  z
    .strictObject({ kind: z.literal('http_error'), error: z.enum(ERROR_KINDS), message: z.string() })
    .readonly()
    .describe("the provider's own HTTP error"),
  z
    .strictObject({ kind: z.literal('html') })
    .readonly()
    .describe('a web page under 200, as a wrong base URL gives it'),
  z
    .strictObject({ kind: z.literal('json_error') })
    .readonly()
    .describe("the provider's error object under 200"),
  z
    .strictObject({
      kind: z.literal('http'),
      status: z.int().min(100).max(999),
      contentType: z.string().optional(),
      headers: z
        .array(z.tuple([z.string(), z.string()]).readonly())
        .readonly()
        .optional(),
      body: z.string(),
    })
    .readonly()
    .describe('any HTTP answer, without the headers of a provider'),
]);

export type Answer = z.infer<typeof answerSchema>;
