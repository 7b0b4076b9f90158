import { describe, expect, it } from 'vitest';
import { WirefaultError } from '../../src/errors.js';
import { compile } from '../../src/fault/plan.js';
import { offsetOf, type Position } from '../../src/fault/position.js';
import type { Cut, FaultSpec } from '../../src/fault/spec.js';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import { DEFAULTS } from '../../src/options.js';
import { isObject, PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { DIALECT_OF } from '../../src/sse/dialects.js';
import { stampsFrom } from '../../src/sse/stamps.js';
import { readAnswer } from '../support/http.js';

const TEXT = 'position ż👧 text';

type Told = 'success' | 'none';
interface Asked {
  readonly stream?: boolean;
  readonly chunkedAllowed?: boolean;
  readonly framing?: 'chunked';
  readonly text?: Told;
}

function planOf(protocol: Protocol, cut: Cut | undefined, asked: Asked = {}): WirePlan {
  const { stream = true, chunkedAllowed = true, framing, text = 'success' } = asked;
  const dialect = DIALECT_OF[protocol];
  const fault: FaultSpec = {
    answer: { kind: 'turn', turn: { text, finish: 'stop' } },
    ...(framing ? { framing: { kind: framing } } : {}),
    ...(cut ? { cut } : {}),
  };
  const context = {
    request: dialect.readRequest({ stream, model: 'm' }),
    fidelity: 'full',
    keyOrder: 'sorted',
    chunkSize: 5,
    stamps: stampsFrom('seed', new Date('2026-08-19T14:34:11Z')),
    requestId: 'req_x',
  } as const;
  const content = { ...DEFAULTS, successText: TEXT };
  return compile({ fault, dialect, context, content, keepAlive: true, chunkedAllowed, gzip: false, seed: 'seed' });
}

/** The bytes before the cut. */
function delivered(protocol: Protocol, at: Position, asked?: Asked): string {
  const { bytes, cut } = planOf(protocol, { at, teardown: 'rst' }, asked);
  expect(cut?.position).toBe(at);
  return bytes.toString('utf8', 0, cut?.offset);
}

/** The head, and the body in the pieces that end with an empty line: found without looking at marks. */
function piecesOf(plan: WirePlan): { head: string; events: string[] } {
  const text = plan.bytes.toString('utf8');
  const headEnd = text.indexOf('\r\n\r\n') + 4;
  const events = text.slice(headEnd).split(/(?<=\n\n\r\n)|(?<=\n\n)(?!\r\n)/);
  return { head: text.slice(0, headEnd), events };
}

/** Whether an event says a piece of the answer, by its JSON alone. */
function speaks(piece: string): boolean {
  const json = /^data: (\{.*\})$/m.exec(piece)?.[1];
  if (json === undefined) return false;
  const data: unknown = JSON.parse(json);
  if (!isObject(data)) return false;
  if (Array.isArray(data.choices)) return /"delta":\{"content":"[^"]/.test(json);
  return data.type === 'response.output_text.delta' || data.type === 'content_block_delta';
}

const LAST_WORD: Readonly<Record<Protocol, string>> = {
  'openai-chat': 'data: [DONE]',
  'openai-responses': 'event: response.completed',
  'anthropic-messages': 'event: message_stop',
};

describe.each(PROTOCOLS)('%s as a stream', (protocol) => {
  const { head, events } = piecesOf(planOf(protocol, undefined));
  const count = events.length - 1;
  const upTo = (n: number): string => head + events.slice(0, n).join('');

  it('request and headers are before the answer and behind the empty line', () => {
    expect(delivered(protocol, 'request')).toBe('');
    expect(delivered(protocol, 'headers')).toBe(head);
    expect(head.endsWith('\r\n\r\n')).toBe(true);
  });

  it('event:N is behind N whole events, for each N', () => {
    expect(events.at(-1)).toBe('0\r\n\r\n');
    expect(count).toBeGreaterThan(5);
    for (let n = 1; n <= count; n++) expect(delivered(protocol, `event:${n}`)).toBe(upTo(n));
  });

  it('deltas is behind the last event that carries content', () => {
    const last = events.findLastIndex(speaks);
    expect(events.slice(0, last).some(speaks)).toBe(true);
    expect(delivered(protocol, 'deltas')).toBe(upTo(last + 1));
  });

  it('terminator is before the last word, its chunk size included', () => {
    const terminal = events.findIndex((piece) => piece.includes(LAST_WORD[protocol]));
    expect(terminal).toBe(count - 1);
    expect(delivered(protocol, 'terminator')).toBe(upTo(terminal));
  });

  it('events is behind the last event, before the chunk that ends the body, end is behind that', () => {
    expect(delivered(protocol, 'events')).toBe(upTo(count));
    expect(delivered(protocol, 'end')).toBe(upTo(count + 1));
    expect(planOf(protocol, { at: 'end', teardown: 'rst' }).cut?.offset).toBe(planOf(protocol, undefined).bytes.length);
  });

  it('without chunks each position is behind the same events', () => {
    const asked = { chunkedAllowed: false };
    const bare = piecesOf(planOf(protocol, undefined, asked));
    expect(bare.events).toHaveLength(count);
    const bareUpTo = (n: number): string => bare.head + bare.events.slice(0, n).join('');
    for (let n = 1; n <= count; n++) expect(delivered(protocol, `event:${n}`, asked)).toBe(bareUpTo(n));
    expect(delivered(protocol, 'deltas', asked)).toBe(bareUpTo(events.findLastIndex(speaks) + 1));
    expect(delivered(protocol, 'terminator', asked)).toBe(bareUpTo(count - 1));
    expect(delivered(protocol, 'events', asked)).toBe(bareUpTo(count));
    expect(delivered(protocol, 'end', asked)).toBe(bareUpTo(count));
  });

  it('deltas of an answer without content is where its content would have come', () => {
    const empty = piecesOf(planOf(protocol, undefined, { text: 'none' }));
    expect(empty.events.some(speaks)).toBe(false);
    const start = {
      'openai-chat': /"role":"assistant"/,
      'openai-responses': /^event: response\.content_part\.added/m,
      'anthropic-messages': /^event: content_block_start|^event: message_start/m,
    }[protocol];
    const at = empty.events.findLastIndex((piece) => start.test(piece));
    if (at < 0) throw new Error('the answer never starts');
    const cut = delivered(protocol, 'deltas', { text: 'none' });
    expect(cut).toBe(empty.head + empty.events.slice(0, at + 1).join(''));
  });

  it.each(['event:0', 'event:999', 'event:1.5'] as const)('%s is refused with what there is instead', (at) => {
    let error: unknown;
    try {
      planOf(protocol, { at, teardown: 'rst' });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(WirefaultError);
    expect(error).toMatchObject({ code: 'plan_impossible' });
    expect(String(error)).toContain(`position ${at}: the answer doesn't reach it; it has`);
    expect(String(error)).toMatch(/\b\d+ bytes and the events \S+, /);
  });

  it('with a clean end the body is whole up to the position', () => {
    const body = events.slice(0, -1).map((piece) => piece.replace(/^[0-9a-f]+\r\n/, '').replace(/\r\n$/, ''));
    const ended = (at: Position): string => {
      const plan = planOf(protocol, { at, teardown: 'eof' });
      const answer = readAnswer(plan.bytes);
      expect(answer).toMatchObject({ complete: true, rest: Buffer.alloc(0) });
      expect(plan.cut).toEqual({ position: at, offset: plan.bytes.length });
      return answer?.body.toString() ?? '';
    };
    expect(ended('headers')).toBe('');
    for (let n = 1; n <= count; n++) expect(ended(`event:${n}`)).toBe(body.slice(0, n).join(''));
    expect(ended('deltas')).toBe(body.slice(0, events.findLastIndex(speaks) + 1).join(''));
    expect(ended('terminator')).toBe(body.slice(0, -1).join(''));
    expect(ended('events')).toBe(body.join(''));
    expect(ended('end')).toBe(body.join(''));
  });
});

describe.each(PROTOCOLS)('%s as a JSON body', (protocol) => {
  const asked = { stream: false };
  const plan = planOf(protocol, undefined, asked);
  const text = plan.bytes.toString('utf8');
  const bodyAt = text.indexOf('\r\n\r\n') + 4;
  const start = text.indexOf(TEXT, bodyAt);
  const places: readonly (readonly [Position, number])[] = [
    ['request', 0],
    ['headers', bodyAt],
    ['event:1', start],
    ['event:2', start + TEXT.length],
    ['deltas', start + TEXT.length],
    ['event:3', text.length - 1],
    ['terminator', text.length - 1],
    ['event:4', text.length],
    ['events', text.length],
    ['end', text.length],
  ];

  it('has the text once and ends with its brace', () => {
    expect(start).toBeGreaterThan(bodyAt);
    expect(text.indexOf(TEXT, start + 1)).toBe(-1);
    expect(JSON.parse(text.slice(bodyAt))).toBeTypeOf('object');
    expect(text.at(-1)).toBe('}');
  });

  it.each(places)('%s is at %i', (at, place) => {
    expect(delivered(protocol, at, asked)).toBe(text.slice(0, place));
  });

  it.each(places.slice(1))('a clean end at %s has a body of that length', (at, place) => {
    const answer = readAnswer(planOf(protocol, { at, teardown: 'eof' }, asked).bytes);
    expect(answer).toMatchObject({ complete: true, rest: Buffer.alloc(0) });
    expect(answer?.body.toString()).toBe(text.slice(bodyAt, place));
  });

  it('in chunks is cut behind the same bytes, each part a chunk', () => {
    const chunked = { ...asked, framing: 'chunked' } as const;
    const whole = planOf(protocol, undefined, chunked);
    expect(readAnswer(whole.bytes)?.chunks).toHaveLength(4);
    const unchunked = (cut: string): string => {
      const answer = readAnswer(Buffer.from(cut));
      return answer ? answer.body.toString() : cut;
    };
    for (const [at, place] of places.slice(1)) {
      const cut = delivered(protocol, at, chunked);
      expect(unchunked(cut)).toBe(text.slice(bodyAt, place));
      expect(cut.endsWith('\r\n')).toBe(true);
    }
    expect(delivered(protocol, 'events', chunked)).toBe(delivered(protocol, 'event:4', chunked));
    expect(delivered(protocol, 'end', chunked)).toBe(`${delivered(protocol, 'events', chunked)}0\r\n\r\n`);
  });

  it('event:5 is refused', () => {
    expect(() => planOf(protocol, { at: 'event:5', teardown: 'rst' }, asked)).toThrow(/event:5/);
  });
});

it('an answer without events has only the positions of HTTP', () => {
  const answer = { bytes: Buffer.from('HTTP...'), marks: [{ kind: 'headers', index: 1, start: 2, end: 4 }] } as const;
  const at = (position: Position): number | undefined => offsetOf(position, answer);
  expect([at('request'), at('headers'), at('events'), at('end')]).toEqual([0, 4, 7, 7]);
  expect([at('event:1'), at('deltas'), at('terminator')]).toEqual([undefined, undefined, undefined]);
});
