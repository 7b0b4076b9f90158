import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { type Served, serve } from '../support/server.js';
import { anthropicClient, endOf, openaiClient, PROMPT, QUICK, TEXT } from './support/sdk.js';

/**
 * F1+ to F5+ are what the providers' own SDKs notice, in each API: so a client that is silent about F1 to F5 can notice,
 * and doesn't.
 */
type Read = (server: Served, take: (text: string) => void) => Promise<unknown>;

const messages = [{ role: 'user' as const, content: PROMPT }];

const CHAT: Read = (server, take) =>
  endOf(openaiClient(server).chat.completions.create({ model: 'm', stream: true, messages }), (chunk) =>
    take(chunk.choices[0]?.delta.content ?? ''),
  );
const RESPONSES: Read = (server, take) =>
  endOf(openaiClient(server).responses.create({ model: 'm', stream: true, input: PROMPT }), (event) => {
    if (event.type === 'response.output_text.delta') take(event.delta);
  });
const MESSAGES: Read = (server, take) =>
  endOf(anthropicClient(server).messages.create({ model: 'm', stream: true, max_tokens: 99, messages }), (event) => {
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') take(event.delta.text);
  });

/** The reset of F1+ waits for a gate that stays shut: nothing but the event can tell of the error then. */
const HELD = { 'F1+': { extends: 'F1+', fault: { pace: { gates: [{ at: 'events', name: 'reset' }] } } } } as const;

async function read(how: Read, fault: string): Promise<{ readonly text: string; readonly end: unknown }> {
  const server = await serve({ ...QUICK, behaviors: HELD, sequence: [fault] });
  let text = '';
  const end = await how(server, (piece) => {
    text += piece;
  });
  return { text, end };
}

describe.each([
  ['openai, chat', CHAT],
  ['openai, responses', RESPONSES],
  ['anthropic', MESSAGES],
] as const)('%s', (_, how) => {
  for (const fault of ['F1+', 'F2+', 'F3+', 'F4+', 'F5+']) {
    it(`${fault} is an error of the API, with its words`, async () => {
      const { text, end } = await read(how, fault);
      expect(end instanceof OpenAI.APIError || end instanceof Anthropic.APIError).toBe(true);
      expect(String(end)).toContain('mock stream error');
      expect(text).not.toBe('');
      expect(TEXT.startsWith(text)).toBe(true);
    });
  }

  it('F1 is an error of the connection', async () => {
    const { text, end } = await read(how, 'F1');
    expect(end).toBeInstanceOf(Error);
    expect(String(end)).not.toContain('mock stream error');
    expect(text).not.toBe(TEXT);
  });

  for (const fault of ['F0', 'F4', 'F5']) {
    it(`${fault} is a whole stream`, async () => {
      const { text, end } = await read(how, fault);
      expect(end).toBeUndefined();
      expect(text === TEXT).toBe(fault === 'F0');
    });
  }

  for (const fault of ['F2', 'F3']) {
    it(`${fault} ends without a word: who looks for no terminal takes it for an answer`, async () => {
      const { text, end } = await read(how, fault);
      expect(String(end ?? '')).not.toContain('mock stream error');
      expect(text === TEXT).toBe(fault === 'F3');
    });
  }
});
