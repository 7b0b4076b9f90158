import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AnswerContext,
  type DialectEvent,
  FIDELITIES,
  isObject,
  type JsonObject,
  STREAM_ERROR_MESSAGE,
  type StreamEvent,
} from '../../../src/sse/dialect.js';
import { anthropicMessages } from '../../../src/sse/dialects/anthropic-messages.js';
import { encodeEvents, encodeWhole } from '../../../src/sse/encoder.js';
import type { Mark } from '../../../src/sse/mark.js';
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
    requestId: anthropicMessages.requestId(stampsFrom('request', new Date(0))),
    ...parts,
  };
}

const wire = (events: readonly StreamEvent[]): Buffer => Buffer.concat(encodeEvents(events).map(({ bytes }) => bytes));

const isContent = ({ kind }: Mark): boolean => ['reasoning', 'text', 'refusal', 'tool_args'].includes(kind);
const tell = (of: Turn, parts?: Partial<AnswerContext>) => anthropicMessages.tell(of, context(parts));

function parse(json: string): JsonObject {
  const value: unknown = JSON.parse(json);
  if (!isObject(value)) throw new Error(`no object: ${json}`);
  return value;
}

const read = (event: StreamEvent): JsonObject => parse(event.data?.(0) ?? '');
const part = (of: JsonObject, key: string): JsonObject => {
  const value = of[key];
  if (!isObject(value)) throw new Error(`${key} is no object`);
  return value;
};

/** A reader of events, independent of the referee: the order that the protocol prescribes. Throws where it is broken. */
function walk(events: readonly DialectEvent[]): { open: string | undefined; blocks: string[]; ended: boolean } {
  let phase: 'none' | 'message' | 'finished' | 'ended' = 'none';
  let open: string | undefined;
  const blocks: string[] = [];
  const need = (condition: boolean, what: string): void => {
    if (!condition) throw new Error(`${what}, in phase ${phase}, block ${open}`);
  };
  for (const event of events) {
    const data = read(event);
    need(event.event === data.type, 'the event line differs from the type');
    need(phase !== 'ended', 'something after the end');
    switch (data.type) {
      case 'message_start':
        need(phase === 'none', 'second start');
        phase = 'message';
        break;
      case 'ping':
        need(phase !== 'none', 'ping before the start');
        break;
      case 'content_block_start':
        need(phase === 'message' && open === undefined && data.index === blocks.length, 'start of a block');
        open = String(part(data, 'content_block').type);
        blocks.push(open);
        break;
      case 'content_block_delta':
        need(open !== undefined && data.index === blocks.length - 1, 'delta outside of its block');
        break;
      case 'content_block_stop':
        need(open !== undefined && data.index === blocks.length - 1, 'stop outside of its block');
        open = undefined;
        break;
      case 'message_delta':
        need(phase === 'message' && open === undefined, 'message_delta');
        phase = 'finished';
        break;
      case 'message_stop':
        need(phase === 'finished', 'message_stop');
        phase = 'ended';
        break;
      default:
        need(false, `unknown type ${data.type}`);
    }
  }
  return { open, blocks, ended: phase === 'ended' };
}

describe.each(FIDELITIES)('a turn in fidelity %s', (fidelity) => {
  test.each(Object.entries(TURNS))('%s satisfies the referee', (_name, { turn: of, stop, blocks }) => {
    const { events } = tell(of, { fidelity });
    const verdict = referee.check('anthropic', wire(events), { expect: [stop] });
    expect(verdict).toMatchObject({ ok: true, terminal: stop, errors: [], warnings: [] });
    expect(walk(events)).toEqual({ open: undefined, blocks, ended: true });
    expect(events.filter(({ role }) => role === 'keepalive')).toHaveLength(1);
    expect(events[2]?.data(0)).toBe('{"type": "ping"}');
  });

  test.each([1, 3, 7, 1000])('content in deltas of %i code points comes back, mark by mark', (chunkSize) => {
    for (const { turn: of } of Object.values(TURNS)) {
      const { events } = tell(of, { fidelity, chunkSize });
      const told: Record<string, string> = { reasoning: '', text: '', refusal: '', tool_args: '' };
      encodeEvents(events).forEach(({ bytes, marks }, at) => {
        const content = events[at]?.content;
        const mark = marks.find(isContent);
        expect(mark?.kind).toBe(content?.kind);
        if (!mark || !content) return;
        const value = JSON.parse(`"${bytes.toString('utf8', mark.start, mark.end)}"`);
        expect(value).toBe(content.value);
        told[content.kind] += value;
      });
      const { reasoning, text, refusal, toolCalls } = of;
      expect(told).toEqual({ reasoning, text, refusal, tool_args: toolCalls.map((of) => of.arguments).join('') });
    }
  });

  test('every object has the keys of the newest recordings, in their order', () => {
    const { shapes } = parse(readFileSync(new URL('schemas/observed-shapes.json', SHARED), 'utf8'));
    const observed = part(isObject(shapes) ? shapes : {}, 'anthropic');
    for (const { turn: of } of Object.values(TURNS)) {
      for (const event of tell(of, { fidelity }).events) {
        for (const [kind, object] of objectsOf(read(event))) {
          expect(newest(observed[kind]), kind).toContain(Object.keys(object).join(' '));
        }
      }
    }
  });
});

/** Each object of an event with the name under which its shapes were observed. */
function objectsOf(data: JsonObject): [kind: string, object: JsonObject][] {
  const type = String(data.type);
  const own: [string, JsonObject] = [type, data];
  switch (type) {
    case 'message_start': {
      const message = part(data, 'message');
      return [own, [`${type}.message`, message], [`${type}.message.usage`, part(message, 'usage')]];
    }
    case 'content_block_start': {
      const block = part(data, 'content_block');
      return [own, [`content_block ${block.type}`, block]];
    }
    case 'content_block_delta': {
      const delta = part(data, 'delta');
      return [own, [`delta ${delta.type}`, delta]];
    }
    case 'message_delta':
      return [own, [`${type}.delta`, part(data, 'delta')], [`${type}.usage`, part(data, 'usage')]];
    default:
      return [own];
  }
}

/** Of the shapes of a kind, those of the newest month in which any was recorded. */
function newest(shapes: unknown): unknown[] {
  const rows = (Array.isArray(shapes) ? shapes : []).filter(isObject).filter((row) => row.last_seen !== '?');
  const last = rows
    .map((row) => String(row.last_seen))
    .sort()
    .at(-1);
  return rows.filter((row) => row.last_seen === last).map((row) => row.keys);
}

test('a refusal ends as recorded, but for the keys of beta features', () => {
  const recorded = readFileSync(new URL('anthropic/refusal.sse', RECORDINGS), 'utf8')
    .split('\n')
    .find((line) => line.includes('"message_delta"'));
  const details = part(part(parse(recorded?.slice('data: '.length) ?? ''), 'delta'), 'stop_details');
  for (const finish of ['refusal', 'content_filter'] as const) {
    const event = tell(turn({ text: 'Hi', finish })).events.find(({ role }) => role === 'finish');
    const told = part(part(event ? read(event) : {}, 'delta'), 'stop_details');
    expect(Object.entries(told)).toEqual(Object.entries(details).filter(([key]) => !key.startsWith('fallback_')));
  }
});

test('padding stands before the last brace of every event but ping, and is the same each time', () => {
  const events = () => tell(TURNS.text?.turn ?? turn(), { chunkSize: 1 }).events.map((event) => event.data(0));
  const padded = events().filter((data) => data !== '{"type": "ping"}');
  const widths = padded.map((data) => / *(?=\}$)/.exec(data)?.[0].length ?? -1);
  expect(Math.min(...widths)).toBe(0);
  expect(Math.max(...widths)).toBeGreaterThan(9);
  expect(Math.max(...widths)).toBeLessThan(16);
  expect(events()).toEqual(events());
  const plain = tell(turn({ text: 'Hello' }), { fidelity: 'plain' }).events.map((event) => event.data(0));
  expect(plain.filter((data) => / \}$/.test(data))).toEqual([]);
});

test('ids have their shape, and another seed changes them but not the length', () => {
  const of = turn({ reasoning: 'a', text: 'b', toolCalls: [call('a'), call('b')], finish: 'tool_calls' });
  const text = (seed: string): string => wire(tell(of, { stamps: stampsFrom(seed, new Date()) }).events).toString();
  expect(text('a')).toMatch(/"id":"msg_01[1-9A-HJ-NP-Za-km-z]{22}"/);
  expect(new Set(text('a').match(/"toolu_01[1-9A-HJ-NP-Za-km-z]{22}"/g)).size).toBe(2);
  expect(text('a')).toMatch(/"signature_delta","signature":"\w{320}"/);
  expect(text('b')).not.toBe(text('a'));
  expect(text('b')).toHaveLength(text('a').length);
});

test('usage is cumulative and never falls', () => {
  for (const outputTokens of [0, 1, 50]) {
    const usage = { inputTokens: 12, outputTokens, reasoningTokens: 0 };
    const [first, ...rest] = tell({ ...turn({ text: 'a' }), usage }).events.map(read);
    const started = part(part(first ?? {}, 'message'), 'usage').output_tokens;
    expect(started).toBe(Math.min(1, outputTokens));
    expect(rest.find(({ type }) => type === 'message_delta')).toMatchObject({
      usage: { input_tokens: 12, output_tokens: outputTokens },
    });
  }
});

const someText = fc.string({ unit: 'grapheme', maxLength: 30 });
const someCall = fc.record({
  name: fc.constantFrom('a', 'lookup'),
  arguments: fc.oneof(
    fc.constant(''),
    fc.dictionary(someText, fc.oneof(someText, fc.integer())).map((args) => JSON.stringify(args)),
  ),
});
const someTurn = fc
  .record({
    reasoning: someText,
    text: someText,
    refusal: fc.constant(''),
    toolCalls: fc.array(someCall, { maxLength: 3 }),
    finish: fc.constantFrom<Finish>('stop', 'length', 'content_filter', 'refusal'),
  })
  .map((of): Turn => {
    const { text, toolCalls, finish } = of;
    if (finish === 'refusal') return turn({ ...of, text: '', refusal: text });
    return turn({ ...of, finish: finish === 'stop' && toolCalls.length > 0 ? 'tool_calls' : finish });
  });

test('every prefix of any turn keeps the order of the protocol', () => {
  fc.assert(
    fc.property(someTurn, fc.integer({ min: 1, max: 9 }), fc.constantFrom(...FIDELITIES), (of, chunkSize, fidelity) => {
      const { events } = tell(of, { chunkSize, fidelity });
      let started = 0;
      for (let length = 0; length <= events.length; length++) {
        const { open, blocks, ended } = walk(events.slice(0, length));
        expect(blocks.length - started).toBeOneOf([0, 1]);
        started = blocks.length;
        expect(ended).toBe(length === events.length);
        if (ended) expect(open).toBeUndefined();
      }
      expect(referee.check('anthropic', wire(events))).toMatchObject({ ok: true, warnings: [] });
      const cut = events.slice(0, Math.floor(events.length / 2));
      expect(referee.check('anthropic', wire(cut), { allowTruncated: true }).ok).toBe(true);
    }),
    { numRuns: 100 },
  );
});

/** The official client, fed with bytes instead of a connection. */
async function clientReads(body: Buffer, contentType: string, stream: boolean): Promise<Anthropic.Message> {
  const answer = async () => new Response(new Uint8Array(body), { headers: { 'content-type': contentType } });
  const client = new Anthropic({ apiKey: 'none', maxRetries: 0, fetch: answer });
  const params = { model: 'claude-sonnet-4-6', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hi' }] };
  return stream ? client.messages.stream(params).finalMessage() : client.messages.create(params);
}

describe('the whole message', () => {
  test.each(Object.entries(TURNS))('%s: the SDK reads the same from the stream and from JSON', async (name, row) => {
    const whole = anthropicMessages.whole(row.turn, context());
    const { content, stop_reason, stop_details, usage, id } = await clientReads(
      Buffer.from(whole.json),
      'application/json',
      false,
    );
    expect({ stop_reason, types: content.map(({ type }) => type) }).toEqual({
      stop_reason: row.stop,
      types: row.blocks,
    });
    expect(whole.json).toBe(JSON.stringify(JSON.parse(whole.json)));
    // The SDK can't close arguments that were cut, and completes them in its own way.
    if (name === 'length in arguments') return;
    const streamed = await clientReads(wire(tell(row.turn).events), 'text/event-stream', true);
    expect(streamed).toMatchObject({ id, content, stop_reason, stop_details });
    expect(streamed.usage.output_tokens).toBe(usage.output_tokens);
  });

  test('content is where its marks say', () => {
    for (const { turn: of } of Object.values(TURNS)) {
      const { bytes, marks } = encodeWhole(anthropicMessages.whole(of, context()));
      const told = marks.filter(isContent).map(({ kind, start, end }) => {
        const json = bytes.toString('utf8', start, end);
        return [kind, kind === 'tool_args' ? JSON.parse(json) : JSON.parse(`"${json}"`)];
      });
      const { reasoning, text, refusal, toolCalls } = of;
      const words = Object.entries({ reasoning, text, refusal }).filter(([, value]) => value !== '');
      // The cut arguments of a length stop leave an empty input.
      const inputs = toolCalls.map(({ arguments: args }) => ['tool_args', args.endsWith('}') ? JSON.parse(args) : {}]);
      expect(told).toEqual([...words, ...inputs]);
    }
  });

  test('arguments that were cut, or are no object, leave an empty input', () => {
    const toolCalls = [ARGUMENTS, '{"value":"mo', '[1]', '"text"', ''].map((args) => call('a', args));
    const { json } = anthropicMessages.whole(turn({ toolCalls, finish: 'length' }), context());
    const inputs = [parse(json).content].flat().map((block) => isObject(block) && block.input);
    expect(inputs).toEqual([JSON.parse(ARGUMENTS), {}, {}, {}, {}]);
  });
});

describe('odd events', () => {
  const { events, odd } = tell(turn({ text: 'Hello' }), { requestId: 'req_given' });
  const delta = events.findIndex(({ role }) => role === 'delta');

  test('the error replaces the rest, and looks like the recorded one', () => {
    const error = odd('stream_error');
    expect(error).toHaveLength(1);
    const verdict = referee.check('anthropic', wire([...events.slice(0, delta + 1), ...error]));
    expect(verdict).toMatchObject({ ok: true, terminal: 'error:overloaded_error', warnings: [] });
    const recorded = readFileSync(new URL('anthropic/error-midstream-overloaded.sse', RECORDINGS), 'utf8');
    const theirs = parse(/^event: error\ndata: (.*)$/m.exec(recorded)?.[1] ?? '');
    const ours = parse(error[0]?.data?.(0) ?? '');
    expect(deepKeys(ours)).toEqual(deepKeys(theirs));
    expect(ours).toMatchObject({ error: { message: STREAM_ERROR_MESSAGE }, request_id: 'req_given' });
    expect(JSON.parse(anthropicMessages.wholeError(context({ requestId: 'req_given' })))).toEqual(ours);
  });

  test('an error speaks of one request, however often it is told', () => {
    const { odd } = tell(turn());
    const ids = [odd('stream_error'), odd('stream_error')].map(([error]) => error && read(error).request_id);
    expect(ids[0]).toMatch(/^req_011[1-9A-HJ-NP-Za-km-z]{21}$/);
    expect(ids[1]).toBe(ids[0]);
  });

  test('the others', () => {
    expect(odd('keepalive')).toEqual([events.find(({ role }) => role === 'keepalive')]);
    expect(wire(odd('malformed_json')).toString()).toBe('event: content_block_delta\ndata: {not-json\n\n');
    expect(wire(odd('malformed_event')).toString()).toMatch(
      /^event: content_block_delta\ndata: \{"type":"content_block_delta","index":0,"delta":null {0,15}\}\n\n$/,
    );
    expect(wire(odd('foreign_terminal')).toString()).toBe('data: [DONE]\n\n');
    const roles = (['malformed_json', 'malformed_event', 'foreign_terminal'] as const).map(
      (kind) => odd(kind)[0]?.role,
    );
    expect(roles).toEqual(['malformed', 'malformed', 'terminal']);
  });
});

/** All keys, in their order and by depth. */
function deepKeys(value: unknown): unknown {
  return isObject(value) ? Object.entries(value).map(([key, inner]) => [key, deepKeys(inner)]) : null;
}

test('readRequest', () => {
  const request = { stream: true, model: 'm', max_tokens: 7, tool_choice: { type: 'tool', name: 'a' } };
  const defaults = { includeUsage: false, includeObfuscation: true, echo: {} };
  expect(anthropicMessages.readRequest(request)).toEqual({
    ...defaults,
    stream: true,
    model: 'm',
    maxTokens: 7,
    forcesTool: true,
  });
  const silent = { ...defaults, stream: false, model: 'mock-model', maxTokens: undefined, forcesTool: false };
  expect(anthropicMessages.readRequest({})).toEqual(silent);
  expect(anthropicMessages.readRequest({ model: '', max_tokens: 1.5, tool_choice: { type: 'auto' } })).toEqual(silent);
});
