import { describe, expect, it } from 'vitest';
import { judge } from '../support/referee.js';
import {
  eventsOf,
  firstDelta,
  healthy,
  PROTOCOLS,
  type Protocol,
  REFEREE,
  unread,
  wireOf,
} from './support/bytes-protocol.js';
import { caseOptions } from './support/case-server.js';

/** Section D of the cases, SSE framing: what a raw client gets of each variant, to the byte. */
const SAID = 'mock 中 and 👧 recovered';
const CRLF = Buffer.from('\r\n');

/** Each protocol with each row. */
function inAll<T extends readonly unknown[]>(rows: readonly T[]): [Protocol, ...T][] {
  return PROTOCOLS.flatMap((protocol) => rows.map((row): [Protocol, ...T] => [protocol, ...row]));
}

describe('B29: a read ends inside a character', () => {
  const CUTS = [
    ['three_after_1', '中', 1],
    ['three_after_2', '中', 2],
    ['four_after_1', '👧', 1],
    ['four_after_2', '👧', 2],
    ['four_after_3', '👧', 3],
  ] as const;

  it.each(inAll(CUTS))('%s: segment_%s', async (protocol, name, character, count) => {
    const variant = `segment_${name}`;
    const { text, answer, end } = await wireOf('B29', variant, protocol);
    const whole = await healthy(protocol, {
      answer: { kind: 'turn', turn: { text: 'none', say: SAID, finish: 'stop' } },
    });
    expect({ text, end }).toEqual({ text: whole, end: 'kept' });
    expect(judge(REFEREE[protocol], answer.body)).toMatchObject({ ok: true });
    // The character stands there in one piece: no chunk ends in it.
    expect(answer.chunks.length).toBe(eventsOf(whole).length);
    expect(await unread(['B29', variant, protocol], ({ raw }) => [raw.indexOf(character) + count])).toEqual([]);
  });

  it.each(inAll(CUTS))('%s: chunk_%s', async (protocol, name, character, count) => {
    const variant = `chunk_${name}`;
    const { raw, text, answer, end } = await wireOf('B29', variant, protocol);
    const whole = await healthy(protocol, {
      answer: { kind: 'turn', turn: { text: 'none', say: SAID, finish: 'stop' } },
    });
    expect({ text, end }).toEqual({ text: whole, end: 'kept' });
    expect(judge(REFEREE[protocol], answer.body)).toMatchObject({ ok: true });
    const bytes = Buffer.from(character);
    const [first = 0, ...more] = answer.chunks;
    expect(more.length).toBe(1);
    const dataEnd = answer.body.indexOf(character) + count;
    expect(first).toBe(dataEnd);
    const size = `${(answer.body.length - dataEnd).toString(16)}\r\n`;
    const border = Buffer.concat([bytes.subarray(0, count), CRLF, Buffer.from(size), bytes.subarray(count)]);
    const at = raw.indexOf(border);
    expect(at).toBeGreaterThan(0);
    expect(await unread(['B29', variant, protocol], () => [at + count + CRLF.length])).toEqual([]);
  });
});

describe('B31: line ends', () => {
  /** Both data lines of an event as one, and LF for CRLF. */
  const joined = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(/^(data: .*)\ndata: /gm, '$1');
  /** Between CR and LF, everywhere. */
  const middles = (raw: Buffer): number[] => {
    const found: number[] = [];
    for (let at = raw.indexOf(CRLF); at >= 0; at = raw.indexOf(CRLF, at + 2)) found.push(at + 1);
    return found;
  };
  /** Whether a CRLF ends a line of an event, or is its blank line, behind which the chunk ends; and not one of the framing. */
  const inEvent = (raw: Buffer, at: number): boolean => {
    const line = raw.toString('latin1', raw.lastIndexOf(CRLF, at - 2) + 2, at - 1);
    return /^(data|event): /.test(line) || (line === '' && raw.toString('latin1', at + 1, at + 3) === '\r\n');
  };

  it.each(PROTOCOLS)('%s: crlf_split_segment', async (protocol) => {
    const { text, answer, end } = await wireOf('B31', 'crlf_split_segment', protocol);
    expect({ text: joined(text), end }).toEqual({ text: await healthy(protocol), end: 'kept' });
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(text).toMatch(/^data: .*\r\ndata: .*\r\n\r\n/m);
    // Chunks end where events do, so that all CRLF but those of the chunks are in the events.
    const events = text.split(/(?<=\r\n\r\n)/);
    expect(answer.chunks.length).toBe(events.length);
    const places = ({ raw }: { raw: Buffer }): number[] => middles(raw).filter((at) => inEvent(raw, at));
    expect(await unread(['B31', 'crlf_split_segment', protocol], places)).toEqual([]);
  });

  it.each(PROTOCOLS)('%s: crlf_split_chunk', async (protocol) => {
    const { raw, text, answer, end } = await wireOf('B31', 'crlf_split_chunk', protocol);
    expect({ text: joined(text), end }).toEqual({ text: await healthy(protocol), end: 'kept' });
    // Each chunk ends with a CR, and its LF begins the next one.
    let at = 0;
    const pieces = answer.chunks.map((size) => {
      at += size;
      return answer.body.toString('utf8', at - size, at);
    });
    expect(pieces.slice(0, -1).every((piece) => piece.endsWith('\r') && !piece.includes('\r\n'))).toBe(true);
    expect(pieces.slice(1).every((piece) => piece.startsWith('\n'))).toBe(true);
    expect(pieces.length).toBe(text.split('\r\n').length);
    const ends: number[] = [];
    for (let from = raw.indexOf('\r\r\n'); from >= 0; from = raw.indexOf('\r\r\n', from + 1)) ends.push(from + 3);
    expect(ends.length).toBe(pieces.length - 1);
    expect(await unread(['B31', 'crlf_split_chunk', protocol], () => ends)).toEqual([]);
  });

  it.each(PROTOCOLS)('%s: cr_only', async (protocol) => {
    const { text, answer, end } = await wireOf('B31', 'cr_only', protocol);
    expect({ text, end }).toEqual({ text: (await healthy(protocol)).replaceAll('\n', '\r'), end: 'kept' });
    expect(judge(REFEREE[protocol], answer.body).rules).toEqual(['wire.newline']);
  });
});

describe('B32: no space', () => {
  it('has no border in a line: the witness tells reads that are split from those that are not', async () => {
    const place = ({ raw }: { raw: Buffer }): number[] => [raw.indexOf('data:') + 5];
    expect((await unread(['B32', 'no_space', 'openai-chat'], place)).length).toBe(1);
  });

  it.each(PROTOCOLS)('%s', async (protocol) => {
    const { text, answer, end } = await wireOf('B32', 'no_space', protocol);
    expect({ text, end }).toEqual({
      text: (await healthy(protocol)).replaceAll(/^(event|data): /gm, '$1:'),
      end: 'kept',
    });
    expect(judge(REFEREE[protocol], answer.body).rules).toEqual(['wire.space']);
  });
});

describe('B33: blocks without data', () => {
  const BLOCKS = [
    ['lone_colon', ':\n\n'],
    ['event_only', 'event: x\n\n'],
    ['empty_data', 'data:\n\n'],
  ] as const;

  it.each(PROTOCOLS)('%s: retry_first', async (protocol) => {
    const { text, end } = await wireOf('B33', 'retry_first', protocol);
    expect({ text, end }).toEqual({ text: `retry: 3000\n\n${await healthy(protocol)}`, end: 'kept' });
  });

  it.each(PROTOCOLS)('%s: id_then_comment', async (protocol) => {
    const { text, end } = await wireOf('B33', 'id_then_comment', protocol);
    const events = eventsOf(await healthy(protocol));
    const at = firstDelta(events);
    const wanted = events.toSpliced(at, 1, `id: 7\n${events[at]}`, ': ping\n\n').join('');
    expect({ text, end }).toEqual({ text: wanted, end: 'kept' });
  });

  it.each(inAll(BLOCKS))('%s: %s', async (protocol, variant, block) => {
    const { text, end } = await wireOf('B33', variant, protocol);
    const events = eventsOf(await healthy(protocol));
    expect({ text, end }).toEqual({ text: events.toSpliced(firstDelta(events), 0, block).join(''), end: 'kept' });
  });
});

describe('B34: a byte order mark', () => {
  const BOM = '\ufeff';
  const bodyAt = (raw: Buffer): number => raw.indexOf(Buffer.from(BOM));

  it.each(PROTOCOLS)('%s: start', async (protocol) => {
    const { text, answer, end } = await wireOf('B34', 'start', protocol);
    expect({ text, end }).toEqual({ text: `${BOM}${await healthy(protocol)}`, end: 'kept' });
    expect(answer.body.toString('hex', 0, 3)).toBe('efbbbf');
  });

  it.each(PROTOCOLS)('%s: split_segment', async (protocol) => {
    const { text, end } = await wireOf('B34', 'split_segment', protocol);
    expect({ text, end }).toEqual({ text: `${BOM}${await healthy(protocol)}`, end: 'kept' });
    const places = ({ raw }: { raw: Buffer }): number[] => [bodyAt(raw) + 1, bodyAt(raw) + 2];
    expect(await unread(['B34', 'split_segment', protocol], places)).toEqual([]);
  });

  it.each(PROTOCOLS)('%s: split_chunk', async (protocol) => {
    const { raw, text, answer, end } = await wireOf('B34', 'split_chunk', protocol);
    expect({ text, end }).toEqual({ text: `${BOM}${await healthy(protocol)}`, end: 'kept' });
    expect(answer.chunks).toEqual([1, 1, answer.body.length - 2]);
    const first = raw.indexOf(Buffer.from('31 0d0a ef 0d0a 31 0d0a bb 0d0a'.replaceAll(' ', ''), 'hex'));
    expect(await unread(['B34', 'split_chunk', protocol], () => [first + 6, first + 12])).toEqual([]);
  });

  it.each(PROTOCOLS)('%s: later_in_text', async (protocol) => {
    const { text, end } = await wireOf('B34', 'later_in_text', protocol);
    const say = `mock${BOM}response recovered`;
    const whole = await healthy(protocol, { answer: { kind: 'turn', turn: { text: 'none', say, finish: 'stop' } } });
    expect({ text, end }).toEqual({ text: `${BOM}${whole}`, end: 'kept' });
    const place = ({ raw }: { raw: Buffer }): number[] => [raw.indexOf(Buffer.from(`mock${BOM}`)) + 4];
    expect(await unread(['B34', 'later_in_text', protocol], place)).toEqual([]);
  });

  it.each(PROTOCOLS)('%s: later_in_field', async (protocol) => {
    const { text, end } = await wireOf('B34', 'later_in_field', protocol);
    const [first = '', second = '', ...more] = eventsOf(await healthy(protocol));
    expect({ text, end }).toEqual({ text: [first, `${BOM}${second}`, ...more].join(''), end: 'kept' });
  });
});

it.each(['B29', 'B31', 'B32', 'B33', 'B34', 'B35', 'B38'])(
  '%s: its sequence has its variants in their order',
  async (id) => {
    const { behaviors = {}, sequence } = await caseOptions(id);
    expect(sequence).toEqual(Object.keys(behaviors));
  },
);
