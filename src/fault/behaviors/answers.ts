import { NONE, type Rows, SUCCESS, turn } from './row.js';

/** Whole answers, healthy in every layer. */
export const ANSWERS = {
  success: { layer: 'answer', meaning: 'a whole, healthy answer', weight: 48, fault: { answer: turn(SUCCESS) } },
  slow_success: {
    layer: 'time',
    meaning: 'a whole answer, chunkDelayMs after each delta',
    weight: 10,
    fault: { answer: turn(SUCCESS), pace: { after: { role: 'delta', ms: 'chunkDelayMs' } } },
  },
  reasoning_success: {
    layer: 'answer',
    meaning: 'a whole answer after reasoning deltas',
    fault: { answer: turn({ ...SUCCESS, reasoning: true }) },
  },
  tool_call_success: {
    layer: 'answer',
    meaning: 'a tool call in two argument pieces, finish tool_calls',
    fault: { answer: turn({ text: 'none', toolCalls: 1, finish: 'tool_calls' }) },
  },
  max_tokens: {
    layer: 'answer',
    meaning: 'a whole answer that says it was cut by the token limit',
    weight: 2,
    fault: { answer: turn({ text: 'success', finish: 'length' }) },
  },
  parallel_tool_calls: {
    layer: 'answer',
    meaning: 'two tool calls in one turn',
    fault: { answer: turn({ text: 'none', toolCalls: 2, finish: 'tool_calls' }) },
  },
  tool_call_truncated: {
    layer: 'answer',
    meaning: "a tool call whose arguments the token limit cut: half a JSON object, and the limit's finish",
    fault: { answer: turn({ text: 'none', toolCalls: 1, halfToolCall: true, finish: 'length' }) },
  },
  content_filter: {
    layer: 'answer',
    meaning: "partialText, then the finish of the provider's content filter",
    fault: { answer: turn({ text: 'partial', finish: 'content_filter' }) },
  },
  refusal: {
    layer: 'answer',
    meaning: 'the model refuses, in the field or with the stop reason that the provider has for it',
    fault: { answer: turn({ text: 'none', refusal: true, finish: 'refusal' }) },
  },
  keepalive_then_success: {
    layer: 'time',
    meaning: 'keepaliveCount keep-alives every keepaliveMs, then a whole answer',
    fault: {
      answer: turn(SUCCESS),
      events: [{ op: 'insert', event: 'keepalive', before: { role: 'start' }, times: 'keepaliveCount' }],
      pace: { after: { role: 'keepalive', ms: 'keepaliveMs' } },
      framing: { kind: 'chunked' },
    },
  },
  empty: { layer: 'answer', meaning: 'a valid finish without content', weight: 5, fault: { answer: turn(NONE) } },
} satisfies Rows;
