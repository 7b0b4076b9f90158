import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AnswerContext, ERROR_KINDS, isObject, type JsonObject } from '../../../src/sse/dialect.js';
import { deepseekChat } from '../../../src/sse/dialects/deepseek-chat.js';
import { encodeEvents, encodeWhole } from '../../../src/sse/encoder.js';
import { stampsFrom } from '../../../src/sse/stamps.js';
import type { Turn } from '../../../src/sse/turn.js';
import { judge } from '../../support/referee.js';

const SHARED = new URL('../../../../shared/dialects/', import.meta.url);

const USAGE = { inputTokens: 12, outputTokens: 9, reasoningTokens: 4 };
const EMPTY: Turn = { reasoning: '', text: '', refusal: '', toolCalls: [], finish: 'stop', usage: USAGE };
const CALL = { name: 'get_weather', arguments: '{"city":"Zürich"}' };

const TURNS: Readonly<Record<string, Turn>> = {
  text: { ...EMPTY, text: 'Hello, "world"\n✓' },
  reasoning: { ...EMPTY, reasoning: 'Let me see.', text: 'Four.' },
  'two calls': { ...EMPTY, toolCalls: [CALL, { name: 'now', arguments: '{}' }], finish: 'tool_calls' },
  'reasoning and a call': { ...EMPTY, reasoning: 'Hm.', toolCalls: [CALL], finish: 'tool_calls' },
  refusal: { ...EMPTY, refusal: "I'm sorry.", finish: 'refusal' },
  empty: EMPTY,
};

function contextOf(rest: Partial<AnswerContext> = {}, body: JsonObject = {}): AnswerContext {
  return {
    request: deepseekChat.readRequest({ model: 'deepseek-v4-flash', stream: true, ...body }),
    fidelity: 'full',
    keyOrder: 'sorted',
    chunkSize: 4,
    stamps: stampsFrom('test', new Date('2026-08-19T14:34:11Z')),
    requestId: '0123456789abcdef0123456789abcdef',
    ...rest,
  };
}

function object(value: unknown): JsonObject {
  if (!isObject(value)) throw new TypeError(`not an object: ${JSON.stringify(value)}`);
  return value;
}

function list(value: unknown): readonly JsonObject[] {
  if (!Array.isArray(value)) throw new TypeError(`not a list: ${JSON.stringify(value)}`);
  return value.map(object);
}

const linesOf = (turn: Turn, context = contextOf()): string[] =>
  deepseekChat.tell(turn, context).events.map((event, n) => event.data(n));

const bytesOf = (turn: Turn, context = contextOf()): Buffer[] =>
  encodeEvents(deepseekChat.tell(turn, context).events).map(({ bytes }) => bytes);

describe('key order is the newest observed', () => {
  interface Shape {
    readonly keys: string;
    readonly last_seen: string;
  }
  const shapes: Readonly<Record<string, readonly Shape[]>> = JSON.parse(
    readFileSync(new URL('schemas/observed-shapes.json', SHARED), 'utf8'),
  ).shapes['deepseek-chat'];

  function newest(kind: string, has: readonly string[] = [], hasNot: readonly string[] = []): string | undefined {
    return shapes[kind]
      ?.filter(({ keys }) => has.every((key) => keys.split(' ').includes(key)))
      .filter(({ keys }) => !hasNot.some((key) => keys.split(' ').includes(key)))
      .toSorted((a, b) => b.last_seen.localeCompare(a.last_seen))[0]?.keys;
  }
  const keys = (value: unknown): string => Object.keys(object(value)).join(' ');

  it.each(Object.entries(TURNS))('of each object of %s', (_, turn) => {
    const thinking = turn.reasoning !== '';
    const chunks = linesOf(turn)
      .slice(0, -1)
      .map((line) => object(JSON.parse(line)));
    for (const chunk of chunks) expect(keys(chunk)).toBe(newest('chunk'));
    const choices = chunks.flatMap((chunk) => list(chunk.choices));
    expect(choices).toHaveLength(chunks.length);
    for (const choice of choices) expect(keys(choice)).toBe(newest('choice'));
    const deltas = choices.map(({ delta }) => object(delta));
    const [has, hasNot] = thinking ? [['reasoning_content'], []] : [[], ['reasoning_content']];
    expect(keys(deltas[0])).toBe(newest('delta(first)', has, hasNot));
    expect(keys(deltas.at(-1))).toBe(newest('delta(final)', has, hasNot));
    for (const delta of deltas.slice(1, -1)) {
      const form = delta.tool_calls
        ? newest('delta', ['tool_calls'])
        : newest('delta', ['content', ...has], ['tool_calls', ...hasNot]);
      expect(keys(delta)).toBe(form);
    }
    for (const fragment of deltas.flatMap(({ tool_calls }) => (tool_calls ? list(tool_calls) : []))) {
      const form = `${keys(fragment)} {${keys(fragment.function)}}`;
      expect(form).toBe(fragment.id ? newest('tool_call', ['id']) : newest('tool_call', [], ['id']));
    }
    const details = ['completion_tokens_details'];
    expect(keys(chunks.at(-1)?.usage)).toBe(thinking ? newest('usage', details) : newest('usage', [], details));
    expect(chunks.slice(0, -1).map(({ usage }) => usage)).toEqual(chunks.slice(0, -1).map(() => null));
  });
});

/** Reads a stream as a client would, and throws at the first thing that doesn't fit the turn or what came before. */
function follow(lines: readonly string[], turn: Turn): void {
  const must = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(what);
  };
  const thinking = turn.reasoning !== '';
  const words = turn.text + turn.refusal;
  const calls: string[] = [];
  const told = { content: '', reasoning_content: '' };
  let constant: string | undefined;
  let finished = false;
  let done = false;
  for (const [at, line] of lines.entries()) {
    must(!done, 'something after [DONE]');
    if (line === '[DONE]') {
      must(finished, '[DONE] before the finish');
      must(told.content === words && told.reasoning_content === turn.reasoning, 'words are missing');
      must(calls.join('\n') === turn.toolCalls.map((call) => call.arguments).join('\n'), 'arguments are missing');
      done = true;
      continue;
    }
    must(!finished, 'a chunk after the finish');
    const chunk = object(JSON.parse(line));
    const now = JSON.stringify([chunk.id, chunk.object, chunk.created, chunk.model, chunk.system_fingerprint]);
    constant ??= now;
    must(now === constant, 'another stream');
    const [choice, ...others] = list(chunk.choices);
    must(others.length === 0 && choice?.index === 0 && choice.logprobs === null, 'one choice');
    const delta = object(choice?.delta);
    must((at === 0) === 'role' in delta, 'role first and once');
    must(!(delta.content && delta.reasoning_content), 'both fields speak');
    must(!(delta.reasoning_content && told.content), 'reasoning after the answer');
    must('reasoning_content' in delta === (thinking && !delta.tool_calls), 'the reasoning field');
    for (const field of ['content', 'reasoning_content'] as const) told[field] += String(delta[field] ?? '');
    must(words.startsWith(told.content) && turn.reasoning.startsWith(told.reasoning_content), 'other words');
    for (const fragment of delta.tool_calls ? list(delta.tool_calls) : []) {
      const { name, arguments: piece } = object(fragment.function);
      if (fragment.id !== undefined) {
        must(fragment.index === calls.length && piece === '', 'index of a new call');
        must(name === turn.toolCalls[calls.length]?.name, 'name of a new call');
        must(new RegExp(`^call_0${calls.length}_[A-Za-z0-9]{20}$`).test(String(fragment.id)), 'id of a new call');
        calls.push('');
      } else {
        const last = calls.length - 1;
        must(fragment.index === last && name === undefined, 'a fragment of another call');
        calls[last] += String(piece);
        must(turn.toolCalls[last]?.arguments.startsWith(calls[last] ?? '') === true, 'other arguments');
      }
    }
    finished = choice?.finish_reason !== null;
    must(finished === (chunk.usage !== null), 'usage stands in the finish alone');
    if (!finished) continue;
    must(delta.content === '', 'the finish speaks');
    const usage = object(chunk.usage);
    must(usage.total_tokens === Number(usage.prompt_tokens) + Number(usage.completion_tokens), 'total');
    must(usage.prompt_tokens === turn.usage.inputTokens, 'prompt');
    must(usage.completion_tokens === turn.usage.outputTokens, 'completion');
    const cache = Number(usage.prompt_cache_hit_tokens) + Number(usage.prompt_cache_miss_tokens);
    must(usage.prompt_tokens === cache, 'hits and misses');
  }
}

describe('every turn', () => {
  const words = fc.string({ unit: 'grapheme', maxLength: 20 });
  const call = fc.record({ name: fc.stringMatching(/^[a-z_]{1,12}$/), arguments: fc.json() });
  const tokens = fc.record({ inputTokens: fc.nat(999), outputTokens: fc.integer({ min: 99, max: 999 }) });
  const turns: fc.Arbitrary<Turn> = fc
    .record({
      reasoning: words,
      text: words,
      refusal: fc.option(words, { freq: 3, nil: '' }),
      toolCalls: fc.array(call, { maxLength: 3 }),
      finish: fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter', 'refusal'),
      usage: tokens.map((usage) => ({ ...usage, reasoningTokens: 7 })),
    })
    .map((turn) => (turn.toolCalls.length > 0 || turn.finish !== 'tool_calls' ? turn : { ...turn, finish: 'stop' }));

  it('keeps the invariants at each point of its stream, and the referee agrees', () => {
    fc.assert(
      fc.property(turns, fc.integer({ min: 1, max: 9 }), (turn, chunkSize) => {
        const lines = linesOf(turn, contextOf({ chunkSize }));
        const parts = bytesOf(turn, contextOf({ chunkSize }));
        for (let length = 0; length <= lines.length; length++) {
          follow(lines.slice(0, length), turn);
          const body = Buffer.concat(parts.slice(0, length));
          expect(judge('deepseek-chat', body, { allowTruncated: length < lines.length }).errors).toEqual([]);
        }
        const terminal = turn.finish === 'refusal' ? 'stop' : turn.finish;
        expect(judge('deepseek-chat', Buffer.concat(parts), { expect: [terminal] })).toMatchObject({ ok: true });
      }),
      { numRuns: 150, seed: 21 },
    );
  });

  it('is cut at any byte only by leaving something out', () => {
    fc.assert(
      fc.property(turns, fc.nat(), (turn, at) => {
        const bytes = Buffer.concat(bytesOf(turn));
        const cut = bytes.subarray(0, at % (bytes.length - 2));
        expect(judge('deepseek-chat', cut, { allowTruncated: true }).rules).toEqual([]);
      }),
      { numRuns: 150, seed: 22 },
    );
  });

  it('says as one compact JSON body what it says as a stream, and marks it', () => {
    fc.assert(
      fc.property(turns, (turn) => {
        const answer = deepseekChat.whole(turn, contextOf());
        const body = object(JSON.parse(answer.json));
        expect(answer.json).toBe(JSON.stringify(body));
        const message = object(list(body.choices)[0]?.message);
        expect(message.content).toBe(turn.text + turn.refusal);
        expect(message.reasoning_content ?? '').toBe(turn.reasoning);
        const finish = object(JSON.parse(linesOf(turn).at(-2) ?? ''));
        expect(body.usage).toEqual(finish.usage);
        expect(list(body.choices)[0]?.finish_reason).toBe(list(finish.choices)[0]?.finish_reason);
        const { bytes, marks } = encodeWhole(answer);
        const marked = marks.filter(({ kind }) => kind !== 'part');
        const values = marked.map(({ start, end }) => JSON.parse(`"${bytes.toString('utf8', start, end)}"`));
        const words = [turn.text + turn.refusal, turn.reasoning].filter(Boolean);
        expect(values).toEqual([...words, ...turn.toolCalls.map((called) => called.arguments)]);
      }),
      { numRuns: 100, seed: 23 },
    );
  });
});

describe('bytes', () => {
  it('of a text stream are the recorded ones but for the id and the time', () => {
    const recording = readFileSync(new URL('recordings/deepseek-chat/text.sse', SHARED), 'utf8');
    const usage = { inputTokens: 11, outputTokens: 8, reasoningTokens: 0 };
    const told = Buffer.concat(bytesOf({ ...EMPTY, text: '1, 2, 3.', usage }, contextOf({ chunkSize: 1 })));
    const neutral = (text: string): string =>
      text
        .replace(/"id":"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"/g, '"id":"…"')
        .replace(/"created":\d{10}/g, '"created":0');
    expect(neutral(told.toString())).toBe(neutral(recording));
  });
});

describe('HTTP', () => {
  type Headers = readonly (readonly [string, string])[];
  const framing = ['Transfer-Encoding', 'Connection', 'Content-Length'];
  const namesOf = (headers: Headers): string[] =>
    headers.map(([name]) => name).filter((name) => !framing.includes(name));

  it.each(['text', 'tool-single'])('sends the headers of %s in their order and form', (name) => {
    const file = new URL(`recordings/deepseek-chat/${name}.headers.json`, SHARED);
    const recorded: [string, string][] = JSON.parse(readFileSync(file, 'utf8')).headers;
    const theirs = recorded.filter(([known]) => !framing.includes(known));
    const ours = deepseekChat.headers('text/event-stream; charset=utf-8', contextOf());
    expect(namesOf(ours)).toEqual(namesOf(theirs));
    const forms: Readonly<Record<string, RegExp>> = {
      Date: /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/,
      'x-ds-trace-id': /^[0-9a-f]{32}$/,
      Via: /^1\.1 [0-9a-f]{32}\.cloudfront\.net \(CloudFront\)$/,
      'X-Amz-Cf-Pop': /^TXL5\d-P\d$/,
      'X-Amz-Cf-Id': /^[\w-]{54}==$/,
    };
    for (const [at, [header, value]] of ours.entries()) {
      const other = theirs[at]?.[1];
      const form = forms[header];
      if (!form) expect([header, value]).toEqual([header, other]);
      else for (const text of [value, other]) expect(text).toMatch(form);
    }
  });

  const recordings = [
    ['context_overflow', 'deepseek-400-context-length-exceeded.http'],
    ['invalid_request', 'deepseek-400-context-length-exceeded.http'],
    ['auth_error', 'deepseek-401-invalid-api-key.http'],
    ['quota_exceeded', 'deepseek-402-insufficient-balance.http'],
  ] as const;
  const errorOf = (kind: (typeof ERROR_KINDS)[number], rest?: Partial<AnswerContext>) =>
    deepseekChat.error(kind, 'why', 1500, contextOf(rest));
  function recorded(file: string): { status: number; headers: Headers; body: string } {
    const text = readFileSync(new URL(`recordings/http-errors/${file}`, SHARED), 'utf8');
    const end = text.indexOf('\r\n\r\n');
    const [status = '', ...lines] = text.slice(0, end).split('\r\n');
    const headers = lines.map((line): [string, string] => [line.split(': ')[0] ?? '', line.split(': ')[1] ?? '']);
    return { status: Number(status.split(' ')[1]), headers, body: text.slice(end + 4) };
  }

  it.each(recordings)('%s is %s but for the message', (kind, file) => {
    const theirs = recorded(file);
    const ours = errorOf(kind);
    expect(ours.status).toBe(theirs.status);
    expect(ours.body.replace('"why"', '"…"')).toBe(theirs.body.replace(/"message":"[^"]*"/, '"message":"…"'));
    expect(ours.headers.find(([name]) => name === 'Content-Type')).toEqual(
      theirs.headers.find(([name]) => name === 'Content-Type'),
    );
  });

  // The 402 was copied from an issue, without its CloudFront headers.
  it.each(recordings.slice(0, 3))('%s has the header names of %s in their order', (kind, file) => {
    expect(namesOf(errorOf(kind).headers)).toEqual(namesOf(recorded(file).headers));
  });

  it.each(recordings.slice(0, 3))('%s has the X-Cache of %s', (kind, file) => {
    const cache = ({ headers }: { headers: Headers }) => headers.find(([name]) => name === 'X-Cache')?.[1];
    expect(cache(errorOf(kind))).toBe(cache(recorded(file)));
  });

  it.each(ERROR_KINDS)('%s says when to come back only where that helps', (kind) => {
    const headers = Object.fromEntries(errorOf(kind, { fidelity: 'plain', requestId: 'trace' }).headers);
    expect([headers['retry-after'], headers['retry-after-ms']]).toEqual(
      kind === 'rate_limit' ? ['2', '1500'] : [undefined, undefined],
    );
    expect(headers['x-ds-trace-id']).toBe('trace');
  });
});
