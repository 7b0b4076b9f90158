import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import type { Response } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';
import {
  type AnswerContext,
  type DialectEvent,
  ERROR_KINDS,
  FIDELITIES,
  type Fidelity,
  isObject,
  type JsonObject,
  KEY_ORDERS,
  type KeyOrder,
  STREAM_ERROR_MESSAGE,
  type StreamEvent,
} from '../../../src/sse/dialect.js';
import { openaiChat } from '../../../src/sse/dialects/openai-chat.js';
import { openaiResponses } from '../../../src/sse/dialects/openai-responses.js';
import { encodeEvents, encodeWhole } from '../../../src/sse/encoder.js';
import type { Marked } from '../../../src/sse/mark.js';
import { stampsFrom } from '../../../src/sse/stamps.js';
import type { Finish, Turn } from '../../../src/sse/turn.js';

const SHARED = new URL('../../../../shared/dialects/', import.meta.url);

interface Verdict {
  readonly ok: boolean;
  readonly terminal: string | null;
  readonly errors: readonly { rule: string; msg: string }[];
  readonly warnings: readonly { rule: string; msg: string }[];
}
type Check = (protocol: string, body: Buffer, options?: { expect?: string[]; allowTruncated?: boolean }) => Verdict;
// The referee has no types.
const { check } = (await import(new URL('check-dialect.mjs', SHARED).href)) as { check: Check };

interface Shape {
  readonly keys: string;
  readonly last_seen: string;
}
type Shapes = Readonly<Record<string, readonly Shape[]>>;
const SHAPES = (
  JSON.parse(readFileSync(new URL('schemas/observed-shapes.json', SHARED), 'utf8')) as {
    shapes: { 'openai-responses': Shapes };
  }
).shapes['openai-responses'];

const USAGE = { inputTokens: 12, outputTokens: 9, reasoningTokens: 4 };
const EMPTY: Turn = { reasoning: '', text: '', refusal: '', toolCalls: [], finish: 'stop', usage: USAGE };
const CALL = { name: 'get_weather', arguments: '{"city":"Zürich"}' };
const CUT_CALL = { name: 'get_weather', arguments: '{"city":"Zü' };

const TURNS: Readonly<Record<string, { turn: Turn; terminal: string; items: readonly string[] }>> = {
  text: { turn: { ...EMPTY, text: 'Hello, "world"\n✓' }, terminal: 'completed', items: ['message'] },
  reasoning: {
    turn: { ...EMPTY, reasoning: 'Let me see.', text: 'Four.' },
    terminal: 'completed',
    items: ['reasoning', 'message'],
  },
  'one tool': {
    turn: { ...EMPTY, toolCalls: [CALL], finish: 'tool_calls' },
    terminal: 'completed',
    items: ['function_call'],
  },
  'two tools': {
    turn: { ...EMPTY, toolCalls: [CALL, { name: 'now', arguments: '{}' }], finish: 'tool_calls' },
    terminal: 'completed',
    items: ['function_call', 'function_call'],
  },
  'text and tool after reasoning': {
    turn: { ...EMPTY, reasoning: 'Hm.', text: 'I look.', toolCalls: [CALL], finish: 'tool_calls' },
    terminal: 'completed',
    items: ['reasoning', 'message', 'function_call'],
  },
  length: {
    turn: { ...EMPTY, text: 'Once upon', finish: 'length' },
    terminal: 'incomplete:max_output_tokens',
    items: ['message'],
  },
  'length in the arguments': {
    turn: { ...EMPTY, text: 'I look.', toolCalls: [CUT_CALL], finish: 'length' },
    terminal: 'incomplete:max_output_tokens',
    items: ['message', 'function_call'],
  },
  'length in the reasoning': {
    turn: { ...EMPTY, reasoning: 'Let me', finish: 'length' },
    terminal: 'incomplete:max_output_tokens',
    items: ['reasoning'],
  },
  'content filter': {
    turn: { ...EMPTY, text: 'Mix the', finish: 'content_filter' },
    terminal: 'incomplete:content_filter',
    items: ['message'],
  },
  refusal: {
    turn: { ...EMPTY, refusal: 'I can’t.', finish: 'refusal' },
    terminal: 'completed',
    items: ['message'],
  },
  empty: { turn: EMPTY, terminal: 'completed', items: ['message'] },
};

const MANNERS = FIDELITIES.flatMap((fidelity) => KEY_ORDERS.map((keyOrder) => ({ fidelity, keyOrder })));
const CASES = Object.entries(TURNS).flatMap(([name, row]) => MANNERS.map((manner) => ({ name, ...row, ...manner })));

interface Options {
  readonly fidelity?: Fidelity;
  readonly keyOrder?: KeyOrder;
  readonly chunkSize?: number;
  readonly body?: JsonObject;
}

function contextOf({ fidelity = 'full', keyOrder = 'sorted', chunkSize = 4, body = {} }: Options = {}): AnswerContext {
  return {
    request: openaiResponses.readRequest({ model: 'gpt-5.5', stream: true, ...body }),
    fidelity,
    keyOrder,
    chunkSize,
    stamps: stampsFrom('test', new Date('2026-08-19T14:34:11Z')),
    requestId: 'req_test',
  };
}

const bytesOf = (events: readonly StreamEvent[]): Buffer =>
  Buffer.concat(encodeEvents(events).map(({ bytes }) => bytes));

function object(value: unknown): JsonObject {
  if (!isObject(value)) throw new TypeError(`not an object: ${JSON.stringify(value)}`);
  return value;
}

function list(value: unknown): readonly JsonObject[] {
  if (!Array.isArray(value)) throw new TypeError(`not a list: ${JSON.stringify(value)}`);
  return value.map(object);
}

const dataOf = (events: readonly StreamEvent[]): JsonObject[] =>
  events.map((event, sequence) => object(JSON.parse(event.data?.(sequence) ?? '')));

const tell = (turn: Turn, options?: Options): readonly DialectEvent[] =>
  openaiResponses.tell(turn, contextOf(options)).events;

const terminalOf = (turn: Turn, options?: Options): JsonObject => object(dataOf(tell(turn, options)).at(-1)?.response);

const contentMarks = ({ bytes, marks }: Marked): { kind: string; text: unknown }[] =>
  marks
    .filter(({ kind }) => ['text', 'reasoning', 'refusal', 'tool_args'].includes(kind))
    .map(({ kind, start, end }) => ({ kind, text: JSON.parse(`"${bytes.toString('utf8', start, end)}"`) }));

describe('the referee', () => {
  it.each(CASES)('accepts $name, $fidelity, $keyOrder', ({ turn, terminal, fidelity, keyOrder }) => {
    const verdict = check('openai-responses', bytesOf(tell(turn, { fidelity, keyOrder })), { expect: [terminal] });
    expect(verdict).toMatchObject({ ok: true, terminal, errors: [], warnings: [] });
  });

  it.each(Object.entries(TURNS))('accepts a stream error at each place in %s', (_, { turn }) => {
    const { events, odd } = openaiResponses.tell(turn, contextOf());
    for (let at = 2; at < events.length; at++) {
      const verdict = check('openai-responses', bytesOf([...events.slice(0, at), ...odd('stream_error')]));
      expect(verdict).toMatchObject({ ok: true, terminal: 'failed:server_error', errors: [] });
    }
  });

  it('accepts a keepalive between any two events', () => {
    const { events, odd } = openaiResponses.tell({ ...EMPTY, text: 'Hello' }, contextOf());
    for (let at = 1; at < events.length; at++) {
      const list = [...events.slice(0, at), ...odd('keepalive'), ...events.slice(at)];
      expect(check('openai-responses', bytesOf(list), { expect: ['completed'] })).toMatchObject({ ok: true });
    }
  });

  it.each([1, 2, 3, 5, 7, 1000])('accepts text beyond ASCII in pieces of %i', (chunkSize) => {
    const text = 'naïve 日本語 👩‍👩‍👧 \u0000 \u2028 "q" \\ \r\n end';
    const turn = { ...EMPTY, reasoning: `${text}?`, text };
    const events = tell(turn, { chunkSize });
    expect(check('openai-responses', bytesOf(events), { expect: ['completed'] })).toMatchObject({ ok: true });
    const told = encodeEvents(events).flatMap(contentMarks);
    expect(told.map(({ text }) => text).join('')).toBe(`${text}?${text}`);
  });
});

describe('events', () => {
  it.each(CASES)('have the roles and names of $name, $fidelity, $keyOrder', ({ turn, fidelity, keyOrder }) => {
    const events = tell(turn, { fidelity, keyOrder });
    expect(events.map(({ role }) => role).slice(0, 2)).toEqual(['open', 'open']);
    expect(events.filter(({ role }) => role === 'terminal')).toEqual([events.at(-1)]);
    dataOf(events).forEach((data, index) => {
      expect(data.type).toBe(events[index]?.event);
      expect(data.type).toBe(events[index]?.name);
      expect(data.sequence_number).toBe(index);
    });
  });

  it.each(CASES)('mark their content in $name, $fidelity, $keyOrder', ({ turn, fidelity, keyOrder }) => {
    const events = tell(turn, { fidelity, keyOrder });
    const parts = encodeEvents(events);
    events.forEach((event, index) => {
      const marks = parts.slice(index, index + 1).flatMap(contentMarks);
      expect(marks).toEqual(event.content ? [{ kind: event.content.kind, text: event.content.value }] : []);
      expect(event.role === 'delta').toBe(event.content !== undefined);
    });
  });

  it.each(Object.entries(TURNS))('have the items of %s', (_, { turn, items }) => {
    expect(list(terminalOf(turn).output).map(({ type }) => type)).toEqual(items);
  });

  it('stream arguments in two pieces', () => {
    const events = tell({ ...EMPTY, toolCalls: [CALL], finish: 'tool_calls' });
    expect(events.flatMap(({ content }) => (content ? [content.value] : []))).toEqual(['{"city":"', 'Zürich"}']);
  });

  it('say of the last item alone that it is incomplete', () => {
    const statuses = (turn: Turn): unknown[] => list(terminalOf(turn).output).map(({ status }) => status);
    const cut = { ...EMPTY, reasoning: 'Hm.', text: 'I look.', toolCalls: [CALL, CUT_CALL], finish: 'length' } as const;
    expect(statuses(cut)).toEqual([undefined, 'completed', 'completed', 'incomplete']);
    expect(statuses({ ...cut, finish: 'content_filter', toolCalls: [] })).toEqual([undefined, 'incomplete']);
    expect(terminalOf(cut)).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      completed_at: null,
    });
  });

  it('tell an empty message without a delta', () => {
    expect(tell(EMPTY).map(({ name }) => name)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });

  it('are masked with up to 15 letters, but for refusals, plain streams and clients that decline', () => {
    const turn = { ...EMPTY, reasoning: 'Let me see.', text: 'Hello, world', toolCalls: [CALL] };
    const masks = (told: Turn, options?: Options): unknown[] =>
      dataOf(tell(told, options).filter(({ role }) => role === 'delta')).map(({ obfuscation }) => obfuscation);
    for (const mask of masks(turn)) expect(mask).toMatch(/^[A-Za-z0-9]{0,15}$/);
    const none = (list: unknown[]): boolean => list.length > 0 && list.every((mask) => mask === undefined);
    expect(none(masks({ ...EMPTY, refusal: 'I can’t.' }))).toBe(true);
    expect(none(masks(turn, { fidelity: 'plain' }))).toBe(true);
    expect(none(masks(turn, { body: { stream_options: { include_obfuscation: false } } }))).toBe(true);
  });

  it('are the same bytes for the same stamps', () => {
    const turn = { ...EMPTY, reasoning: 'Hm.', text: 'Hello', toolCalls: [CALL] };
    expect(bytesOf(tell(turn))).toEqual(bytesOf(tell(turn)));
  });

  it('have ids of the recorded forms', () => {
    const response = terminalOf({ ...EMPTY, reasoning: 'Hm.', text: 'I look.', toolCalls: [CALL, CALL] });
    expect(response.id).toMatch(/^resp_[0-9a-f]{50}$/);
    const output = list(response.output);
    expect(output.map(({ id }) => String(id).replace(/_[0-9a-f]{50}$/, ''))).toEqual(['rs', 'msg', 'fc', 'fc']);
    for (const { call_id } of output.slice(2)) expect(call_id).toMatch(/^call_[A-Za-z0-9]{24}$/);
    expect(new Set(output.map(({ id }) => id)).size).toBe(4);
    expect(new Set(output.slice(2).map(({ call_id }) => call_id)).size).toBe(2);
  });
});

describe('odd events', () => {
  const { odd } = openaiResponses.tell({ ...EMPTY, text: 'Hello' }, contextOf());
  const lines = (kind: Parameters<typeof odd>[0]): string => bytesOf(odd(kind)).toString();

  it('are malformed in the JSON or in its shape', () => {
    expect(lines('malformed_json')).toBe('event: response.output_text.delta\ndata: {not-json\n\n');
    expect(lines('malformed_event')).toBe(
      'event: response.output_item.added\ndata: {"type":"response.output_item.added","item":null,"output_index":0,"sequence_number":0}\n\n',
    );
    for (const kind of ['malformed_json', 'malformed_event'] as const) {
      expect(odd(kind)).toMatchObject([{ name: kind, role: 'malformed' }]);
    }
  });

  it('are a keepalive as recorded, and the [DONE] of Chat', () => {
    expect(lines('keepalive')).toBe('event: keepalive\ndata: {"type":"keepalive","sequence_number":0}\n\n');
    expect(lines('foreign_terminal')).toBe('data: [DONE]\n\n');
  });

  it.each(KEY_ORDERS)('are an error and a failed response, %s', (keyOrder) => {
    const telling = openaiResponses.tell({ ...EMPTY, text: 'Hello' }, contextOf({ keyOrder }));
    const [error = {}, failed = {}] = dataOf(telling.odd('stream_error'));
    expect(Object.keys(error)).toEqual(
      keyOrder === 'sorted' ? ['type', 'error', 'sequence_number'] : ['type', 'sequence_number', 'error'],
    );
    expect(Object.entries(object(error.error))).toEqual([
      ['type', 'server_error'],
      ['code', 'server_error'],
      ['message', STREAM_ERROR_MESSAGE],
      ['param', null],
    ]);
    const response = object(failed.response);
    expect(response).toMatchObject({
      id: terminalOf({ ...EMPTY, text: 'Hello' }).id,
      status: 'failed',
      error: { code: 'server_error', message: STREAM_ERROR_MESSAGE },
      output: [],
      usage: null,
      service_tier: 'auto',
    });
  });
});

describe('key order', () => {
  /** The newest observed form. */
  function observed(name: string, isForm: (shape: Shape) => boolean): string | undefined {
    return SHAPES[name]?.filter(isForm).toSorted((a, b) => b.last_seen.localeCompare(a.last_seen))[0]?.keys;
  }

  const keys = (value: unknown): string => Object.keys(object(value)).join(' ');

  /** Objects in an event, under the names of the table. */
  function inner(data: JsonObject): [string, unknown][] {
    const phase = data.type === 'response.output_item.added' ? 'added' : 'done';
    const { item, part, response } = data;
    return [
      ...(item ? [[`item ${String(object(item).type)} in ${phase}`, item] as [string, unknown]] : []),
      ...(part ? [[`part ${String(object(part).type)}`, part] as [string, unknown]] : []),
      ...(response ? [[`response object in ${String(data.type)}`, response] as [string, unknown]] : []),
      ...(response && object(response).usage ? [['usage', object(response).usage] as [string, unknown]] : []),
    ];
  }

  const numberedFirst = ({ keys }: Shape): boolean => keys.startsWith('type sequence_number');
  const ALL = Object.entries(TURNS);

  it.each(ALL)('of %s is the newest observed, sorted', (_, { turn }) => {
    for (const data of dataOf(tell(turn))) {
      const form = observed(String(data.type), (shape) => !numberedFirst(shape));
      // Refusals were recorded in the declared order only.
      if (!String(data.type).startsWith('response.refusal')) expect(keys(data)).toBe(form);
      const [type, ...rest] = Object.keys(data);
      expect([type, ...rest]).toEqual(['type', ...rest.toSorted()]);
    }
  });

  it.each(ALL)('of %s is the newest observed of the older form, declared', (_, { turn }) => {
    for (const data of dataOf(tell(turn, { keyOrder: 'declared' }))) {
      expect(keys(data)).toBe(observed(String(data.type), numberedFirst));
    }
  });

  it.each(ALL)('of the objects in %s is the newest observed', (_, { turn }) => {
    for (const keyOrder of KEY_ORDERS) {
      for (const [name, value] of dataOf(tell(turn, { keyOrder })).flatMap(inner)) {
        // Messages with a phase and incomplete responses were last recorded before their siblings.
        const newest: Shape['keys'] | undefined = name.startsWith('item message')
          ? 'id type status content phase role'
          : observed(name.replace('response.incomplete', 'response.completed'), () => true);
        if (name === 'part summary_text') expect(keys(value)).toBe('type text');
        else if (name !== 'response object in response.in_progress') expect(keys(value)).toBe(newest);
      }
    }
  });

  it('leaves out what a plain client does without', () => {
    const [reasoning, message] = list(
      terminalOf({ ...EMPTY, reasoning: 'Hm.', text: 'Hello' }, { fidelity: 'plain' }).output,
    );
    expect(keys(reasoning)).toBe('id type summary');
    expect(keys(message)).toBe('id type status content role');
  });
});

describe('bytes', () => {
  it('are those of a recording, but for ids, times, filler and what was added to the API since', () => {
    const recording = readFileSync(new URL('recordings/openai-responses/text.sse', SHARED), 'utf8');
    const body = { reasoning: { effort: 'low' }, top_p: 0.98, store: false, prompt_cache_retention: '24h' };
    const usage = { inputTokens: 11, outputTokens: 5, reasoningTokens: 0 };
    const told = bytesOf(
      tell({ ...EMPTY, text: 'pong', usage }, { body: { model: 'gpt-5.5-2026-04-23', ...body } }),
    ).toString();
    const neutral = (text: string): string =>
      text
        .replace(/_[0-9a-f]{50}/g, '_ID')
        .replace(/"(created|completed)_at":\d+/g, '"$1_at":0')
        .replace(/"obfuscation":"\w*"/g, '"obfuscation":""')
        .replace(/"tool_usage":.*?"num_requests":0}},/g, '')
        .replace('"cache_write_tokens":0,', '');
    expect(neutral(told)).toBe(neutral(recording));
  });
});

describe('a request', () => {
  it('is read', () => {
    expect(openaiResponses.readRequest({})).toMatchObject({
      stream: false,
      model: 'mock-model',
      maxTokens: undefined,
      includeUsage: false,
      includeObfuscation: true,
      forcesTool: false,
      echo: {},
    });
    const tool_choice = { type: 'function', name: 'get_weather' };
    expect(
      openaiResponses.readRequest({
        model: 'gpt-5.5',
        stream: true,
        max_output_tokens: 16,
        stream_options: { include_obfuscation: false },
        tool_choice,
        input: 'not repeated',
      }),
    ).toEqual({
      stream: true,
      model: 'gpt-5.5',
      maxTokens: 16,
      includeUsage: false,
      includeObfuscation: false,
      forcesTool: true,
      echo: { max_output_tokens: 16, tool_choice },
    });
  });

  it('is repeated in created, in_progress and the terminal', () => {
    const body = {
      instructions: 'Be brief.',
      max_output_tokens: 16,
      max_tool_calls: 2,
      metadata: { a: 'b' },
      parallel_tool_calls: false,
      previous_response_id: 'resp_0',
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      safety_identifier: 's',
      service_tier: 'flex',
      store: false,
      temperature: 0,
      tool_choice: 'required',
      top_logprobs: 3,
      top_p: 0.5,
      truncation: 'auto',
      user: 'u',
    };
    const tools = [
      { type: 'function', name: 'f', parameters: { type: 'object' } },
      { type: 'web_search', user_location: null, search_context_size: 'low' },
    ];
    const asked = { ...body, reasoning: { effort: 'high' }, text: { verbosity: 'low' }, tools };
    const data = dataOf(tell({ ...EMPTY, text: 'Hello' }, { body: asked }));
    const responses = data.flatMap(({ response }) => (response ? [object(response)] : []));
    expect(responses).toHaveLength(3);
    for (const response of responses) {
      expect(response).toMatchObject(body);
      expect(response.reasoning).toEqual({ effort: 'high', summary: null });
      expect(response.text).toEqual({ format: { type: 'text' }, verbosity: 'low' });
      expect(JSON.stringify(response.tools)).toBe(
        '[{"type":"function","description":null,"name":"f","output_schema":null,"parameters":{"type":"object"},"strict":true},' +
          '{"type":"web_search","search_context_size":"low","user_location":null}]',
      );
    }
    const sent = bytesOf(tell(EMPTY, { body: asked })).toString();
    expect(sent).toContain('"temperature":0.0,');
    expect(sent).toContain('"top_p":0.5,');
  });

  it('is silent about a setting of the wrong type', () => {
    const wrong = { instructions: 1, tools: [null], metadata: [], temperature: 'hot', tool_choice: null, user: null };
    expect(openaiResponses.readRequest(wrong).echo).toEqual({});
  });
});

describe('a JSON body', () => {
  it.each(CASES)('is the response of $name, $fidelity, $keyOrder', ({ turn, fidelity, keyOrder }) => {
    const options = { fidelity, keyOrder };
    const { json } = openaiResponses.whole(turn, contextOf(options));
    const { billing, ...body } = object(JSON.parse(json));
    const { usage: _, ...streamed } = terminalOf(turn, options);
    expect(billing).toEqual({ payer: 'developer' });
    expect(body).toMatchObject(streamed);
    expect(body.usage).toEqual({
      input_tokens: 12,
      input_tokens_details: { cache_write_tokens: 0, cached_tokens: 0 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 21,
    } satisfies Response['usage']);
  });

  it.each(Object.entries(TURNS))('marks its content in order in %s', (_, { turn }) => {
    const marks = contentMarks(encodeWhole(openaiResponses.whole(turn, contextOf())));
    expect(marks).toEqual(
      [
        { kind: 'reasoning', text: turn.reasoning },
        { kind: 'text', text: turn.text },
        { kind: 'refusal', text: turn.refusal },
        ...turn.toolCalls.map((call) => ({ kind: 'tool_args', text: call.arguments })),
      ].filter(({ text }) => text !== ''),
    );
  });

  it('is indented by two, with floats', () => {
    const { json } = openaiResponses.whole({ ...EMPTY, text: 'a\nb' }, contextOf());
    const spaced = json.replace(/: (\d+)\.0(?=,\n)/g, ': $1');
    expect(spaced).toBe(JSON.stringify(JSON.parse(json), null, 2));
    expect(json).toContain('\n  "temperature": 1.0,\n');
    expect(json).toContain('\n  "frequency_penalty": 0.0,\n');
  });

  it('says under a 200 that the response failed', () => {
    expect(JSON.parse(openaiResponses.wholeError(contextOf()))).toMatchObject({
      object: 'response',
      status: 'failed',
      error: { code: 'server_error', message: STREAM_ERROR_MESSAGE },
      output: [],
      usage: null,
    });
  });
});

describe('HTTP', () => {
  const errorOf = (kind: (typeof ERROR_KINDS)[number], fidelity: Fidelity = 'full') => {
    const { headers, ...error } = openaiResponses.error(kind, 'mock', 1500, contextOf({ fidelity }));
    return { ...error, headers: new Map(headers.map(([name, value]) => [name.toLowerCase(), value])) };
  };

  it.each(FIDELITIES)('refuses a key as recorded, %s', (fidelity) => {
    const { status, headers, body } = errorOf('auth_error', fidelity);
    expect(status).toBe(401);
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('www-authenticate')).toBe('Bearer realm="OpenAI API"');
    expect(headers.has('vary')).toBe(false);
    const error = { message: 'mock', type: 'invalid_request_error', param: null, code: 'invalid_api_key' };
    expect(body).toBe(JSON.stringify({ error }, null, 2));
  });

  it('says which parameter overflowed', () => {
    expect(JSON.parse(errorOf('context_overflow').body)).toMatchObject({
      error: { param: 'input', code: 'context_length_exceeded' },
    });
  });

  it.each(ERROR_KINDS)('sends no rate limits with %s', (kind) => {
    const { headers } = errorOf(kind);
    expect([...headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
    expect(headers.has('retry-after')).toBe(kind === 'rate_limit');
  });

  it('tells how long to wait', () => {
    const { headers } = errorOf('rate_limit');
    expect([headers.get('retry-after'), headers.get('retry-after-ms')]).toEqual(['2', '1500']);
  });

  it('leaves the errors of Chat as they are', () => {
    const chat = openaiChat.error('auth_error', 'mock', 0, contextOf());
    const names = chat.headers.map(([name]) => name.toLowerCase());
    expect(names).toContain('vary');
    expect(openaiChat.error('rate_limit', 'mock', 0, contextOf()).headers.map(([name]) => name)).toContain(
      'x-ratelimit-limit-requests',
    );
    expect(names).not.toContain('www-authenticate');
    expect(chat.body.endsWith('}\n')).toBe(true);
  });

  it('sends the headers of a stream', () => {
    const headers = openaiResponses.headers('text/event-stream; charset=utf-8', contextOf());
    expect(headers.map(([name]) => name)).toContain('openai-processing-ms');
    expect(openaiResponses.gzipWhenOffered).toBe(false);
  });
});

/** What a client knows of an item from its events. */
interface Seen {
  readonly id: unknown;
  readonly index: number;
  words: string;
  told: string | undefined;
  closed: boolean;
}

/** Reads a stream as a client would, and throws at the first thing that doesn't fit what came before. */
function follow(events: readonly JsonObject[]): void {
  const items: Seen[] = [];
  let id: unknown;
  const must = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(what);
  };
  const wordsIn = (value: JsonObject): unknown =>
    value.text ??
    value.refusal ??
    value.arguments ??
    list(value.content ?? [])
      .concat(list(value.summary ?? []))
      .map(wordsIn)
      .join('');
  for (const [index, event] of events.entries()) {
    const type = String(event.type);
    must(event.sequence_number === index, 'gap in the numbers');
    if (event.response) {
      const response = object(event.response);
      id ??= response.id;
      must(response.id === id, 'another response');
      const terminal = ['response.completed', 'response.incomplete'].includes(type);
      must(terminal === index > 1, `${type} at ${index}`);
      const output = list(response.output);
      must(terminal || output.length === 0, 'output too early');
      if (!terminal) continue;
      must(
        items.every(({ closed }) => closed),
        'an item is open',
      );
      must(output.length === items.length, 'items missing');
      output.forEach((item, at) => {
        must(item.id === items[at]?.id && wordsIn(item) === items[at]?.words, 'output differs from the stream');
      });
      continue;
    }
    const open = items.at(-1);
    if (type === 'response.output_item.added') {
      must(!open || open.closed, 'two items open');
      must(event.output_index === items.length, 'output_index');
      must(wordsIn(object(event.item)) === '', 'words too early');
      items.push({ id: object(event.item).id, index: items.length, words: '', told: undefined, closed: false });
      continue;
    }
    if (!open || open.closed) throw new Error(`${type} outside of an item`);
    must(event.output_index === open.index, 'output_index of another item');
    must((event.item ? object(event.item).id : event.item_id) === open.id, 'id of another item');
    if (type.endsWith('.delta')) {
      must(open.told === undefined, 'delta after done');
      open.words += String(event.delta);
    } else if (!type.endsWith('part.added')) {
      const words = wordsIn(object(event.part ?? event.item ?? event));
      must(words === open.words, `${type} says ${String(words)}, not ${open.words}`);
      open.told = String(words);
      open.closed = type === 'response.output_item.done';
    }
  }
}

describe('every turn', () => {
  const words = fc.string({ unit: 'grapheme', maxLength: 24 });
  const turns: fc.Arbitrary<Turn> = fc.record({
    reasoning: words,
    text: words,
    refusal: fc.oneof(fc.constant(''), words),
    toolCalls: fc.array(fc.record({ name: fc.stringMatching(/^[a-z_]{1,12}$/), arguments: fc.json() }), {
      maxLength: 3,
    }),
    finish: fc.constantFrom<Finish>('stop', 'length', 'tool_calls', 'content_filter', 'refusal'),
    usage: fc.constant(USAGE),
  });
  const manners = fc.record({
    fidelity: fc.constantFrom(...FIDELITIES),
    keyOrder: fc.constantFrom(...KEY_ORDERS),
    chunkSize: fc.integer({ min: 1, max: 9 }),
  });

  it('keeps the invariants at each point of its stream', () => {
    fc.assert(
      fc.property(turns, manners, (turn, manner) => {
        const events = tell(turn, manner);
        const data = dataOf(events);
        for (let length = 0; length <= data.length; length++) follow(data.slice(0, length));
        const verdict = check('openai-responses', bytesOf(events));
        expect(verdict.errors).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it('is told in a form that is cut only by leaving something out', () => {
    fc.assert(
      fc.property(turns, manners, fc.nat(), (turn, manner, seed) => {
        const bytes = bytesOf(tell(turn, manner));
        // A stream that lacks only its last line ends is told whole, and not cut.
        const cut = bytes.subarray(0, seed % (bytes.length - 2));
        expect(check('openai-responses', cut, { allowTruncated: true }).errors.map(({ rule }) => rule)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
