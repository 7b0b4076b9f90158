import { describe, expect, it } from 'vitest';
import { answerReader } from '../../src/load/answer-reader.js';
import type { BrokenEnd } from '../../src/load/ends.js';
import type { Protocol } from '../../src/sse/dialect.js';

interface Fed {
  readonly protocol?: Protocol;
  readonly stream?: boolean;
  readonly status?: number;
  /** Parts of the body; the nth comes at 10 + n milliseconds. */
  readonly parts?: readonly string[];
  readonly broken?: BrokenEnd;
}

function read({ protocol = 'openai-chat', stream = true, status = 200, parts = [], broken }: Fed) {
  const gaps: number[] = [];
  let events = 0;
  let keepAlives = 0;
  let bodyBytes = 0;
  const reader = answerReader({
    protocol,
    stream,
    startMs: 1000,
    tally: {
      event: (gapMs) => {
        events++;
        if (gapMs !== undefined) gaps.push(gapMs);
      },
      keepAlive: () => {
        keepAlives++;
      },
      bodyBytes: (count) => {
        bodyBytes += count;
      },
    },
  });
  reader.head(status, false, 1005);
  for (const [n, part] of parts.entries()) reader.body(Buffer.from(part), 1010 + n);
  const facts = reader.end(broken, 1100);
  return { ...facts, gaps, events, keepAlives, bodyBytes };
}

const delta = (content: string): string => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
const ROLE = `data: ${JSON.stringify({ choices: [{ delta: { role: 'assistant', content: '' } }] })}\n\n`;
const DONE = 'data: [DONE]\n\n';

describe('an answer', () => {
  it('has the time of its head, first event, first content, and of its end', () => {
    const { kind, headMs, firstEventMs, firstContentMs, totalMs, gaps, events } = read({
      parts: [': wait\n\n', ROLE, delta('a'), `${delta('b')}${DONE}`],
    });
    expect({ kind, headMs, firstEventMs, firstContentMs, totalMs }).toEqual({
      kind: 'complete',
      headMs: 5,
      firstEventMs: 11,
      firstContentMs: 12,
      totalMs: 100,
    });
    expect({ gaps, events }).toEqual({ gaps: [1, 1, 0], events: 4 });
  });

  it('has an event when its blank line has come, wherever its bytes are split', () => {
    const bytes = [...`${ROLE}${delta('a')}${DONE}`];
    const { firstEventMs, gaps, events, bodyBytes } = read({ parts: bytes });
    expect(firstEventMs).toBe(10 + ROLE.length - 1);
    expect(gaps).toEqual([delta('a').length, DONE.length]);
    expect({ events, bodyBytes }).toEqual({ events: 3, bodyBytes: bytes.length });
  });

  it('counts keep-alives, which are no events', () => {
    const ping = 'event: ping\ndata: {"type":"ping"}\n\n';
    const { events, keepAlives, gaps } = read({
      protocol: 'anthropic-messages',
      parts: [ping, ': c\n\n', 'event: message_stop\ndata: {}\n\n', ping, '{"no":\n\n"event stream"}\n\n'],
    });
    expect({ events, keepAlives, gaps }).toEqual({ events: 1, keepAlives: 3, gaps: [] });
  });
});

describe('its end', () => {
  it.each<[string, Fed, { kind: string; terminal: boolean }]>([
    ['complete', { parts: [delta('a'), DONE] }, { kind: 'complete', terminal: true }],
    ['without the terminal', { parts: [delta('a')] }, { kind: 'no_terminal', terminal: false }],
    ['the terminal without its blank line', { parts: ['data: [DONE]\n'] }, { kind: 'complete', terminal: true }],
    ['half a terminal', { parts: ['data: [DO'] }, { kind: 'malformed', terminal: false }],
    ['an empty body', {}, { kind: 'no_terminal', terminal: false }],
    ['an error among the events', { parts: ['data: {"error":{}}\n\n', DONE] }, { kind: 'api_error', terminal: true }],
    ['no JSON', { parts: ['data: {not-json\n\n', DONE] }, { kind: 'malformed', terminal: true }],
    ['reset', { parts: [delta('a')], broken: 'reset' }, { kind: 'reset', terminal: false }],
    ['reset behind the terminal', { parts: [DONE], broken: 'reset' }, { kind: 'reset', terminal: true }],
    ['another status', { status: 503, parts: [DONE] }, { kind: 'http_503', terminal: false }],
    ['another status, cut', { status: 503, broken: 'closed' }, { kind: 'closed', terminal: false }],
    [
      'a name whose data is no JSON',
      {
        protocol: 'anthropic-messages',
        parts: ['event: content_block_delta\ndata: {\n\n', 'event: message_stop\ndata: {}\n\n'],
      },
      { kind: 'malformed', terminal: true },
    ],
    [
      'response.failed',
      { protocol: 'openai-responses', parts: ['data: {"type":"response.failed"}\n\n'] },
      { kind: 'api_error', terminal: true },
    ],
    [
      'response.completed',
      { protocol: 'openai-responses', parts: ['data: {"type":"response.completed"}\n\n'] },
      { kind: 'complete', terminal: true },
    ],
    ['a JSON', { stream: false, parts: ['{"error"', ':null}'] }, { kind: 'complete', terminal: true }],
    ['half a JSON', { stream: false, parts: ['{"error"'] }, { kind: 'malformed', terminal: false }],
    ['a JSON of an error', { stream: false, parts: ['{"error":{}}'] }, { kind: 'api_error', terminal: true }],
  ])('%s', (_, fed, wanted) => {
    expect(read(fed)).toMatchObject(wanted);
  });

  it('is malformed where an event has no end', () => {
    const part = 'x'.repeat(1 << 20);
    expect(read({ parts: Array.from({ length: 17 }, () => part) }).kind).toBe('malformed');
  });
});
