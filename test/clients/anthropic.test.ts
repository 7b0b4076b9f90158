import type Anthropic from '@anthropic-ai/sdk';
import type { Message, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import { describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName } from '../../src/index.js';
import { serve } from '../support/server.js';
import {
  all,
  anthropicClient,
  CALL,
  type Call,
  endOf,
  HALF_CALL,
  PARTIAL,
  PROMPT,
  QUICK,
  REASONING,
  REFUSAL,
  SILENT,
  TEXT,
  type Told,
} from './support/sdk.js';

/** `@anthropic-ai/sdk` from npm: healthy answers, read in the three ways that the SDK offers. */
const ASKED = {
  model: 'claude-haiku-4-5',
  max_tokens: 77,
  messages: [{ role: 'user' as const, content: PROMPT }],
};

/** A refusal's words are text here. */
const ANSWERS: Partial<Record<ConcreteBehaviorName, Told>> = {
  success: { ...SILENT, text: TEXT, finish: 'end_turn' },
  slow_success: { ...SILENT, text: TEXT, finish: 'end_turn' },
  keepalive_then_success: { ...SILENT, text: TEXT, finish: 'end_turn' },
  reasoning_success: { ...SILENT, reasoning: REASONING, text: TEXT, finish: 'end_turn' },
  tool_call_success: { ...SILENT, calls: [CALL], finish: 'tool_use' },
  parallel_tool_calls: { ...SILENT, calls: [CALL, CALL], finish: 'tool_use' },
  tool_call_truncated: { ...SILENT, calls: [HALF_CALL], finish: 'max_tokens' },
  max_tokens: { ...SILENT, text: TEXT, finish: 'max_tokens' },
  content_filter: { ...SILENT, text: PARTIAL, finish: 'refusal' },
  refusal: { ...SILENT, text: REFUSAL, finish: 'refusal' },
  empty: { ...SILENT, finish: 'end_turn' },
};

function reader(): { take(event: RawMessageStreamEvent): void; told(): Told } {
  const said = { text: '', reasoning: '', refusal: '' };
  const calls = new Map<number, Call>();
  let finish: string | null = null;
  return {
    take: (event) => {
      if (event.type === 'message_delta') finish = event.delta.stop_reason;
      if (event.type === 'content_block_start' && event.content_block.type === 'tool_use') {
        calls.set(event.index, { name: event.content_block.name, arguments: '' });
      }
      if (event.type !== 'content_block_delta') return;
      if (event.delta.type === 'text_delta') said.text += event.delta.text;
      if (event.delta.type === 'thinking_delta') said.reasoning += event.delta.thinking;
      if (event.delta.type !== 'input_json_delta') return;
      const before = calls.get(event.index) ?? { name: '', arguments: '' };
      calls.set(event.index, { ...before, arguments: before.arguments + event.delta.partial_json });
    },
    told: () => ({ ...said, calls: [...calls.values()], finish }),
  };
}

function messageTold({ content, stop_reason }: Message): Told {
  const said = { text: '', reasoning: '', refusal: '' };
  const calls: Call[] = [];
  for (const block of content) {
    if (block.type === 'text') said.text += block.text;
    if (block.type === 'thinking') said.reasoning += block.thinking;
    if (block.type === 'tool_use') calls.push({ name: block.name, arguments: JSON.stringify(block.input) });
  }
  return { ...said, calls, finish: stop_reason };
}

/** A whole message has no place for half an object. */
function inWhole(told: Told): Told {
  return { ...told, calls: told.calls.map((call) => (call === HALF_CALL ? { ...call, arguments: '{}' } : call)) };
}

async function asked(name: ConcreteBehaviorName): Promise<Anthropic> {
  return anthropicClient(await serve({ sequence: [name], ...QUICK }));
}

describe.each(Object.entries(ANSWERS))('anthropic: %s', (key, expected) => {
  const name = key as ConcreteBehaviorName;

  it('streamed', async () => {
    const events = reader();
    const client = await asked(name);
    expect(await endOf(client.messages.create({ ...ASKED, stream: true }), events.take)).toBeUndefined();
    expect(events.told()).toEqual(expected);
  });

  it('through the helper', async () => {
    const final = await (await asked(name)).messages.stream(ASKED).finalMessage();
    expect(messageTold(final)).toEqual(inWhole(expected));
  });

  it('whole', async () => {
    expect(messageTold(await (await asked(name)).messages.create(ASKED))).toEqual(inWhole(expected));
  });
});

describe('anthropic', () => {
  it('the events of a stream, without the pings, which the SDK keeps to itself', async () => {
    const events = await all((await asked('success')).messages.create({ ...ASKED, stream: true }));
    const delta = 'content_block_delta';
    expect(events.map(({ type }) => type)).toEqual([
      'message_start',
      'content_block_start',
      ...[delta, delta, delta],
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('thinking has a signature, the same in the events and in the message', async () => {
    const stream = (await asked('reasoning_success')).messages.stream(ASKED);
    const signatures: string[] = [];
    stream.on('signature', (signature) => signatures.push(signature));
    const [thinking, text] = (await stream.finalMessage()).content;
    expect(thinking).toMatchObject({ type: 'thinking', thinking: REASONING });
    expect(signatures).toEqual([expect.stringMatching(/^\S{68,}$/)]);
    expect(thinking).toHaveProperty('signature', signatures[0]);
    expect(text).toMatchObject({ type: 'text', text: TEXT });
  });

  it.each([true, false])('a length stop uses up max_tokens, stream %s', async (stream) => {
    const { messages } = await asked('max_tokens');
    const message = stream ? await messages.stream(ASKED).finalMessage() : await messages.create(ASKED);
    expect(message).toMatchObject({ stop_reason: 'max_tokens', usage: { input_tokens: 12, output_tokens: 77 } });
  });

  it.each([true, false])('a refusal has stop details, stream %s', async (stream) => {
    const { messages } = await asked('refusal');
    const message = stream ? await messages.stream(ASKED).finalMessage() : await messages.create(ASKED);
    expect(message).toMatchObject({ stop_reason: 'refusal', stop_details: { type: 'refusal' } });
  });

  it('streams in gzip, which the SDK offers', async () => {
    const server = await serve();
    const { response, data } = await anthropicClient(server)
      .messages.create({ ...ASKED, stream: true })
      .withResponse();
    expect(server.requests[0]?.headers['accept-encoding']).toMatch(/\bgzip\b/);
    expect(response.headers.get('content-encoding')).toBe('gzip');
    const events = reader();
    for await (const event of data) events.take(event);
    expect(events.told()).toEqual(ANSWERS.success);
  });

  it('streams plain in plain fidelity', async () => {
    const server = await serve({ fidelity: 'plain' });
    const { response, data } = await anthropicClient(server)
      .messages.create({ ...ASKED, stream: true })
      .withResponse();
    expect(response.headers.get('content-encoding')).toBeNull();
    const events = reader();
    for await (const event of data) events.take(event);
    expect(events.told()).toEqual(ANSWERS.success);
  });

  it('tells its request id, and repeats the model', async () => {
    const client = anthropicClient(await serve({ requestId: 'req_chosen' }));
    const message = await client.messages.create(ASKED);
    expect(message).toMatchObject({ _request_id: 'req_chosen', model: ASKED.model });
  });

  it('counts tokens and lists models without touching the script', async () => {
    const server = await serve();
    const client = anthropicClient(server);
    const { max_tokens, ...rest } = ASKED;
    expect(max_tokens).toBe(77);
    const { input_tokens } = await client.messages.countTokens(rest);
    expect(input_tokens).toBeGreaterThan(0);
    const models = await all(Promise.resolve(client.models.list()));
    expect(models.map(({ id }) => id)).toContain(ASKED.model);
    expect(await client.models.retrieve(ASKED.model)).toMatchObject({ type: 'model', id: ASKED.model });
    expect(server.requests).toEqual([]);
  });
});
