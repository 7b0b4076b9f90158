import { APIError } from 'openai';
import { describe, expect, it } from 'vitest';
import type { ConcreteBehaviorName } from '../../src/index.js';
import { serve } from '../support/server.js';
import { chatReader, responsesReader, responsesTold } from './support/openai-told.js';
import { endOf, expectOutcome, openaiClient, PARTIAL, PROMPT, QUICK, TEXT, thrownBy } from './support/sdk.js';

/**
 * `openai` from npm at answers that are cut, mistyped or wrong. What is asserted is what the SDK does today: the raw
 * streams of both APIs end silently wherever the HTTP is whole, which is what clients have to defend against.
 */
const ASKED = { model: 'gpt-5.4', messages: [{ role: 'user' as const, content: PROMPT }] };
const INPUT = { model: 'gpt-5.4', input: PROMPT };

interface Silent {
  readonly text: string;
  /** The finish of the raw streams. */
  readonly chat: string | null;
  readonly responses: string | null;
  /** What the Chat helper rejects with; `undefined` where it is content. */
  readonly chatHelper: string | undefined;
  /** The status with which the Responses helper is content, or what it rejects with. */
  readonly responsesHelper: { readonly status: string } | { readonly rejects: string };
}

const NOTHING = {
  text: '',
  chat: null,
  responses: null,
  chatHelper: 'request ended without sending any chunks',
  responsesHelper: { rejects: 'request ended without sending any events' },
} as const satisfies Silent;
const UNFINISHED = {
  chat: null,
  responses: null,
  chatHelper: 'missing finish_reason for choice 0',
  responsesHelper: { status: 'in_progress' },
} as const;

const SILENT: Partial<Record<ConcreteBehaviorName, Silent>> = {
  partial_eof: { ...UNFINISHED, text: PARTIAL },
  no_finish: { ...UNFINISHED, text: TEXT },
  stream_eof: { ...UNFINISHED, text: '' },
  no_terminal: { ...UNFINISHED, text: TEXT, chat: 'stop', chatHelper: undefined },
  empty_body: NOTHING,
  html_200: NOTHING,
  json_error_200: NOTHING,
  // Not faults to this SDK: it doesn't look at the content type, and takes the first event twice.
  wrong_content_type: {
    text: TEXT,
    chat: 'stop',
    responses: 'completed',
    chatHelper: undefined,
    responsesHelper: { status: 'completed' },
  },
  duplicate_open: {
    text: TEXT,
    chat: 'stop',
    responses: 'completed',
    chatHelper: undefined,
    responsesHelper: { status: 'completed' },
  },
};

describe.each(Object.entries(SILENT))('openai, streamed: %s', (name, row) => {
  const sequence = [name as ConcreteBehaviorName];

  it('the raw Chat stream ends silently', async () => {
    const server = await serve({ sequence, ...QUICK });
    const reader = chatReader();
    const end = await endOf(openaiClient(server).chat.completions.create({ ...ASKED, stream: true }), reader.take);
    expect(end).toBeUndefined();
    expect(reader.told()).toMatchObject({ text: row.text, finish: row.chat });
    await expectOutcome(server, 'completed');
  });

  it('the raw Responses stream ends silently', async () => {
    const server = await serve({ sequence, ...QUICK });
    const reader = responsesReader();
    const end = await endOf(openaiClient(server).responses.create({ ...INPUT, stream: true }), reader.take);
    expect(end).toBeUndefined();
    expect(reader.told()).toMatchObject({ text: row.text, finish: row.responses });
    await expectOutcome(server, 'completed');
  });

  it(`the Chat helper ${row.chatHelper ? 'rejects' : 'is content'}`, async () => {
    const final = openaiClient(await serve({ sequence, ...QUICK }))
      .chat.completions.stream(ASKED)
      .finalContent();
    if (row.chatHelper === undefined) expect(await final).toBe(row.text);
    else expect(await thrownBy(final)).toMatchObject({ message: row.chatHelper });
  });

  it(`the Responses helper ${'rejects' in row.responsesHelper ? 'rejects' : 'is content'}`, async () => {
    const final = openaiClient(await serve({ sequence, ...QUICK }))
      .responses.stream(INPUT)
      .finalResponse();
    if ('rejects' in row.responsesHelper) {
      expect(await thrownBy(final)).toMatchObject({ message: row.responsesHelper.rejects });
    } else {
      expect(responsesTold(await final)).toMatchObject({ text: row.text, finish: row.responsesHelper.status });
    }
  });
});

describe.each(['partial_disconnect', 'stream_disconnect'] as const)('openai, streamed: %s', (name) => {
  const calls = {
    chat: async (client: ReturnType<typeof openaiClient>) => {
      const reader = chatReader();
      const end = await endOf(client.chat.completions.create({ ...ASKED, stream: true }), reader.take);
      return { end, told: reader.told() };
    },
    responses: async (client: ReturnType<typeof openaiClient>) => {
      const reader = responsesReader();
      const end = await endOf(client.responses.create({ ...INPUT, stream: true }), reader.take);
      return { end, told: reader.told() };
    },
  };

  it.each(Object.entries(calls))('%s: the raw stream throws', async (_, call) => {
    const server = await serve({ sequence: [name], ...QUICK });
    const { end, told } = await call(openaiClient(server));
    expect(end).toBeInstanceOf(TypeError);
    expect(end).toMatchObject({ message: 'terminated' });
    // A reset may overtake what the client hasn't read.
    expect((name === 'partial_disconnect' ? PARTIAL : '').startsWith(told.text)).toBe(true);
    expect(told.finish).toBeNull();
    await expectOutcome(server, 'reset');
  });

  it('the helpers reject', async () => {
    const client = openaiClient(await serve({ sequence: [name, name], ...QUICK }));
    const terminated = { message: 'terminated' };
    expect(await thrownBy(client.chat.completions.stream(ASKED).done())).toMatchObject(terminated);
    expect(await thrownBy(client.responses.stream(INPUT).done())).toMatchObject(terminated);
  });
});

describe('openai, streamed: what the SDK throws at', () => {
  it('stream_error in Chat: the text so far, then an APIError', async () => {
    const server = await serve({ sequence: ['stream_error'] });
    const reader = chatReader();
    const end = await endOf(openaiClient(server).chat.completions.create({ ...ASKED, stream: true }), reader.take);
    expect(end).toBeInstanceOf(APIError);
    expect(end).toMatchObject({ message: 'mock stream error', type: 'server_error' });
    expect(reader.told()).toMatchObject({ text: PARTIAL, finish: null });
  });

  it('malformed_json in both APIs', async () => {
    const client = openaiClient(await serve({ sequence: ['malformed_json', 'malformed_json'] }));
    const nothing = (): void => {};
    const chat = await endOf(client.chat.completions.create({ ...ASKED, stream: true }), nothing);
    const responses = await endOf(client.responses.create({ ...INPUT, stream: true }), nothing);
    expect([chat, responses]).toEqual([expect.any(SyntaxError), expect.any(SyntaxError)]);
  });

  it('stall: nothing, until the caller aborts', async () => {
    const server = await serve({ sequence: ['stall'] });
    const stream = await openaiClient(server).chat.completions.create({ ...ASKED, stream: true });
    stream.controller.abort();
    for await (const chunk of stream) throw new Error(`got ${JSON.stringify(chunk)}`);
    expect(await server.results(1)).toMatchObject([{ outcome: 'stalled', chunksSent: 0 }]);
  });
});

describe('openai, whole', () => {
  const ask = async (name: ConcreteBehaviorName): Promise<unknown> =>
    openaiClient(await serve({ sequence: [name], ...QUICK })).chat.completions.create(ASKED);

  it.each(['partial_eof', 'stream_eof', 'no_terminal', 'malformed_json'] as const)('%s is no JSON', async (name) => {
    expect(await thrownBy(ask(name))).toBeInstanceOf(SyntaxError);
  });

  it.each(['partial_disconnect', 'stream_disconnect'] as const)('%s terminates the body', async (name) => {
    expect(await thrownBy(ask(name))).toMatchObject({ message: 'terminated' });
  });

  it.each(['json_error_200', 'stream_error'] as const)('%s is handed on as if it were a completion', async (name) => {
    expect(await ask(name)).toMatchObject({ error: { message: 'mock stream error' } });
  });

  it.each(['html_200', 'wrong_content_type'] as const)('%s is handed on as a string', async (name) => {
    expect(await ask(name)).toEqual(expect.any(String));
  });
});
