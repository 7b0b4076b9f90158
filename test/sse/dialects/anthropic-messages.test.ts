import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AnswerContext,
  type DialectEvent,
  ERROR_KINDS,
  FIDELITIES,
  isObject,
  STREAM_ERROR_MESSAGE,
} from '../../../src/sse/dialect.js';
import { anthropicMessages } from '../../../src/sse/dialects/anthropic-messages.js';
import { encodeEvents, encodeWhole } from '../../../src/sse/encoder.js';
import { stampsFrom } from '../../../src/sse/stamps.js';
import { type Finish, type ToolCall, type Turn, tokensOf } from '../../../src/sse/turn.js';

const SHARED = new URL('../../../../shared/dialects/', import.meta.url);
const RECORDINGS = new URL('recordings/', SHARED);

/** The independent referee; it is JavaScript without types. */
interface Verdict {
  readonly ok: boolean;
  readonly terminal: string;
  readonly errors: readonly unknown[];
  readonly warnings: readonly unknown[];
}
const referee: {
  check(protocol: 'anthropic', body: Buffer, options?: { expect?: string[]; allowTruncated?: boolean }): Verdict;
} = await import(fileURLToPath(new URL('check-dialect.mjs', SHARED)));

const ARGUMENTS = '{"value":"mock","größe":"12 €"}';

function turn(parts: Partial<Turn> = {}): Turn {
  const { reasoning = '', text = '', refusal = '', toolCalls = [], finish = 'stop' } = parts;
  const reasoningTokens = tokensOf(reasoning);
  const told = tokensOf(text + refusal + toolCalls.map((call) => call.arguments).join(''));
  const usage = { inputTokens: 12, outputTokens: told + reasoningTokens, reasoningTokens };
  return { reasoning, text, refusal, toolCalls, finish, usage, ...parts };
}

const call = (name: string, args = ARGUMENTS): ToolCall => ({ name, arguments: args });

const TURNS: Readonly<Record<string, { turn: Turn; stop: string; blocks: readonly string[] }>> = {
  text: { turn: turn({ text: 'Hello, 世界 👩‍👩‍👧!\n"quoted" \\ ' }), stop: 'end_turn', blocks: ['text'] },
  reasoning: {
    turn: turn({ reasoning: 'Let me think: 🤔', text: 'Done.' }),
    stop: 'end_turn',
    blocks: ['thinking', 'text'],
  },
  'reasoning only': { turn: turn({ reasoning: 'Hm.' }), stop: 'end_turn', blocks: ['thinking', 'text'] },
  'one tool': { turn: turn({ toolCalls: [call('a')], finish: 'tool_calls' }), stop: 'tool_use', blocks: ['tool_use'] },
  'two tools': {
    turn: turn({ toolCalls: [call('a'), call('b')], finish: 'tool_calls' }),
    stop: 'tool_use',
    blocks: ['tool_use', 'tool_use'],
  },
  'tool without arguments': {
    turn: turn({ toolCalls: [call('a', '')], finish: 'tool_calls' }),
    stop: 'tool_use',
    blocks: ['tool_use'],
  },
  'reasoning, text and tool': {
    turn: turn({ reasoning: 'Call it.', text: 'I call a.', toolCalls: [call('a')], finish: 'tool_calls' }),
    stop: 'tool_use',
    blocks: ['thinking', 'text', 'tool_use'],
  },
  length: { turn: turn({ text: 'Hello, wor', finish: 'length' }), stop: 'max_tokens', blocks: ['text'] },
  'length in arguments': {
    turn: turn({ toolCalls: [call('a'), call('b', '{"value":"mo')], finish: 'length' }),
    stop: 'max_tokens',
    blocks: ['tool_use', 'tool_use'],
  },
  'content filter': { turn: turn({ text: 'First ', finish: 'content_filter' }), stop: 'refusal', blocks: ['text'] },
  refusal: { turn: turn({ refusal: "I can't.", finish: 'refusal' }), stop: 'refusal', blocks: ['text'] },
  empty: { turn: turn(), stop: 'end_turn', blocks: ['text'] },
};

function context(parts: Partial<AnswerContext> = {}): AnswerContext {
  return {
    request: anthropicMessages.readRequest({ stream: true, model: 'claude-sonnet-4-6' }),
    fidelity: 'full',
    keyOrder: 'sorted',
    chunkSize: 4,
    stamps: stampsFrom('seed', new Date('2026-08-19T14:34:11Z')),
    requestId: undefined,
    ...parts,
  };
}

const wire = (events: readonly DialectEvent[]): Buffer =>
  Buffer.concat(encodeEvents(events).map(({ bytes }) => bytes));
/** Untyped, because what is checked is what a client reads. */
// biome-ignore lint/suspicious/noExplicitAny: JSON of the wire
const read = (event: DialectEvent): any => JSON.parse(event.data(0));
const tell = (of: Turn, parts?: Partial<AnswerContext>) => anthropicMessages.tell(of, context(parts));
