import { describe, expect, it } from 'vitest';
import { PROTOCOLS } from '../../src/sse/dialect.js';
import type { InLayers } from '../support/behaviors.js';
import { exchanged, isJson, type SeenExchange } from '../support/exchange.js';
import { type Answer, headerOf, readAnswer } from '../support/http.js';
import { plainly, readEvents } from '../support/sse.js';
import {
  alsoBroken,
  broken,
  expectVerdict,
  failed,
  limit,
  nothing,
  per,
  stop,
  truncated,
  type Verdicts,
} from '../support/verdicts.js';

/**
 * The grammar of event streams and the rest of the protocol, in every protocol at real sockets. HTTP delivers each of
 * these bodies as it is. The referee judges it twice: as it is on the wire, and in the plain form of its events as a
 * reader of the standard gets them, which tells what is odd about its form from what is missing of its meaning.
 */
interface Row {
  readonly end?: 'rst';
  /** Of the body as it is. Default: accepted. */
  readonly stream?: Verdicts;
  /** Of its events as the standard has them read. Default: as `stream`. */
  readonly read?: Verdicts;
  /** The bytes that make it what it is. */
  readonly wire?: (seen: Streamed) => void;
  /** The JSON body for a request that doesn't stream: whole JSON, cut JSON, or nothing. Default: whole. */
  readonly json?: 'whole' | 'cut' | 'none';
  /** What of the fault a JSON body has no place for. */
  readonly unapplied?: readonly string[];
  /** A machine that holds the test up for longer than a pause lets segments be read as one: it is tried again then. */
  readonly timed?: true;
}

interface Streamed extends SeenExchange {
  readonly answer: Answer;
  /** The body, a character for each byte. */
  readonly body: string;
}

const BOM = '\xef\xbb\xbf';

/** Written in another way, and read as a healthy answer. */
const odd = (...rules: string[]) => ({ stream: alsoBroken(rules, stop), read: stop });
const sse = { unapplied: ['sse'] };
const events = { unapplied: ['events'] };
const ownEvent = broken([['wire.line'], ['wire.line', 'wire.event'], ['wire.line', 'wire.event']]);
/** The referee doesn't know the mark for one, and so takes the first line for no field. */
const marked = broken([
  ['wire.bom', 'wire.line', 'wire.blank', 'chat.role'],
  ['wire.bom', 'wire.line', 'wire.event'],
  ['wire.bom', 'wire.line', 'wire.event'],
]);

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** Whether a read ended at `offset` in the answer. */
function splitAt({ reads }: SeenExchange, offset: number): boolean {
  let at = 0;
  return reads.some(({ length }) => {
    at += length;
    return at === offset;
  });
}

/** Offsets in the answer of what `pattern` finds in it. */
function placesOf({ bytes }: SeenExchange, pattern: RegExp): number[] {
  return Array.from(bytes.toString('latin1').matchAll(pattern), ({ index }) => index);
}

const TABLE: Record<InLayers, Row> = {
  eol_cr: {
    ...odd('wire.newline'),
    ...sse,
    wire: ({ body }) => {
      expect(body).not.toContain('\n');
      expect(body).toMatch(/^.+\r.*\r\r$/s);
    },
  },
  eol_crlf: {
    ...odd('wire.newline'),
    ...sse,
    wire: ({ body }) => {
      expect(count(body, /\n/g)).toBe(count(body, /\r\n/g));
      expect(count(body, /\r/g)).toBe(count(body, /\r\n/g));
      expect(body).toMatch(/\r\n\r\n$/);
    },
  },
  eol_mixed: {
    ...odd('wire.newline'),
    ...sse,
    wire: ({ body }) => {
      const ends = body.match(/\r\n|\n|\r/g) ?? [];
      expect(new Set(ends)).toEqual(new Set(['\n', '\r\n', '\r']));
    },
  },
  crlf_split: {
    timed: true,
    ...odd('wire.newline'),
    ...sse,
    wire: (seen) => {
      // Behind the CR of each line end of the body, of which there are more on the wire: those of the chunks.
      const split = placesOf(seen, /\r\n/g).filter((at) => splitAt(seen, at + 1));
      expect(split.length).toBeGreaterThan(0);
      expect(seen.ledger.times.plannedWaitMs).toBe(5 * count(seen.body, /\r\n/g));
    },
  },
  bom: {
    stream: marked,
    read: stop,
    ...sse,
    wire: ({ body }) => {
      expect(body.startsWith(BOM)).toBe(true);
      expect(body.lastIndexOf(BOM)).toBe(0);
    },
  },
  bom_split: {
    timed: true,
    stream: marked,
    read: stop,
    ...sse,
    wire: (seen) => {
      const [at = Number.NaN] = placesOf(seen, /\xef\xbb\xbf/g);
      expect(splitAt(seen, at + 1) && splitAt(seen, at + 2)).toBe(true);
    },
  },
  bom_middle: {
    stream: ownEvent,
    // Chat loses the event, whose only line is no field then; the others lose its name.
    read: per(
      stop['openai-chat'],
      { broken: ['wire.event'], truncated: false },
      { broken: ['wire.event'], truncated: false },
    ),
    ...sse,
    wire: ({ body }) => {
      expect(body.split('\n\n')[1]?.startsWith(BOM)).toBe(true);
      expect(count(body, /\xef\xbb\xbf/g)).toBe(1);
    },
  },
  utf8_split: {
    timed: true,
    wire: (seen) => {
      const text = 'mock żółw 回复 👧 recovered';
      expect(readEvents(seen.answer.body).map(textOf).join('')).toBe(text);
      // Not all are sure to be read one by one; but some are.
      const inside = placesOf(seen, /[\xc0-\xff][\x80-\xbf]+/g).filter(
        (at) => splitAt(seen, at + 1) || splitAt(seen, at + 2),
      );
      expect(inside.length).toBeGreaterThan(0);
    },
  },
  utf8_invalid: {
    // The text that is told once more at the end of a response isn't the text of its deltas.
    stream: broken([['wire.utf8'], ['wire.utf8', 'resp.text'], ['wire.utf8']]),
    read: per(stop['openai-chat'], { broken: ['resp.text'], truncated: false }, stop['anthropic-messages']),
    wire: ({ body, answer }) => {
      expect(count(body, /\xff/g)).toBe(1);
      expect(readEvents(answer.body).map(textOf).join('')).toBe('mo\ufffdck response recovered');
    },
  },
  comment_only: {
    stream: alsoBroken(['wire.comment'], nothing),
    read: nothing,
    json: 'none',
    ...events,
    wire: ({ body }) => expect(body).toBe(': keep-alive\n\n'),
  },
  comment_flood: {
    ...odd('wire.comment'),
    ...events,
    wire: ({ body, answer }) => {
      expect(body.startsWith(': keep-alive\n\n'.repeat(1000))).toBe(true);
      expect(count(body, /: keep-alive/g)).toBe(1000);
      expect(answer.chunks.length).toBeGreaterThan(1000);
    },
  },
  data_multi: {
    ...odd('wire.multidata'),
    ...sse,
    wire: ({ body }) => {
      const events = body.split('\n\n').filter((event) => event.includes('{'));
      const lines = events.map((event) => count(event, /^data: /gm));
      // JSON of one member has one place to be broken at.
      const places = events.map((event) => count(event.replaceAll(/"(?:[^"\\]|\\.)*"/g, ''), /[,[{]/g));
      expect(lines).toEqual(places.map((number) => Math.min(4, number + 1)));
      expect(lines).toContain(4);
    },
  },
  field_no_colon: {
    stream: alsoBroken(['wire.line'], stop),
    read: broken([['json'], ['wire.event', 'json'], ['wire.event', 'json']]),
    ...events,
    wire: ({ body, answer }) => {
      expect(count(body, /^data$/gm)).toBe(1);
      expect(readEvents(answer.body).filter(({ data }) => data === '')).toHaveLength(1);
    },
  },
  field_unknown: {
    ...odd('wire.line'),
    ...events,
    wire: ({ body }) => expect(count(body, /\n\nunknown: field\n\n/g)).toBe(1),
  },
  no_space: {
    ...odd('wire.space'),
    ...sse,
    wire: ({ body }) => {
      expect(body).not.toMatch(/^(data|event): /m);
      expect(count(body, /^data:/gm)).toBeGreaterThan(3);
    },
  },
  no_final_blank: {
    stream: alsoBroken(['wire.unterminated'], stop),
    read: truncated,
    ...sse,
    wire: ({ body, answer }) => {
      expect(body).toMatch(/[^\n]\n$/);
      expectVerdict(protocolOf(body), Buffer.concat([answer.body, Buffer.from('\n')]), stop[protocolOf(body)]);
    },
  },
  huge_line: {
    ...odd('wire.comment'),
    ...events,
    wire: ({ body }) => expect(/^: (x+)$/m.exec(body)?.[1]?.length).toBe(2_097_152),
  },
  id_nul: {
    stream: broken([
      ['wire.field', 'wire.nodata', 'json'],
      ['wire.field', 'wire.nodata', 'wire.event', 'json'],
      ['wire.field', 'wire.nodata', 'wire.event', 'json'],
    ]),
    read: stop,
    ...events,
    wire: ({ body }) => expect(count(body, /\n\nid: 7\0\n\n/g)).toBe(1),
  },
  retry_bogus: {
    ...odd('wire.field'),
    ...sse,
    wire: ({ body }) => {
      expect(count(body, /^retry: soon$/gm)).toBe(1);
      expect(body.indexOf('retry: soon')).toBeLessThan(body.indexOf('\n\n'));
    },
  },

  terminal_missing: { stream: truncated, json: 'cut' },
  terminal_early: {
    stream: broken([
      ['chat.after-done', 'chat.truncated'],
      ['resp.item', 'resp.output', 'resp.after-end'],
      ['msg.order', 'msg.after-end'],
    ]),
    json: 'cut',
  },
  data_after_terminal: {
    stream: broken([['chat.after-done'], ['resp.after-end'], ['msg.after-end']]),
    json: 'cut',
    wire: ({ answer }) => {
      const [last, terminal] = readEvents(answer.body).reverse();
      expect(terminal?.data).toMatch(/\[DONE\]|"response\.completed"|"message_stop"/);
      expect(last && textOf(last)).toBe('mock res');
    },
  },
  error_after_200: {
    stream: failed,
    wire: ({ body, answer }) => {
      expect(answer.status).toBe(200);
      expect(body).not.toContain('mock res');
    },
  },

  F0: {},
  F1: { end: 'rst', stream: truncated, json: 'cut', wire: expectHalf },
  'F1+': { end: 'rst', stream: failed, wire: expectHalf },
  F2: { stream: truncated, json: 'cut', wire: expectHalf },
  'F2+': { stream: failed, wire: expectHalf },
  F3: { stream: truncated, json: 'cut', wire: expectAllText },
  'F3+': { stream: failed, wire: expectAllText },
  F4: { stream: limit, wire: expectHalf },
  'F4+': { stream: failed, wire: expectHalf },
  F5: { wire: expectHalf },
  'F5+': { stream: failed, wire: expectHalf },
};

/** The text that an event carries as a delta. */
function textOf({ data }: { readonly data: string }): string {
  if (!isJson(data)) return '';
  const json = JSON.parse(data);
  const [choice] = json.choices ?? [];
  const { text, type } = json.delta ?? {};
  if (json.type === 'response.output_text.delta') return json.delta;
  return choice?.delta?.content ?? (type === 'text_delta' ? text : '');
}

function expectAllText({ answer }: Streamed): void {
  expect(readEvents(answer.body).map(textOf).join('')).toBe('mock response recovered');
}

/** About half of the text: where deltas end, it isn't to be had exactly. */
function expectHalf({ answer }: Streamed): void {
  const text = readEvents(answer.body).map(textOf).join('');
  expect('mock response recovered'.startsWith(text)).toBe(true);
  expect(text.length).toBeGreaterThanOrEqual(8);
  expect(text.length).toBeLessThanOrEqual(16);
}

function protocolOf(body: string): (typeof PROTOCOLS)[number] {
  if (body.startsWith('data: ')) return 'openai-chat';
  return body.startsWith('event: response.') ? 'openai-responses' : 'anthropic-messages';
}

function answerOf({ bytes }: SeenExchange): Answer {
  const answer = readAnswer(bytes);
  if (!answer) throw new Error(`no head in ${bytes.length} bytes`);
  return answer;
}

describe.each(PROTOCOLS)('%s', (protocol) => {
  for (const [name, row] of Object.entries(TABLE)) {
    const { end = 'fin', stream = stop, read = stream, json = 'whole', unapplied = [] } = row;

    it(`${name}, streamed`, { retry: row.timed ? 5 : 0 }, async () => {
      const seen = await exchanged(name, { protocol, stream: true });
      const answer = answerOf(seen);
      expect({ end: seen.end, status: answer.status, complete: answer.complete }).toEqual({
        end,
        status: 200,
        complete: end === 'fin',
      });
      expect(headerOf(answer, 'content-type')).toBe('text/event-stream; charset=utf-8');
      expectVerdict(protocol, answer.body, stream[protocol]);
      expectVerdict(protocol, plainly(readEvents(answer.body)), read[protocol]);
      row.wire?.({ ...seen, answer, body: answer.body.toString('latin1') });
      expect(seen.ledger).toMatchObject({
        selection: { behavior: name },
        outcome: end === 'rst' ? 'reset' : 'completed',
        bytes: { written: seen.bytes.length, flushed: seen.bytes.length },
        unapplied: [],
      });
    });

    it(`${name}, as a JSON body`, async () => {
      const seen = await exchanged(name, { protocol, stream: false });
      const answer = answerOf(seen);
      expect({ end: seen.end, status: answer.status }).toEqual({ end, status: 200 });
      expect(headerOf(answer, 'content-type')).toBe('application/json');
      expect(headerOf(answer, 'content-length')).toMatch(/^\d+$/);
      // A reset behind the last byte leaves nothing to be missed.
      expect(answer.complete).toBe(end === 'fin' || json === 'whole');
      const body = answer.body.toString();
      expect(body === '' ? 'none' : isJson(body) ? 'whole' : 'cut').toBe(json);
      expect(seen.ledger).toMatchObject({ selection: { behavior: name }, unapplied });
    });
  }
});
