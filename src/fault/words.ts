import type { AnswerContext } from '../sse/dialect.js';
import { halves, type Turn, tokensOf } from '../sse/turn.js';
import { contentBlocks } from './content-blocks.js';
import type { TurnShape } from './spec-answer.js';

/** The options that hold an answer's words and delays. */
export interface Content {
  readonly successText: string;
  /** Above 0: that many numbered paragraphs instead of `successText`. */
  readonly contentBlocks: number;
  /** `undefined` for the first half of the paragraphs. */
  readonly partialText: string | undefined;
  readonly reasoningText: string;
  readonly toolName: string;
  readonly toolArguments: string;
  readonly listenDelayMs: number;
  readonly chunkDelayMs: number;
  readonly disconnectDelayMs: number;
  readonly keepaliveMs: number;
  readonly keepaliveCount: number;
  readonly settleTimeoutMs: number;
  readonly retryAfterMs: number;
}

const REFUSAL = "I'm sorry, but I can't help with that.";

/** The prompt's size is not looked at: an answer's bytes shall not depend on it. */
const INPUT_TOKENS = 12;

function textOf(shape: TurnShape, content: Content, context: AnswerContext): string {
  if (shape.say !== undefined) return shape.say;
  if (shape.text === 'none') return '';
  const { successText, partialText } = content;
  if (content.contentBlocks === 0) {
    if (shape.text === 'half') return halves(successText)[0] ?? '';
    return (shape.text === 'success' ? successText : partialText) ?? '';
  }
  if (shape.text === 'partial' && partialText !== undefined) return partialText;
  const blocks = contentBlocks(content.contentBlocks, context.stamps);
  const told = shape.text === 'success' ? blocks : blocks.slice(0, Math.ceil(blocks.length / 2));
  return told.join('\n\n');
}

/** The turn that `shape` means, in the words of the options. */
export function turnOf(shape: TurnShape, content: Content, context: AnswerContext): Turn {
  const text = textOf(shape, content, context);
  const refusal = shape.refusal ? REFUSAL : '';
  const reasoning = shape.reasoning ? content.reasoningText : '';
  const wholeCall = { name: content.toolName, arguments: content.toolArguments };
  const lastArguments = shape.toolArguments ?? wholeCall.arguments;
  const lastCall = { ...wholeCall, arguments: shape.halfToolCall ? (halves(lastArguments)[0] ?? '') : lastArguments };
  const count = shape.toolCalls ?? 0;
  const toolCalls = Array.from({ length: count }, (_, n) => (n === count - 1 ? lastCall : wholeCall));
  const reasoningTokens = tokensOf(reasoning);
  const told = [text, refusal, ...toolCalls.map((call) => call.arguments)].reduce(
    (sum, words) => sum + tokensOf(words),
    0,
  );
  // Clients compare the usage of a length stop with the limit that they asked for.
  const limit = shape.finish === 'length' ? context.request.maxTokens : undefined;
  const outputTokens = limit ?? told + reasoningTokens;
  return {
    reasoning,
    text,
    refusal,
    toolCalls,
    finish: shape.finish,
    usage: { inputTokens: INPUT_TOKENS, outputTokens, reasoningTokens: Math.min(reasoningTokens, outputTokens) },
  };
}
