import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName } from '../../src/index.js';
import { serve } from '../support/server.js';
import { responsesReader, responsesTold } from './support/openai-told.js';
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

/** `openai` from npm at the Responses API: healthy answers, read in the three ways that the SDK offers. */
const ASKED = { model: 'gpt-5.4', input: PROMPT };

const ANSWERS: Partial<Record<ConcreteBehaviorName, Told>> = {
  success: { ...SILENT, text: TEXT, finish: 'completed' },
  slow_success: { ...SILENT, text: TEXT, finish: 'completed' },
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

describe.each(Object.entries(ANSWERS))('openai responses: %s', (name, expected) => {
  const sequence = [name as ConcreteBehaviorName];

  it('streamed', async () => {
    const client = openaiClient(await serve({ sequence, ...QUICK }));
    const reader = responsesReader();
    expect(await endOf(client.responses.create({ ...ASKED, stream: true }), reader.take)).toBeUndefined();
    expect(reader.told()).toEqual(expected);
  });

  it('through the helper', async () => {
    const client = openaiClient(await serve({ sequence, ...QUICK }));
    const final = await client.responses.stream(ASKED).finalResponse();
    expect(responsesTold(final)).toEqual(expected);
    expect(final.output_text).toBe(expected.text);
  });

  it('whole', async () => {
    const client = openaiClient(await serve({ sequence, ...QUICK }));
    const response = await client.responses.create(ASKED);
    expect(responsesTold(response)).toEqual(expected);
    expect(response.output_text).toBe(expected.text);
  });
});

describe('openai responses', () => {
  it('the terminal event repeats what the events before it told', async () => {
    const client = openaiClient(await serve({ sequence: ['reasoning_success'] }));
    const events = await all(client.responses.create({ ...ASKED, stream: true }));
    const last = events.at(-1);
    if (last?.type !== 'response.completed') throw new Error(`ends with ${last?.type}`);
    const items = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []));
    expect(last.response.output).toEqual(items);
    expect(items.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, n) => n));
  });

  it.each([true, false])('a length stop uses up max_output_tokens, stream %s', async (stream) => {
    const client = openaiClient(await serve({ sequence: ['max_tokens'] }));
    const asked = { ...ASKED, max_output_tokens: 77 };
    const response = stream
      ? await client.responses.stream(asked).finalResponse()
      : await client.responses.create(asked);
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      max_output_tokens: 77,
      usage: { output_tokens: 77 },
    });
  });

  it('repeats the settings of the request', async () => {
    const client = openaiClient(await serve());
    const asked = {
      ...ASKED,
      instructions: 'be brief',
      metadata: { run: '1' },
      reasoning: { effort: 'low' as const },
      tools: [{ type: 'function' as const, name: CALL.name, parameters: { type: 'object' }, strict: false }],
    };
    const { input, ...settings } = asked;
    expect(input).toBe(PROMPT);
    expect(await client.responses.create(asked)).toMatchObject(settings);
  });

  it('stream_error tells the failure, then response.failed; the SDK throws at the first', async () => {
    const client = openaiClient(await serve({ sequence: ['stream_error'] }));
    const seen: ResponseStreamEvent['type'][] = [];
    const thrown = await endOf(client.responses.create({ ...ASKED, stream: true }), ({ type }) => seen.push(type));
    expect(thrown).toMatchObject({ code: 'server_error', message: 'mock stream error' });
    expect(seen.at(-1)).toBe('response.output_text.delta');
  });

  it('a whole answer that failed has the status and the error of the failure', async () => {
    const client = openaiClient(await serve({ sequence: ['stream_error'] }));
    expect(await client.responses.create(ASKED)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: 'mock stream error' },
      output: [],
    });
  });
});
