import { describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName } from '../../src/index.js';
import { serve } from '../support/server.js';
import { chatReader, chatTold } from './support/openai-told.js';
import {
  all,
  CALL,
  endOf,
  HALF_CALL,
  openaiClient,
  PARTIAL,
  PROMPT,
  QUICK,
  REASONING,
  REFUSAL,
  SILENT,
  TEXT,
  type Told,
} from './support/sdk.js';

/** `openai` from npm at Chat Completions: healthy answers, read in the three ways that the SDK offers. */
const ASKED = { model: 'gpt-5.4', messages: [{ role: 'user' as const, content: PROMPT }] };

const ANSWERS: Partial<Record<ConcreteBehaviorName, Told>> = {
  success: { ...SILENT, text: TEXT, finish: 'stop' },
  slow_success: { ...SILENT, text: TEXT, finish: 'stop' },
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

describe.each(Object.entries(ANSWERS))('openai chat: %s', (name, expected) => {
  const sequence = [name as ConcreteBehaviorName];

  it('streamed', async () => {
    const client = openaiClient(await serve({ sequence, ...QUICK }));
    const reader = chatReader();
    expect(await endOf(client.chat.completions.create({ ...ASKED, stream: true }), reader.take)).toBeUndefined();
    expect(reader.told()).toEqual(expected);
  });

  it('through the helper', async () => {
    const client = openaiClient(await serve({ sequence, ...QUICK }));
    const final = await client.chat.completions.stream(ASKED).finalChatCompletion();
    // The helper doesn't know the field: it keeps the last value, which is null while the text is told.
    expect(chatTold(final)).toEqual({ ...expected, reasoning: '' });
  });

  it('whole', async () => {
    const client = openaiClient(await serve({ sequence, ...QUICK }));
    expect(chatTold(await client.chat.completions.create(ASKED))).toEqual(expected);
  });
});

describe('openai chat', () => {
  it('tells the usage in a chunk of its own where it is asked for', async () => {
    const client = openaiClient(await serve());
    const stream_options = { include_usage: true };
    const chunks = await all(client.chat.completions.create({ ...ASKED, stream: true, stream_options }));
    expect(chunks.filter(({ usage }) => usage)).toEqual([chunks.at(-1)]);
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 12, completion_tokens: 6, total_tokens: 18 },
    });
  });

  it('tells no usage in a stream where it is not asked for', async () => {
    const client = openaiClient(await serve());
    const chunks = await all(client.chat.completions.create({ ...ASKED, stream: true }));
    expect(chunks.length).toBe(5);
    expect(chunks.every(({ usage }) => usage === undefined)).toBe(true);
  });

  it.each(['max_tokens', 'max_completion_tokens'])('a length stop uses up %s', async (limit) => {
    const client = openaiClient(await serve({ sequence: ['max_tokens'] }));
    const completion = await client.chat.completions.create({ ...ASKED, [limit]: 77 });
    expect(completion.usage).toMatchObject({ completion_tokens: 77, total_tokens: 89 });
  });

  it('repeats the model, and has one id in all chunks of an answer and others in the next', async () => {
    const client = openaiClient(await serve());
    const ids = async (): Promise<string[]> => {
      const chunks = await all(client.chat.completions.create({ ...ASKED, stream: true }));
      expect(chunks.map(({ model }) => model)).toEqual(chunks.map(() => ASKED.model));
      return [...new Set(chunks.map(({ id }) => id))];
    };
    const seen = [...(await ids()), ...(await ids())];
    expect(seen.length).toBe(2);
    expect(new Set(seen).size).toBe(2);
  });

  it('gives the request id of the header to whole answers', async () => {
    const client = openaiClient(await serve({ requestId: 'req_chosen' }));
    const completion = await client.chat.completions.create(ASKED);
    expect(completion._request_id).toBe('req_chosen');
  });

  it('streams a call of a declared tool through the helper, with its events', async () => {
    const client = openaiClient(await serve({ sequence: ['tool_call_success'] }));
    const stream = client.chat.completions.stream({
      ...ASKED,
      tools: [{ type: 'function', function: { name: CALL.name, parameters: { type: 'object' } } }],
    });
    const done: unknown[] = [];
    stream.on('tool_calls.function.arguments.done', (call) => done.push(call));
    await stream.done();
    expect(done).toMatchObject([CALL]);
  });

  it('tells content blocks whole', async () => {
    const server = await serve({ contentBlocks: 3 });
    const reader = chatReader();
    await endOf(openaiClient(server).chat.completions.create({ ...ASKED, stream: true }), reader.take);
    expect(reader.told().text.split('\n\n').length).toBe(3);
    expect(reader.told().finish).toBe('stop');
  });
});

describe('openai models', () => {
  it('lists the models, and tells about one of them', async () => {
    const server = await serve();
    const client = openaiClient(server);
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toContain('gpt-5.4');
    expect(await client.models.retrieve('any/model')).toMatchObject({ id: 'any/model', object: 'model' });
    expect(server.requests).toEqual([]);
  });
});
