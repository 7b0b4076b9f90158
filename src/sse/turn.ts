/**
 * A turn: what the model says, in no dialect. A dialect turns it into events.
 */

/** Why the model stopped, in no provider's words. */
export const FINISHES = ['stop', 'length', 'tool_calls', 'content_filter', 'refusal'] as const;
export type Finish = (typeof FINISHES)[number];

export interface ToolCall {
  readonly name: string;
  /** The arguments as JSON text; half of a JSON text where the length limit cut it. */
  readonly arguments: string;
}

export interface Usage {
  readonly inputTokens: number;
  /** Reasoning included. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export interface Turn {
  /** Thoughts before the answer; empty for none. */
  readonly reasoning: string;
  /** The answer; empty for none. */
  readonly text: string;
  /** The model's refusal, told instead of an answer; empty for none. */
  readonly refusal: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finish: Finish;
  readonly usage: Usage;
}

/** Cuts `text` into pieces of `size` code points, so that no surrogate pair is ever split. */
export function pieces(text: string, size: number): string[] {
  const codePoints = Array.from(text);
  const out: string[] = [];
  for (let at = 0; at < codePoints.length; at += size) out.push(codePoints.slice(at, at + size).join(''));
  return out;
}

/** The two pieces in which tool arguments are streamed: the first half of the code points, then the rest. */
export function halves(text: string): string[] {
  return pieces(text, Math.max(1, Math.ceil(Array.from(text).length / 2)));
}

/** A rough, deterministic token count: four code points to a token, as providers' own rule of thumb says. */
export function tokensOf(text: string): number {
  return Math.ceil(Array.from(text).length / 4);
}
