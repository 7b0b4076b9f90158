import { beforeAll, describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName } from '../../src/index.js';
import { NO_PYTHON, PYTHON, type PythonRun, type PythonTold, type Row, runScript } from './support/python.js';
import { CALL, HALF_CALL, PARTIAL, REASONING, REFUSAL, SILENT, TEXT, type Told } from './support/sdk.js';

/** `openai` and `anthropic` from PyPI: streamed, through the helper and whole; and errors. */
type Answers = Partial<Record<ConcreteBehaviorName, Told & Partial<PythonTold>>>;

const CHAT: Answers = {
  success: { ...SILENT, text: TEXT, finish: 'stop' },
  keepalive_then_success: { ...SILENT, text: TEXT, finish: 'stop' },
  reasoning_success: { ...SILENT, reasoning: REASONING, text: TEXT, finish: 'stop' },
  tool_call_success: { ...SILENT, calls: [CALL], finish: 'tool_calls' },
  parallel_tool_calls: { ...SILENT, calls: [CALL, CALL], finish: 'tool_calls' },
  tool_call_truncated: { ...SILENT, calls: [HALF_CALL], finish: 'length' },
  max_tokens: { ...SILENT, text: TEXT, finish: 'length' },
  content_filter: { ...SILENT, text: PARTIAL, finish: 'content_filter' },
  refusal: { ...SILENT, refusal: REFUSAL, finish: 'stop' },
  empty: { ...SILENT, finish: 'stop' },
};
const RESPONSES: Answers = {
  success: { ...SILENT, text: TEXT, finish: 'completed' },
  keepalive_then_success: { ...SILENT, text: TEXT, finish: 'completed' },
  reasoning_success: { ...SILENT, reasoning: REASONING, text: TEXT, finish: 'completed' },
  tool_call_success: { ...SILENT, calls: [CALL], finish: 'completed' },
  parallel_tool_calls: { ...SILENT, calls: [CALL, CALL], finish: 'completed' },
  tool_call_truncated: { ...SILENT, calls: [HALF_CALL], finish: 'max_output_tokens' },
  max_tokens: { ...SILENT, text: TEXT, finish: 'max_output_tokens' },
  content_filter: { ...SILENT, text: PARTIAL, finish: 'content_filter' },
  refusal: { ...SILENT, refusal: REFUSAL, finish: 'completed' },
  empty: { ...SILENT, finish: 'completed' },
};
const MESSAGES: Answers = {
  success: { ...SILENT, text: TEXT, finish: 'end_turn' },
  keepalive_then_success: { ...SILENT, text: TEXT, finish: 'end_turn' },
  reasoning_success: { ...SILENT, reasoning: REASONING, text: TEXT, finish: 'end_turn' },
  tool_call_success: { ...SILENT, calls: [CALL], finish: 'tool_use' },
  parallel_tool_calls: { ...SILENT, calls: [CALL, CALL], finish: 'tool_use' },
  max_tokens: { ...SILENT, text: TEXT, finish: 'max_tokens', output_tokens: 77 },
  content_filter: { ...SILENT, text: PARTIAL, finish: 'refusal' },
  refusal: { ...SILENT, text: REFUSAL, finish: 'refusal' },
  empty: { ...SILENT, finish: 'end_turn' },
};

/** OpenAI's helpers raise at answers that were cut, each in its own way. */
const CUT_SHORT: readonly string[] = ['tool_call_truncated', 'max_tokens', 'content_filter'];

function answered(calls: readonly string[], answers: Answers, except: readonly string[] = []): Row[] {
  return calls.flatMap((call) =>
    Object.entries(answers)
      .filter(([behavior]) => !except.includes(behavior))
      .map(([behavior, told]) => ({
        call,
        behavior: behavior as ConcreteBehaviorName,
        told: { ...told, error: null },
      })),
  );
}

function raised(calls: readonly string[], behavior: ConcreteBehaviorName, error: object, told: object = {}): Row[] {
  return calls.map((call) => ({ call, behavior, told: { ...told, error } }));
}

function status(calls: readonly string[], behavior: ConcreteBehaviorName, of: string, code: number, has = {}): Row[] {
  const bases = expect.arrayContaining([of, 'APIStatusError']);
  return raised(calls, behavior, { bases, status: code, request_id: expect.stringMatching(/^req_/), ...has });
}

/** That it was a RST, not an end: httpx has other names for the latter. */
const RESET = { chain: expect.arrayContaining(['ReadError', 'ConnectionResetError']) };
const prefix = expect.toSatisfy((text: unknown) => typeof text === 'string' && PARTIAL.startsWith(text));

function faulty(streamed: readonly string[], whole: readonly string[]): Row[] {
  const all = [...streamed, ...whole];
  return [
    ...status(all, 'rate_limit', 'RateLimitError', 429),
    ...status(all, 'server_error', 'InternalServerError', 500),
    ...status(all, 'auth_error', 'AuthenticationError', 401),
    ...status(all, 'invalid_request', 'BadRequestError', 400),
    ...raised(all, 'connection_reset', { class: 'APIConnectionError', ...RESET }),
    ...raised(streamed, 'stream_disconnect', RESET, { text: '', finish: null }),
    ...raised(streamed, 'partial_disconnect', RESET, { text: prefix, finish: null }),
    ...raised(whole, 'partial_disconnect', RESET),
    ...raised(
      streamed,
      'stream_error',
      { bases: expect.arrayContaining(['APIError']) },
      { text: PARTIAL, finish: null },
    ),
    ...raised(all, 'malformed_json', { class: 'JSONDecodeError' }),
    ...raised(whole, 'partial_eof', { class: 'JSONDecodeError' }),
    // The raw streams end silently.
    ...answered(streamed, {
      partial_eof: { ...SILENT, text: PARTIAL, finish: null },
      empty_body: { ...SILENT, finish: null },
      json_error_200: { ...SILENT, finish: null },
    }),
  ];
}

const OPENAI_RAW = ['chat_streamed', 'chat_whole', 'responses_streamed', 'responses_whole'];

const OPENAI: readonly Row[] = [
  ...answered(['chat_streamed', 'chat_whole'], CHAT),
  ...answered(['chat_helper'], CHAT, CUT_SHORT),
  ...answered(['responses_streamed', 'responses_whole'], RESPONSES),
  ...answered(['responses_helper'], RESPONSES, CUT_SHORT),
  ...faulty(['chat_streamed', 'responses_streamed'], ['chat_whole', 'responses_whole']),
  ...status(OPENAI_RAW, 'context_overflow', 'BadRequestError', 400, { code: 'context_length_exceeded' }),
  ...status(OPENAI_RAW, 'quota_exceeded', 'RateLimitError', 429, { code: 'insufficient_quota' }),
  ...raised(['chat_helper'], 'max_tokens', { class: 'LengthFinishReasonError' }),
  { call: 'models', told: { text: expect.stringMatching(/\bgpt-5\.4\b/), error: null } },
];
const ANTHROPIC: readonly Row[] = [
  ...answered(['streamed', 'helper', 'whole'], MESSAGES),
  ...faulty(['streamed'], ['whole']),
  ...status(['streamed', 'whole'], 'context_overflow', 'BadRequestError', 400),
  ...status(['streamed', 'whole'], 'overloaded', 'InternalServerError', 529),
  { call: 'streamed', behavior: 'tool_call_truncated', told: { calls: [HALF_CALL], finish: 'max_tokens' } },
  { call: 'count_tokens', told: { output_tokens: expect.any(Number), error: null } },
  { call: 'models', told: { text: expect.stringMatching(/\bclaude-haiku-4-5\b/), error: null } },
];

describe.each([
  ['openai', 'openai_client.py', OPENAI],
  ['anthropic', 'anthropic_client.py', ANTHROPIC],
] as const)('%s from PyPI', (name, script, rows) => {
  let run: PythonRun | undefined;
  beforeAll(async () => {
    if (PYTHON) run = await runScript(PYTHON, script, rows);
  });

  it.for(rows.map(({ call, behavior, told }, n) => [behavior ? `${call}: ${behavior}` : call, n, told] as const))(
    '%s',
    ([, n, told], { skip }) => {
      skip(PYTHON === undefined, NO_PYTHON);
      expect(run?.results[n]).toMatchObject(told);
    },
  );

  it('made one request for each call, and offered gzip', ({ skip }) => {
    skip(PYTHON === undefined, NO_PYTHON);
    const wanted = rows.flatMap(({ behavior }) => behavior ?? []);
    expect(run?.requests.map(({ behavior }) => behavior)).toEqual(wanted);
    expect(run?.requests[0]?.headers['accept-encoding']).toMatch(/\bgzip\b/);
    expect(run?.requests[0]?.headers['user-agent']).toMatch(new RegExp(`^${name}/Python`, 'i'));
  });
});
