import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AnswerContext, ERROR_KINDS, isObject, type JsonObject } from '../../../src/sse/dialect.js';
import { openaiChat } from '../../../src/sse/dialects/openai-chat.js';
import { encodeEvents, encodeWhole } from '../../../src/sse/encoder.js';
import { stampsFrom } from '../../../src/sse/stamps.js';
import type { Turn } from '../../../src/sse/turn.js';
import { judge } from '../../support/referee.js';

const SHARED = new URL('../../../../shared/dialects/', import.meta.url);

const USAGE = { inputTokens: 12, outputTokens: 9, reasoningTokens: 4 };
const EMPTY: Turn = { reasoning: '', text: '', refusal: '', toolCalls: [], finish: 'stop', usage: USAGE };
const CALL = { name: 'get_weather', arguments: '{"city":"Zürich"}' };

const TURNS = {
  text: { ...EMPTY, text: 'Hello, "world"\n✓' },
  'hidden reasoning': { ...EMPTY, reasoning: 'Let me see.', text: 'Four.' },
  'one call': { ...EMPTY, toolCalls: [CALL], finish: 'tool_calls' },
  'two calls': { ...EMPTY, toolCalls: [CALL, { name: 'now', arguments: '{}' }], finish: 'tool_calls' },
  'text and a call': { ...EMPTY, text: 'I look.', toolCalls: [CALL], finish: 'tool_calls' },
  refusal: { ...EMPTY, refusal: "I'm sorry.", finish: 'refusal' },
  empty: EMPTY,
} as const satisfies Record<string, Turn>;

function contextOf(body: JsonObject = {}, rest: Partial<AnswerContext> = {}): AnswerContext {
  return {
    request: openaiChat.readRequest({ model: 'gpt-5.4', stream: true, ...body }),
    fidelity: 'full',
    keyOrder: 'sorted',
    chunkSize: 4,
    stamps: stampsFrom('test', new Date('2026-08-19T14:34:11Z')),
    requestId: 'req_test',
    ...rest,
  };
}

const WITH_USAGE = { stream_options: { include_usage: true } };

function object(value: unknown): JsonObject {
  if (!isObject(value)) throw new TypeError(`not an object: ${JSON.stringify(value)}`);
  return value;
}

function list(value: unknown): readonly JsonObject[] {
  if (!Array.isArray(value)) throw new TypeError(`not a list: ${JSON.stringify(value)}`);
  return value.map(object);
}

const linesOf = (turn: Turn, context = contextOf()): string[] =>
  openaiChat.tell(turn, context).events.map((event, n) => event.data(n));

const bytesOf = (turn: Turn, context: AnswerContext): Buffer[] =>
  encodeEvents(openaiChat.tell(turn, context).events).map(({ bytes }) => bytes);

const chunksOf = (turn: Turn, context = contextOf()): JsonObject[] =>
  linesOf(turn, context)
    .slice(0, -1)
    .map((line) => object(JSON.parse(line)));

describe('key order is the newest observed', () => {
  interface Shape {
    readonly keys: string;
    readonly last_seen: string;
  }
  const shapes: Readonly<Record<string, readonly Shape[]>> = JSON.parse(
    readFileSync(new URL('schemas/observed-shapes.json', SHARED), 'utf8'),
  ).shapes['openai-chat'];

  function newest(kind: string, has: readonly string[], hasNot: readonly string[] = []): string | undefined {
    return shapes[kind]
      ?.filter(({ keys }) => has.every((key) => keys.split(' ').includes(key)))
      .filter(({ keys }) => !hasNot.some((key) => keys.split(' ').includes(key)))
      .toSorted((a, b) => b.last_seen.localeCompare(a.last_seen))[0]?.keys;
  }
  const keys = (value: unknown): string => Object.keys(object(value)).join(' ');

  it.each([
    ['full', true, true, ['obfuscation', 'usage'], []],
    ['full', false, true, ['obfuscation'], ['usage']],
    ['full', true, false, ['usage', 'service_tier'], ['obfuscation']],
    ['full', false, false, ['service_tier'], ['obfuscation', 'usage']],
    ['plain', true, true, ['usage'], ['obfuscation', 'service_tier']],
    ['plain', false, true, [], ['obfuscation', 'service_tier', 'usage']],
  ] as const)(
    'of a chunk: %s, usage %s, obfuscation %s',
    (fidelity, include_usage, include_obfuscation, has, hasNot) => {
      const context = () => contextOf({ stream_options: { include_usage, include_obfuscation } }, { fidelity });
      const form = newest('chunk', has, hasNot);
      expect(form).toBeDefined();
      for (const turn of Object.values(TURNS)) {
        for (const chunk of chunksOf(turn, context())) expect(keys(chunk)).toBe(form);
      }
    },
  );

  it.each([
    ['text', ['content', 'refusal'], ['tool_calls']],
    ['hidden reasoning', ['content', 'refusal'], ['tool_calls']],
    ['one call', ['tool_calls'], []],
    ['two calls', [], ['tool_calls', 'refusal']],
    ['text and a call', ['content', 'refusal'], ['tool_calls']],
    ['refusal', ['content', 'refusal'], ['tool_calls']],
    ['empty', ['content', 'refusal'], ['tool_calls']],
  ] as const)('of the choices, deltas and fragments of %s', (name, has, hasNot) => {
    const choices = chunksOf(TURNS[name], contextOf(WITH_USAGE)).flatMap((chunk) => list(chunk.choices));
    for (const choice of choices) expect(keys(choice)).toBe(newest('choice', []));
    const deltas = choices.map(({ delta }) => object(delta));
    expect(keys(deltas[0])).toBe(newest('delta(first)', has, hasNot));
    expect(keys(deltas.at(-1))).toBe(newest('delta(final)', []));
    const middle = deltas.slice(1, -1).map(keys);
    for (const form of middle) expect(form).toBe(newest('delta', [form]));
    const fragments = deltas.flatMap(({ tool_calls }) => (tool_calls ? list(tool_calls) : []));
    for (const fragment of fragments) {
      const form = `${keys(fragment)} {${keys(fragment.function)}}`;
      expect(form).toBe(newest('tool_call', fragment.id ? ['id'] : [], fragment.id ? [] : ['id']));
    }
  });

  it('of the usage', () => {
    const usage = chunksOf(TURNS.text, contextOf(WITH_USAGE)).at(-1)?.usage;
    expect(keys(usage)).toBe(newest('usage', []));
  });
});

/** Reads a stream as a client would, and throws at the first thing that doesn't fit the turn or what came before. */
function follow(lines: readonly string[], turn: Turn, usageAsked: boolean): void {
  const must = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(what);
  };
  const calls: string[] = [];
  const told = { content: '', refusal: '' };
  let constant: string | undefined;
  let finish: unknown;
  let usage: unknown;
  let done = false;
  for (const [at, line] of lines.entries()) {
    must(!done, 'something after [DONE]');
    if (line === '[DONE]') {
      must(finish !== undefined, '[DONE] before the finish');
      must(!usageAsked || usage !== undefined, '[DONE] before the usage');
      must(told.content + told.refusal === turn.text + turn.refusal, 'words are missing');
      must(calls.join('\n') === turn.toolCalls.map((call) => call.arguments).join('\n'), 'arguments are missing');
      done = true;
      continue;
    }
    const chunk = object(JSON.parse(line));
    const now = JSON.stringify([chunk.id, chunk.object, chunk.created, chunk.model]);
    constant ??= now;
    must(now === constant, 'another stream');
    must(usageAsked === 'usage' in chunk, 'usage key');
    const [choice, ...others] = list(chunk.choices);
    must(others.length === 0, 'two choices');
    if (!choice) {
      must(usageAsked && finish !== undefined && usage === undefined, 'a chunk without choices');
      usage = chunk.usage;
      const { prompt_tokens, completion_tokens, total_tokens } = object(usage);
      must(total_tokens === Number(prompt_tokens) + Number(completion_tokens), 'total');
      must(prompt_tokens === turn.usage.inputTokens && completion_tokens === turn.usage.outputTokens, 'tokens');
      continue;
    }
    must(!usageAsked || chunk.usage === null, 'usage too early');
    must(choice.index === 0 && finish === undefined, 'a delta after the finish');
    const delta = object(choice.delta);
    must((at === 0) === 'role' in delta, 'role first and once');
    for (const field of ['content', 'refusal'] as const) told[field] += String(delta[field] ?? '');
    must(turn.text.startsWith(told.content) && turn.refusal.startsWith(told.refusal), 'other words');
    for (const fragment of delta.tool_calls ? list(delta.tool_calls) : []) {
      const { name, arguments: piece } = object(fragment.function);
      if (fragment.id !== undefined) {
        must(fragment.index === calls.length, 'index of a new call');
        must(name === turn.toolCalls[calls.length]?.name && piece === '', 'a call opens with its name alone');
        calls.push('');
      } else {
        const last = calls.length - 1;
        must(fragment.index === last && name === undefined, 'a fragment of another call');
        calls[last] += String(piece);
        must(turn.toolCalls[last]?.arguments.startsWith(calls[last] ?? '') === true, 'other arguments');
      }
    }
    if (choice.finish_reason !== null) finish = choice.finish_reason;
    must(finish === undefined || Object.keys(delta).length === 0, 'the finish says something else');
  }
}

describe('every turn', () => {
  const words = fc.string({ unit: 'grapheme', maxLength: 20 });
  const call = fc.record({ name: fc.stringMatching(/^[a-z_]{1,12}$/), arguments: fc.json() });
  const usage = fc.record({ inputTokens: fc.nat(999), outputTokens: fc.integer({ min: 99, max: 999 }) });
  const turns: fc.Arbitrary<Turn> = fc
    .record({
      reasoning: words,
      text: words,
      refusal: fc.option(words, { freq: 3, nil: '' }),
      toolCalls: fc.array(call, { maxLength: 3 }),
      finish: fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter', 'refusal'),
      usage: usage.map((tokens) => ({ ...tokens, reasoningTokens: 7 })),
    })
    // A refusal stands instead of an answer, and only calls are finished as such.
    .map((turn) => (turn.refusal === '' ? turn : { ...turn, text: '', toolCalls: [] }))
    .map((turn) => (turn.toolCalls.length > 0 || turn.finish !== 'tool_calls' ? turn : { ...turn, finish: 'stop' }));
  const manners = fc.record({
    fidelity: fc.constantFrom('full', 'plain'),
    chunkSize: fc.integer({ min: 1, max: 9 }),
    include_usage: fc.boolean(),
    include_obfuscation: fc.boolean(),
  });

  it('keeps the invariants at each point of its stream, and the referee agrees', () => {
    fc.assert(
      fc.property(turns, manners, (turn, { include_usage, include_obfuscation, ...rest }) => {
        const context = () => contextOf({ stream_options: { include_usage, include_obfuscation } }, rest);
        const lines = linesOf(turn, context());
        const parts = bytesOf(turn, context());
        for (let length = 0; length <= lines.length; length++) {
          follow(lines.slice(0, length), turn, include_usage);
          const body = Buffer.concat(parts.slice(0, length));
          expect(judge('openai-chat', body, { allowTruncated: length < lines.length }).errors).toEqual([]);
        }
        const terminal = turn.finish === 'refusal' ? 'stop' : turn.finish;
        expect(judge('openai-chat', Buffer.concat(parts), { expect: [terminal] })).toMatchObject({
          ok: true,
          terminal,
        });
      }),
      { numRuns: 150, seed: 11 },
    );
  });

  it('is cut at any byte only by leaving something out', () => {
    fc.assert(
      fc.property(turns, fc.nat(), (turn, at) => {
        const bytes = Buffer.concat(bytesOf(turn, contextOf(WITH_USAGE)));
        const verdict = judge('openai-chat', bytes.subarray(0, at % (bytes.length - 2)), { allowTruncated: true });
        expect(verdict.rules).toEqual([]);
      }),
      { numRuns: 150, seed: 12 },
    );
  });

  it('says as one JSON body what it says as a stream', () => {
    fc.assert(
      fc.property(turns, (turn) => {
        const answer = openaiChat.whole(turn, contextOf({ stream: false }));
        const [choice = {}] = list(object(JSON.parse(answer.json)).choices);
        const message = object(choice.message);
        expect(`${message.content ?? ''}${message.refusal ?? ''}`).toBe(turn.text + turn.refusal);
        const calls = message.tool_calls ? list(message.tool_calls) : [];
        const told = calls.map(({ function: called }) => object(called));
        expect(told).toEqual(turn.toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args })));
        expect(choice.finish_reason).toBe(turn.finish === 'refusal' ? 'stop' : turn.finish);
        const { bytes, marks } = encodeWhole(answer);
        const marked = marks.filter(({ kind }) => kind !== 'part');
        const values = marked.map(({ start, end }) => JSON.parse(`"${bytes.toString('utf8', start, end)}"`));
        expect(values.join('\n')).toBe(
          [turn.text, ...turn.toolCalls.map((call) => call.arguments), turn.refusal].filter(Boolean).join('\n'),
        );
      }),
      { numRuns: 100, seed: 13 },
    );
  });
});

describe('bytes', () => {
  it.each([
    ['text.sse', WITH_USAGE],
    ['tool-single.sse', WITH_USAGE],
  ])('of %s are the recorded ones but for ids, times and filler', (file, body) => {
    const recording = readFileSync(new URL(`recordings/openai-chat/${file}`, SHARED), 'utf8');
    const chunks = [...recording.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => object(JSON.parse(json)));
    const usage = object(chunks.at(-1)?.usage);
    const deltas = chunks.flatMap((chunk) => list(chunk.choices)).map(({ delta }) => object(delta));
    const calls = deltas.flatMap(({ tool_calls }) => (tool_calls ? list(tool_calls) : []));
    const name = calls.map(({ function: called }) => object(called).name).find((known) => known !== undefined);
    const turn: Turn = {
      ...EMPTY,
      text: deltas.map(({ content }) => String(content ?? '')).join(''),
      toolCalls: name === undefined ? [] : [{ name: String(name), arguments: '{}' }],
      finish: name === undefined ? 'stop' : 'tool_calls',
      usage: {
        inputTokens: Number(usage.prompt_tokens),
        outputTokens: Number(usage.completion_tokens),
        reasoningTokens: 0,
      },
    };
    const context = contextOf({ ...body, model: String(chunks[0]?.model) }, { chunkSize: 1 });
    // The recorded pieces are tokens: the same words in one piece.
    const joined = (text: string): string =>
      text
        .replace(/"(chatcmpl-|call_)\w+"/g, '"$1"')
        .replace(/"created":\d+/g, '"created":0')
        .replace(/"obfuscation":"\w*"/g, '"obfuscation":""')
        .replace(/"delta":\{"content":"[^"]*"\}/g, '"delta":{"content":"…"}')
        .replace(/"arguments":"[^"]+"/g, '"arguments":"…"');
    const unique = (text: string): string[] => [...new Set(joined(text).split('\n\n'))];
    expect(unique(Buffer.concat(bytesOf(turn, context)).toString())).toEqual(unique(recording));
  });

  it('finish a call of the one function that the request names with stop', () => {
    const context = contextOf({ tool_choice: { type: 'function', function: { name: 'get_weather' } } });
    expect(chunksOf(TURNS['one call'], context).at(-1)?.choices).toEqual([
      { index: 0, delta: {}, finish_reason: 'stop' },
    ]);
  });
});

describe('HTTP', () => {
  const framing = ['transfer-encoding', 'connection', 'content-length'];
  /** Some recordings have these, some have not. */
  const optional = ['set-cookie', 'x-openai-proxy-wasm', 'x-envoy-upstream-service-time'];
  const isOurs = (name: string): boolean => ![...framing, ...optional].includes(name.toLowerCase());

  it('sends the header names of the recordings, in the order of DIALECTS.md', () => {
    const folder = new URL('recordings/openai-chat/', SHARED);
    const recorded: string[][] = readdirSync(folder)
      .filter((file) => file.endsWith('.headers.json'))
      .map((file) =>
        JSON.parse(readFileSync(new URL(file, folder), 'utf8')).headers.map(([name = '']: string[]) => name),
      );
    const ours = openaiChat.headers('text/event-stream; charset=utf-8', contextOf()).map(([name]) => name);
    const known = new Set(recorded.flat());
    expect(ours.filter((name) => !known.has(name))).toEqual([]);
    const newest: [string, string][] = JSON.parse(readFileSync(new URL('text.headers.json', folder), 'utf8')).headers;
    expect(newest.map(([name]) => name).filter((name) => isOurs(name) && !ours.includes(name))).toEqual([]);
    const [, order = ''] = /^OpenAI 200: `(.*)`/m.exec(readFileSync(new URL('DIALECTS.md', SHARED), 'utf8')) ?? [];
    const places = ours
      .filter((name) => !name.startsWith('x-ratelimit'))
      .map((name) => order.search(new RegExp(`(^|, )${name}\\b`)));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  const recordings = {
    invalid_request: 'openai-400-chat-invalid-schema.http',
    auth_error: 'openai-401-chat-invalid-api-key.http',
    quota_exceeded: 'openai-429-chat-insufficient-quota.http',
  } as const;
  const errorOf = (kind: (typeof ERROR_KINDS)[number], context = contextOf()) =>
    openaiChat.error(kind, 'why', 1500, context);
  function recorded(kind: keyof typeof recordings) {
    const text = readFileSync(new URL(`recordings/http-errors/${recordings[kind]}`, SHARED), 'utf8');
    const end = text.indexOf('\r\n\r\n');
    const [status = '', ...lines] = text.slice(0, end).split('\r\n');
    const headers = lines.map((line): [string, string] => [line.split(': ')[0] ?? '', line.split(': ')[1] ?? '']);
    return { status: Number(status.split(' ')[1]), headers, body: text.slice(end + 4) };
  }
  const layout = (body: string): string => body.replace(/: ("(\\.|[^"\\])*"|null)/g, ': …');
  const kinds = ['invalid_request', 'auth_error', 'quota_exceeded'] as const;

  it.each(kinds)('%s has the recorded status, keys, layout and content type', (kind) => {
    const theirs = recorded(kind);
    const ours = errorOf(kind);
    expect(ours.status).toBe(theirs.status);
    expect(layout(ours.body)).toBe(layout(theirs.body));
    expect(object(JSON.parse(ours.body)).error).toMatchObject({
      message: 'why',
      type: object(object(JSON.parse(theirs.body)).error).type,
    });
    const header = (list: readonly (readonly [string, string])[], name: string) =>
      list.find(([known]) => known.toLowerCase() === name)?.[1];
    for (const name of ['content-type', 'vary']) expect(header(ours.headers, name)).toBe(header(theirs.headers, name));
  });

  // The quota's recording is of 2023, when all answers had fewer headers.
  it.each(['invalid_request', 'auth_error'] as const)('%s has the recorded header names and no other', (kind) => {
    const names = (headers: readonly (readonly [string, string])[]): string[] => headers.map(([name]) => name);
    const theirs = names(recorded(kind).headers).filter(isOurs);
    expect(names(errorOf(kind).headers).toSorted()).toEqual(theirs.toSorted());
  });

  it.each(ERROR_KINDS)('%s says when to come back only where that helps', (kind) => {
    const headers = Object.fromEntries(errorOf(kind, contextOf({}, { fidelity: 'plain' })).headers);
    expect([headers['retry-after'], headers['retry-after-ms']]).toEqual(
      kind === 'rate_limit' ? ['2', '1500'] : [undefined, undefined],
    );
    expect(headers['x-request-id']).toBe('req_test');
  });
});
