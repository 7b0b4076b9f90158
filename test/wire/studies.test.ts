import { describe, expect, it } from 'vitest';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { readStream } from '../support/event-stream.js';
import { type Answer, readAnswer } from '../support/http.js';
import { judge, type RefereeProtocol } from '../support/referee.js';
import { serve } from '../support/server.js';
import { post, type WireEnd, witnessed } from '../support/witness.js';

/** F0 to F5 and their positive controls at real sockets, judged by the referee and read by hand. */
const PATHS: Readonly<Record<Protocol, string>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
};
const REFEREES: Readonly<Record<Protocol, RefereeProtocol>> = {
  'openai-chat': 'openai-chat',
  'openai-responses': 'openai-responses',
  'anthropic-messages': 'anthropic',
};

/** Fourteen deltas of three code points. */
const TEXT = 'Grüße, 世界! 👧 Every answer has two halves.';
const HALF = [...TEXT].slice(0, Math.ceil([...TEXT].length / 2)).join('');
const OPTIONS = { successText: TEXT, chunkSize: 3, chunkDelayMs: 0, disconnectDelayMs: 0 } as const;

/** What of the text has to be there: all, the half that the answer itself says, or half of the deltas. */
type Part = 'all' | 'half' | 'half of the deltas';

interface Row {
  readonly end: WireEnd;
  readonly complete: boolean;
  readonly part: Part;
  /** The terminal by the referee, in the order of the protocols; `truncated` where the protocol has no end. */
  readonly terminals: readonly [string, string, string];
  /** As a JSON body: whole with its finish, cut, or the provider's error. */
  readonly json: 'whole' | 'cut' | 'error';
}

const TRUNCATED = ['truncated', 'truncated', 'truncated'] as const;
const STOP = ['stop', 'completed', 'end_turn'] as const;
const LENGTH = ['length', 'incomplete:max_output_tokens', 'max_tokens'] as const;
const ERROR = ['error', 'failed:server_error', 'error:overloaded_error'] as const;
const whole = { end: 'fin', complete: true } as const;
const reset = { end: 'rst', complete: false } as const;

const TABLE: Readonly<Record<string, Row>> = {
  F0: { ...whole, part: 'all', terminals: STOP, json: 'whole' },
  F1: { ...reset, part: 'half of the deltas', terminals: TRUNCATED, json: 'cut' },
  F2: { ...whole, part: 'half of the deltas', terminals: TRUNCATED, json: 'cut' },
  F3: { ...whole, part: 'all', terminals: TRUNCATED, json: 'cut' },
  F4: { ...whole, part: 'half', terminals: LENGTH, json: 'whole' },
  F5: { ...whole, part: 'half', terminals: STOP, json: 'whole' },
  'F1+': { ...reset, part: 'half of the deltas', terminals: ERROR, json: 'error' },
  'F2+': { ...whole, part: 'half of the deltas', terminals: ERROR, json: 'error' },
  'F3+': { ...whole, part: 'all', terminals: ERROR, json: 'error' },
  'F4+': { ...whole, part: 'half', terminals: ERROR, json: 'error' },
  'F5+': { ...whole, part: 'half', terminals: ERROR, json: 'error' },
};

type Json = Readonly<Record<string, unknown>>;

function eventsOf(body: Buffer): { readonly type: string; readonly data: Json }[] {
  return readStream(body)
    .events.filter(({ data }) => data !== '[DONE]')
    .map(({ type, data }) => ({ type, data: JSON.parse(data) }));
}

/** The text of every delta, by hand. */
function deltasIn(protocol: Protocol, body: Buffer): string {
  const texts = eventsOf(body).map(({ type, data }) => {
    switch (protocol) {
      case 'openai-chat':
        return (data.choices as { delta?: { content?: string } }[] | undefined)?.[0]?.delta?.content;
      case 'openai-responses':
        return type === 'response.output_text.delta' ? data.delta : undefined;
      case 'anthropic-messages':
        return type === 'content_block_delta' ? (data.delta as { text?: string }).text : undefined;
      default:
        return protocol satisfies never;
    }
  });
  return texts.filter((text) => typeof text === 'string').join('');
}

/** Every text that repeats what the deltas said (Responses). */
function repeatsIn(body: Buffer): unknown[] {
  return eventsOf(body).flatMap(({ type, data }) => {
    const textOf = (item: unknown) => (item as { content: { text: string }[] }).content[0]?.text;
    if (type === 'response.output_text.done') return [data.text];
    if (type === 'response.content_part.done') return [(data.part as { text: string }).text];
    if (type === 'response.output_item.done') return [textOf(data.item)];
    if (type === 'response.completed' || type === 'response.incomplete')
      return (data.response as { output: unknown[] }).output.map(textOf);
    return [];
  });
}

/** The events that tell of an error, as clients know them: their names, and what stands in them. */
const ERROR_EVENTS: Readonly<Record<Protocol, readonly (readonly [string, RegExp])[]>> = {
  'openai-chat': [['message', /^\{"error":\{"message":"mock stream error","type":"server_error"/]],
  'openai-responses': [
    ['error', /"type":"error".*"message":"mock stream error"|"message":"mock stream error".*"type":"error"/],
    ['response.failed', /"status":"failed"/],
  ],
  'anthropic-messages': [['error', /^\{"type":"error","error":\{.*"type":"overloaded_error"/]],
};

async function see(protocol: Protocol, fault: string, stream: boolean): Promise<{ answer: Answer; end: WireEnd }> {
  const server = await serve(OPTIONS);
  const request = post(PATHS[protocol], { stream }, { Connection: 'close', 'X-Wirefault': fault });
  const { bytes, end } = await witnessed(server.port, request);
  const answer = readAnswer(bytes);
  if (!answer) throw new Error(`no head in ${bytes.length} bytes`);
  const ledger = await server.ledger(1);
  expect(ledger).toMatchObject({ selection: { behavior: fault, source: 'header' }, unapplied: [] });
  expect(ledger.bytes.flushed).toBe(bytes.length);
  return { answer, end };
}

/** Half of the deltas, as they are: whole ones, the middle one among them. */
function halfOfDeltas(): string {
  const count = Math.ceil([...TEXT].length / OPTIONS.chunkSize);
  return [...TEXT].slice(0, Math.ceil(count / 2) * OPTIONS.chunkSize).join('');
}

const PARTS: Readonly<Record<Part, () => string>> = {
  all: () => TEXT,
  half: () => HALF,
  'half of the deltas': halfOfDeltas,
};

describe.each(PROTOCOLS)('%s', (protocol) => {
  for (const [fault, row] of Object.entries(TABLE)) {
    it(`${fault}, streamed`, async () => {
      const { answer, end } = await see(protocol, fault, true);
      expect([answer.status, end, answer.complete]).toEqual([200, row.end, row.complete]);
      expect(deltasIn(protocol, answer.body)).toBe(PARTS[row.part]());
      const repeats = repeatsIn(answer.body);
      for (const text of repeats) expect(text).toBe(PARTS[row.part]());

      const terminal = row.terminals[PROTOCOLS.indexOf(protocol)];
      const verdict = judge(REFEREES[protocol], answer.body, { allowTruncated: terminal === 'truncated' });
      expect(verdict).toMatchObject({ ok: true, terminal, errors: [] });
      if (terminal === 'truncated') expect(judge(REFEREES[protocol], answer.body).ok).toBe(false);
      // There is something that repeats the deltas where the protocol has it, and it came so far.
      expect(repeats.length).toBe(
        protocol === 'openai-responses' && /^(completed|incomplete)/.test(terminal ?? '') ? 4 : 0,
      );

      const last = eventsOf(answer.body).slice(-ERROR_EVENTS[protocol].length);
      if (fault.endsWith('+')) {
        expect(last.map(({ type }) => type)).toEqual(ERROR_EVENTS[protocol].map(([name]) => name));
        for (const [n, [, text]] of ERROR_EVENTS[protocol].entries())
          expect(JSON.stringify(last[n]?.data)).toMatch(text);
      } else expect(answer.body.toString()).not.toContain('mock stream error');
    });

    it(`${fault}, as a JSON body`, async () => {
      const { answer, end } = await see(protocol, fault, false);
      const body = answer.body.toString();
      // An error has all its bytes even where a reset follows.
      expect([answer.status, end, answer.complete]).toEqual([200, row.end, row.complete || row.json === 'error']);
      switch (row.json) {
        case 'whole':
          expect(JSON.stringify(JSON.parse(body))).toContain(JSON.stringify(PARTS[row.part]()));
          break;
        case 'cut':
          expect(() => JSON.parse(body)).toThrow();
          // Cut in the text itself: half of it here, all of it in F3.
          expect(body.endsWith(fault === 'F3' ? TEXT : HALF)).toBe(true);
          break;
        case 'error': {
          const error: unknown = JSON.parse(body);
          expect(error).toHaveProperty('error');
          expect(body).toContain('mock stream error');
          expect(body).not.toContain(HALF);
          break;
        }
        default:
          row.json satisfies never;
      }
    });
  }

  it('F5 is as good as a whole answer: only the text is shorter', async () => {
    const [short, long] = await Promise.all(['F5', 'F0'].map((fault) => see(protocol, fault, true)));
    const shape = (body: Buffer | undefined): string[] => {
      const events = eventsOf(body ?? Buffer.alloc(0)).map(({ type, data }) => `${type} ${Object.keys(data)}`);
      return events.filter((event, n) => event !== events[n - 1]);
    };
    expect(shape(short?.answer.body)).toEqual(shape(long?.answer.body));
  });

  it('F1@event:K, F2@event:K and F3@event:K are cut after K events', async () => {
    for (const fault of ['F1', 'F2', 'F3'])
      for (const k of [1, 4]) {
        const { answer, end } = await see(protocol, `${fault}@event:${k}`, true);
        expect([fault, end, readStream(answer.body).events.length]).toEqual([fault, TABLE[fault]?.end, k]);
      }
  });
});
