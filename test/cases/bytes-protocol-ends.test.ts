import { describe, expect, it } from 'vitest';
import { headerOf, readAnswer } from '../support/http.js';
import { judge } from '../support/referee.js';
import { eventsOf, healthy, PROTOCOLS, type Protocol, REFEREE, wireOf } from './support/bytes-protocol.js';
import { caseServer } from './support/case-server.js';
import { chunk, DONE, TEXT_CHUNKS } from './support/chat-wire.js';
import { CHAT, caughtUp, connect, isOpen } from './support/played.js';

/** Section D of the cases, continued: streams whose last event, or line, is not whole. */
describe('B31: lf_then_crlf_held', () => {
  const held = (delta: object): string => {
    const choices = [{ index: 0, delta, finish_reason: null }];
    const fields = { id: 'chatcmpl-held', object: 'chat.completion.chunk', created: 1790000000, model: 'mock-model' };
    return `data: ${JSON.stringify({ ...fields, choices })}\n\r\n`;
  };
  const EVENTS = [held({ role: 'assistant', content: '' }), held({ content: 'mock held' })];

  it('two whole events, no last chunk, and the connection stays open', async () => {
    const server = await caseServer('B31', { sequence: ['lf_then_crlf_held'] });
    const client = connect(server);
    client.send(CHAT);
    const received = await client.until((bytes) => bytes.toString().endsWith('\n\r\n\r\n') && bytes.includes('held"}'));
    await caughtUp(server);
    expect(await isOpen(client)).toBe(true);
    expect(client.received.equals(received)).toBe(true);
    const answer = readAnswer(received);
    expect(answer).toMatchObject({ complete: false, chunks: EVENTS.map(({ length }) => length) });
    expect(String(answer?.body)).toBe(EVENTS.join(''));
  });
});

describe('B35: the last event has no blank line', () => {
  const WITHOUT = { line_end: '\n', nothing: '\n\n' } as const;
  const ENDS = { '': 'kept', _until_close: 'fin', _fin: 'fin' } as const;
  const LAST: Readonly<Record<Protocol, RegExp>> = {
    'openai-chat': /^data: .*"finish_reason":"stop"\}\]\}$/,
    'openai-responses': /^event: response\.completed\ndata: .*\}$/,
    'anthropic-messages': /^event: message_stop\ndata: \{"type":"message_stop"\}$/,
  };
  const ROWS = PROTOCOLS.flatMap((protocol) =>
    Object.entries(WITHOUT).flatMap(([end, missing]) =>
      Object.entries(ENDS).map(([how, tells]) => ({ protocol, missing, variant: `${end}${how}`, how, tells })),
    ),
  );

  it.each(ROWS)('$protocol: $variant', async ({ protocol, missing, variant, how, tells }) => {
    const { text, answer, end } = await wireOf('B35', variant, protocol);
    const whole = (await healthy(protocol)).replace(DONE, '');
    expect({ text, end }).toEqual({ text: whole.slice(0, whole.length - missing.length), end: tells });
    expect(eventsOf(text).at(-1)?.trimEnd()).toMatch(LAST[protocol]);
    expect(judge(REFEREE[protocol], answer.body).rules).toContain('wire.unterminated');
    // T, no framing at all, or one that lacks its end.
    expect(answer.complete).toBe(how === '');
    expect(headerOf(answer, 'transfer-encoding')).toBe(how === '_until_close' ? undefined : 'chunked');
    expect(headerOf(answer, 'content-length')).toBeUndefined();
  });

  it.each(Object.entries(WITHOUT))('openai-chat, whose last event is the usage: %s', async (variant, missing) => {
    const asked = { stream_options: { include_usage: true } };
    const { text, end } = await wireOf('B35', variant, 'openai-chat', asked);
    const whole = (await healthy('openai-chat', {}, asked)).replace(DONE, '');
    expect({ text, end }).toEqual({ text: whole.slice(0, whole.length - missing.length), end: 'kept' });
    expect(eventsOf(text).at(-1)).toMatch(/^data: .*"choices":\[\],"usage":\{"prompt_tokens":12,/);
  });
});

describe('B38: an event that is no JSON', () => {
  const [role = '', first = '', second = '', third = '', finish = ''] = TEXT_CHUNKS;

  it('lost_line_end: the next event is on the line of the one that breaks off', async () => {
    const { text, answer, end } = await wireOf('B38', 'lost_line_end', 'openai-chat');
    const wanted = `${role}data: {"id":"chatcmpl-lost","object":"chat.c${second}${third}${finish}${DONE}`;
    expect({ text, end }).toEqual({ text: wanted, end: 'kept' });
    expect(text).toContain('"object":"chat.cdata: {"id":"chatcmpl-ID","object":"chat.completion.chunk",');
    expect(judge('openai-chat', answer.body).rules).toEqual(['json']);
  });

  it('cut_final: half of a finish, its blank line, and T', async () => {
    const { text, answer, end } = await wireOf('B38', 'cut_final', 'openai-chat');
    const cut =
      'data: {"id":"chatcmpl-cut","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_re\n\n';
    expect({ text, end }).toEqual({ text: `${role}${first}${second}${third}${cut}`, end: 'kept' });
    expect(judge('openai-chat', answer.body, { allowTruncated: true }).rules).toEqual(['json']);
  });

  it('bad_middle: {not-json between the deltas of a whole answer', async () => {
    const { text, answer, end } = await wireOf('B38', 'bad_middle', 'openai-chat');
    const wanted = `${role}${first}data: {not-json\n\n${second}${third}${finish}${DONE}`;
    expect({ text, end }).toEqual({ text: wanted, end: 'kept' });
    expect(judge('openai-chat', answer.body).rules).toEqual(['json']);
  });

  it('the pieces that the others are made of are a healthy answer', async () => {
    expect([...TEXT_CHUNKS, DONE].join('')).toBe(await healthy('openai-chat'));
    expect(chunk({}, 'stop')).toBe(finish);
  });
});
