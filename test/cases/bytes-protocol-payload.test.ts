import { describe, expect, it } from 'vitest';
import { headerOf } from '../support/http.js';
import { judge } from '../support/referee.js';
import { eventsOf, healthy, PROTOCOLS, type Protocol, wireOf } from './support/bytes-protocol.js';
import { caseOptions } from './support/case-server.js';
import { chunk, chunkOf, DONE, TEXT_CHUNKS, toolPiece } from './support/chat-wire.js';

/** Section E of the cases, protocol terminals and payload shape: what a raw client gets of each variant, to the byte. */
const [ROLE = '', FIRST = '', SECOND = '', THIRD = '', FINISH = ''] = TEXT_CHUNKS;
const WORDS = `${ROLE}${FIRST}${SECOND}${THIRD}`;

const tool = (finish: 'tool_calls' | 'length', toolArguments?: string) =>
  ({
    answer: { kind: 'turn', turn: { text: 'none', toolCalls: 1, finish, ...(toolArguments ? { toolArguments } : {}) } },
  }) as const;

const OPENED = { index: 0, id: 'call_ID', type: 'function', function: { name: 'mock_tool', arguments: '' } };
const ARGUMENTS = ['{"value"', ':"mock"}'];

/** The refusal of a first delta stands behind its tool calls. */
function openingWith(call: object): string {
  return chunk({ role: 'assistant', content: null, tool_calls: [call], refusal: null });
}

function pieces(args: readonly string[], index: number | undefined = 0): string {
  return args.map((piece) => toolPiece({ index, function: { arguments: piece } })).join('');
}

describe('B40: a chat without its end', () => {
  const ROWS = [
    ['finish_and_done', `${WORDS}${FINISH}${DONE}`, []],
    ['finish_only', `${WORDS}${FINISH}`, ['chat.truncated']],
    ['done_only', `${WORDS}${DONE}`, ['chat.truncated']],
    ['neither', WORDS, ['chat.truncated']],
    ['tool_fragment', `${openingWith(OPENED)}${pieces(ARGUMENTS.slice(0, 1))}`, ['chat.truncated']],
  ] as const;

  it.each(ROWS)('%s', async (variant, wanted, rules) => {
    const { text, answer, end } = await wireOf('B40', variant, 'openai-chat');
    expect({ text, end }).toEqual({ text: wanted, end: 'kept' });
    expect(judge('openai-chat', answer.body).rules).toEqual(rules);
  });
});

describe('B41: an Anthropic message without its end', () => {
  const ROWS = [
    ['after_delta', {}, 'content_block_delta'],
    ['after_tool_stop', tool('tool_calls'), 'content_block_stop'],
    ['no_message_stop', {}, 'message_delta'],
  ] as const;

  it.each(ROWS)('%s', async (variant, fault, last) => {
    const { text, answer, end } = await wireOf('B41', variant, 'anthropic-messages');
    const whole = eventsOf(await healthy('anthropic-messages', fault));
    const count = whole.findLastIndex((event) => event.startsWith(`event: ${last}\n`)) + 1;
    expect({ text, end }).toEqual({ text: whole.slice(0, count).join(''), end: 'kept' });
    expect(text.includes('"stop_reason":"end_turn"')).toBe(variant === 'no_message_stop');
    expect(judge('anthropic', answer.body).rules).toEqual(['msg.truncated']);
    expect(judge('anthropic', answer.body, { allowTruncated: true }).ok).toBe(true);
  });
});

/** The types of a Responses stream, and its last event. */
function responses(text: string): { types: string[]; last: { response?: Record<string, unknown> } } {
  const events = eventsOf(text);
  const [, json = '{}'] = /^data: (.*)$/m.exec(events.at(-1) ?? '') ?? [];
  return { types: events.map((event) => /^event: (.*)$/m.exec(event)?.[1] ?? ''), last: JSON.parse(json) };
}

describe('B42: response.incomplete', () => {
  it('incomplete', async () => {
    const { text, answer, end } = await wireOf('B42', 'incomplete', 'openai-responses');
    const { types, last } = responses(text);
    expect(types.filter((type) => /created|text\.delta|incomplete|completed|failed/.test(type))).toEqual([
      'response.created',
      ...Array.from({ length: 4 }, () => 'response.output_text.delta'),
      'response.incomplete',
    ]);
    expect(last.response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      usage: { input_tokens: 12, output_tokens: 7, total_tokens: 19 },
    });
    expect(end).toBe('kept');
    expect(judge('openai-responses', answer.body)).toMatchObject({
      ok: true,
      terminal: 'incomplete:max_output_tokens',
    });
  });
});

describe('B43: half of a tool call', () => {
  const HALF = '{"path":"/a';
  const FINISHES = ['length', 'tool_calls'] as const;

  it.each(FINISHES)('openai-chat: %s', async (finish) => {
    const { text, answer, end } = await wireOf('B43', finish, 'openai-chat');
    const wanted = `${openingWith(OPENED)}${pieces(['{"path', '":"/a'])}${chunk({}, finish)}${DONE}`;
    expect({ text, end }).toEqual({ text: wanted, end: 'kept' });
    // The referee asks of a call that says it's whole for arguments that are JSON.
    expect(judge('openai-chat', answer.body)).toMatchObject({ ok: finish === 'length', terminal: finish });
  });

  it.each(FINISHES)('openai-responses: %s', async (finish) => {
    const { text, answer, end } = await wireOf('B43', finish, 'openai-responses');
    const { types, last } = responses(text);
    const status = finish === 'length' ? 'incomplete' : 'completed';
    expect(types.at(-1)).toBe(`response.${status}`);
    expect(last.response).toMatchObject({
      status,
      incomplete_details: finish === 'length' ? { reason: 'max_output_tokens' } : null,
      output: [{ type: 'function_call', status, arguments: HALF, name: 'mock_tool' }],
    });
    expect(end).toBe('kept');
    expect(judge('openai-responses', answer.body).ok).toBe(finish === 'length');
  });

  it('responses_mid_call: nothing of the item is said to be done before response.incomplete', async () => {
    const { text, end } = await wireOf('B43', 'responses_mid_call', 'openai-responses');
    expect(responses(text).types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.delta',
      'response.incomplete',
    ]);
    const deltas = [...text.matchAll(/"delta":("(?:[^"\\]|\\.)*")/g)].map(([, json = '""']) => JSON.parse(json));
    expect(deltas.join('')).toBe(HALF);
    expect(end).toBe('kept');
  });

  it.each([
    ['length', 'max_tokens'],
    ['tool_calls', 'tool_use'],
  ])('anthropic-messages: %s', async (variant, stop) => {
    const { text, end } = await wireOf('B43', variant, 'anthropic-messages');
    const json = [...text.matchAll(/"partial_json":("(?:[^"\\]|\\.)*")/g)].map(([, piece = '""']) => JSON.parse(piece));
    expect(json.join('')).toBe(HALF);
    expect(text).toContain(`"delta":{"stop_reason":"${stop}"`);
    expect(end).toBe('kept');
  });
});

describe('B44: overloaded_error in a stream', () => {
  const ERROR =
    'event: error\ndata: {"type":"error","error":{"details":null,"type":"overloaded_error","message":"mock stream error"},"request_id":"req_ID"}\n\n';

  it.each(['first', 'after_delta'])('%s', async (variant) => {
    const { text, answer, end } = await wireOf('B44', variant, 'anthropic-messages');
    const whole = eventsOf(await healthy('anthropic-messages'));
    const count = variant === 'first' ? 0 : whole.findLastIndex((event) => event.includes('content_block_delta')) + 1;
    expect({ text, end }).toEqual({ text: `${whole.slice(0, count).join('')}${ERROR}`, end: 'kept' });
    expect(answer.status).toBe(200);
    expect(judge('anthropic', answer.body)).toMatchObject({ ok: true, terminal: 'error:overloaded_error' });
  });
});

describe('B46: a flat error event', () => {
  it.each([
    ['first', 0],
    ['after_delta', 8],
  ])('%s', async (variant, number) => {
    const { text, answer, end } = await wireOf('B46', variant, 'openai-responses');
    const events = eventsOf(text);
    expect(events.length).toBe(number + 1);
    expect(events.at(-1)).toBe(
      `event: error\ndata: {"type":"error","code":"server_error","message":"mock flat error","sequence_number":${number}}\n\n`,
    );
    expect(end).toBe('kept');
    expect(judge('openai-responses', answer.body)).toMatchObject({ ok: true, terminal: 'error:server_error' });
  });
});

describe('B47, B48: no stream under 200', () => {
  const PAGE =
    '<!doctype html>\n<html lang="en"><head><title>Welcome</title></head><body><h1>It works!</h1></body></html>\n';
  const ERROR = '{"error":{"message":"mock error under 200","type":"server_error","param":null,"code":null}}';
  const ROWS = PROTOCOLS.flatMap((protocol): [Protocol, string, string, string, string, string | undefined][] => [
    [protocol, 'B47', 'html', 'text/html; charset=utf-8', PAGE, String(PAGE.length)],
    [protocol, 'B48', 'json_error', 'application/json', ERROR, String(ERROR.length)],
    [protocol, 'B48', 'empty_json', 'application/json', '', '0'],
    [protocol, 'B48', 'empty_stream', 'text/event-stream; charset=utf-8', '', undefined],
  ]);

  it.each(ROWS)('%s: %s %s', async (protocol, id, variant, type, body, length) => {
    const { raw, answer, text, end } = await wireOf(id, variant, protocol);
    expect({ status: answer.status, text, end }).toEqual({ status: 200, text: body, end: 'kept' });
    expect(headerOf(answer, 'content-type')).toBe(type);
    expect(headerOf(answer, 'content-length')).toBe(length);
    if (length === undefined) expect(raw.toString('latin1')).toMatch(/\r\n\r\n0\r\n\r\n$/);
  });
});

describe('B50: empty choices', () => {
  const FILTER =
    'data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}\n\n';

  it.each([false, true])('empty_choices, with include_usage %s', async (include_usage) => {
    const { text, end } = await wireOf('B50', 'empty_choices', 'openai-chat', { stream_options: { include_usage } });
    const nothing = include_usage ? { usage: null } : {};
    const usage = chunkOf({ choices: [], usage: { prompt_tokens: 12, completion_tokens: 6, total_tokens: 18 } });
    const words = TEXT_CHUNKS.map((event) => chunkOf({ ...JSON.parse(event.slice('data: '.length)), ...nothing })).join(
      '',
    );
    expect({ text, end }).toEqual({ text: `${FILTER}${words}${usage}${DONE}`, end: 'kept' });
  });
});

describe('B51: null', () => {
  const ROWS = [
    ['delta_null', `${WORDS}${chunk(null, 'stop')}${DONE}`, ['chat.delta', 'chat.truncated']],
    [
      'tool_calls_null',
      `${[
        { role: 'assistant', content: '', refusal: null },
        { content: 'mock res' },
        { content: 'ponse re' },
        { content: 'covered' },
      ]
        .map((delta) => chunk({ ...delta, tool_calls: null }))
        .join('')}${chunk({ tool_calls: null }, 'stop')}${DONE}`,
      ['chat.finish'],
    ],
    [
      'content_null',
      `${chunk({ role: 'assistant', content: null, refusal: null })}${FIRST}${SECOND}${THIRD}${chunk({ content: null }, 'stop')}${DONE}`,
      ['chat.finish'],
    ],
  ] as const;

  it.each(ROWS)('%s', async (variant, wanted, rules) => {
    const { text, answer, end } = await wireOf('B51', variant, 'openai-chat');
    expect({ text, end }).toEqual({ text: wanted, end: 'kept' });
    expect(judge('openai-chat', answer.body).rules).toEqual(rules);
  });
});

describe('B52: tool calls with odd numbers', () => {
  const { id: _, ...unnamed } = OPENED;
  const end = `${chunk({}, 'tool_calls')}${DONE}`;
  const started = chunk({ role: 'assistant', content: null });
  const ROWS = [
    ['index_from_1', `${openingWith({ ...OPENED, index: 1 })}${pieces(ARGUMENTS, 1)}${end}`],
    [
      'same_index',
      `${started}${toolPiece(OPENED)}${pieces(ARGUMENTS)}${toolPiece(OPENED)}${pieces(['{"value":', '"second"}'])}${end}`,
    ],
    [
      'continuation_without_index',
      `${openingWith(OPENED)}${ARGUMENTS.map((piece) => toolPiece({ function: { arguments: piece } })).join('')}${end}`,
    ],
    ['first_without_id', `${openingWith(unnamed)}${pieces(ARGUMENTS)}${end}`],
  ] as const;

  it.each(ROWS)('%s', async (variant, wanted) => {
    const wire = await wireOf('B52', variant, 'openai-chat');
    expect({ text: wire.text, end: wire.end }).toEqual({ text: wanted, end: 'kept' });
    expect(judge('openai-chat', wire.answer.body).rules).toEqual(['chat.tool']);
  });

  it('same_index: the two ids are two', async () => {
    const { answer } = await wireOf('B52', 'same_index', 'openai-chat');
    expect(new Set(answer.body.toString().match(/call_[A-Za-z0-9]{24}/g)).size).toBe(2);
  });
});

const IDS = ['B40', 'B41', 'B42', 'B43', 'B44', 'B46', 'B47', 'B48', 'B50', 'B51', 'B52'];

it.each(IDS)('%s: its sequence has its variants in their order', async (id) => {
  const { behaviors = {}, sequence } = await caseOptions(id);
  expect(sequence).toEqual(Object.keys(behaviors));
});
