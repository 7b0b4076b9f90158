import { constants, crc32, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { serve } from '../support/server.js';
import { witnessed } from '../support/witness.js';
import { caseOptions, caseServer } from './support/case-server.js';
import { CHAT, connect, MESSAGES, played } from './support/played.js';
import { answerOf, chunksOf, headerOf, notationOf, textIn } from './support/wire-notation.js';

/** Section B of the reported cases, HTTP framing and teardown: what a raw client gets of each scenario. */
const TEXT = 'mock response recovered';
const HEAD = 'H(1.1 200 chunked keep-alive)';
/** Half of the text in one chunk. */
const HALF = 'C(role+2*txt)';
const HALF_MESSAGES = 'C(ms+cbs+ping+2*cbd)';

type Row = readonly [id: string, variant: string, chat: string, messages: string, end: 'fin' | 'rst'];

const CLOSE = 'H(1.1 200 chunked close)';
const HTTP10 = 'H(1.0 200 close)';
const NO_LENGTH = 'H(1.1 200 close)';
const WHOLE_BODY = 'C(role) C(txt) C(txt) C(txt) C(fin) C([DONE])';
const WHOLE_MESSAGES = 'C(ms) C(cbs) C(ping) C(cbd) C(cbd) C(cbd) C(cbe) C(md) C(mstop)';

const ROWS: readonly Row[] = [
  ['B09', 'fin_at_chunk', `${CLOSE} ${HALF}`, `${CLOSE} ${HALF_MESSAGES}`, 'fin'],
  ['B09', 'rst_at_chunk', `${CLOSE} ${HALF}`, `${CLOSE} ${HALF_MESSAGES}`, 'rst'],
  ['B09', 'fin_in_chunk', `${CLOSE} ${HALF} P(32,9)`, `${CLOSE} ${HALF_MESSAGES} P(32,9)`, 'fin'],
  ['B09', 'rst_in_chunk', `${CLOSE} ${HALF} P(32,9)`, `${CLOSE} ${HALF_MESSAGES} P(32,9)`, 'rst'],
  ['B09', 'keep_alive_fin_at_chunk', `${HEAD} ${HALF}`, `${HEAD} ${HALF_MESSAGES}`, 'fin'],
  ['B09', 'keep_alive_rst_at_chunk', `${HEAD} ${HALF}`, `${HEAD} ${HALF_MESSAGES}`, 'rst'],
  ['B10', 'no_final_crlf', `${HEAD} ${WHOLE_BODY} T(0\\r\\n)`, `${HEAD} ${WHOLE_MESSAGES} T(0\\r\\n)`, 'fin'],
  ['B10', 'cut_trailer', `${HEAD} ${WHOLE_BODY} T(0\\r\\nX-T: a)`, `${HEAD} ${WHOLE_MESSAGES} T(0\\r\\nX-T: a)`, 'fin'],
  ['B12', 'fin_at_chunk', `${HEAD} C(role) C(2*txt)`, `${HEAD} C(ms) C(cbs+ping+2*cbd)`, 'fin'],
  ['B13', 'size_line_cut', `${HEAD} ${HALF} S(1)`, `${HEAD} ${HALF_MESSAGES} S(1)`, 'fin'],
  ['B13', 'data_cut', `${HEAD} ${HALF} P(40,25)`, `${HEAD} ${HALF_MESSAGES} P(40,25)`, 'fin'],
  ['B14', 'http10_fin', `${HTTP10} R(role+2*txt)`, `${HTTP10} R(ms+cbs+ping+2*cbd)`, 'fin'],
  ['B14', 'http10_rst', `${HTTP10} R(role+2*txt)`, `${HTTP10} R(ms+cbs+ping+2*cbd)`, 'rst'],
  ['B14', 'no_length_fin', `${NO_LENGTH} R(role+2*txt)`, `${NO_LENGTH} R(ms+cbs+ping+2*cbd)`, 'fin'],
  ['B14', 'no_length_rst', `${NO_LENGTH} R(role+2*txt)`, `${NO_LENGTH} R(ms+cbs+ping+2*cbd)`, 'rst'],
  ['B18', 'rst_at_once', `${HEAD} C(role)`, `${HEAD} C(ms)`, 'rst'],
  ['B19', 'rst_between_reads', `${HEAD} ${HALF}`, `${HEAD} ${HALF_MESSAGES}`, 'rst'],
  ['B19', 'fin_between_reads', `${HEAD} ${HALF}`, `${HEAD} ${HALF_MESSAGES}`, 'fin'],
  ['B20', 'rst_after_role', `${HEAD} C(role)`, `${HEAD} C(ms)`, 'rst'],
  [
    'B20',
    'rst_after_text',
    `${HEAD} C(role) C(txt) C(txt) C(txt)`,
    `${HEAD} C(ms) C(cbs) C(ping) C(cbd) C(cbd) C(cbd)`,
    'rst',
  ],
];

describe.each(ROWS)('%s %s', (id, variant, chat, messages, end) => {
  it(`${chat}, ${end}`, async () => {
    expect(await played(id, variant)).toMatchObject({ wire: chat, end });
  });

  it(`${messages}, ${end}`, async () => {
    expect(await played(id, variant, MESSAGES)).toMatchObject({ wire: messages, end });
  });
});

describe('B13', () => {
  it('crlf_missing: all data of the first chunk, FIN before its CRLF', async () => {
    const { bytes, end } = await played('B13', 'crlf_missing');
    const [only, ...more] = chunksOf(answerOf(bytes).body);
    expect(only).toMatchObject({ whole: false, size: only?.data.length });
    expect(textIn(String(only?.data))).toBe('mock response re');
    expect([more, end]).toEqual([[], 'fin']);
  });

  it('size_not_hex: a size line of xyz in the middle, the rest as ever', async () => {
    const server = await caseServer('B13', { sequence: ['size_not_hex'] });
    const request = CHAT.replace('Host: x', 'Host: x\r\nConnection: close');
    const { bytes, end } = await witnessed(server.port, request);
    const body = answerOf(bytes).body.toString('latin1');
    expect(notationOf(bytes)).toBe(`${CLOSE} ${HALF} S(xyz)`);
    const { length } = /\r\nxyz\r\n(.*)\r\n0\r\n\r\n$/s.exec(body)?.[1] ?? '';
    // What a right size would have been.
    const mended = body.replace('\r\nxyz\r\n', `\r\n${length.toString(16)}\r\n`);
    expect(chunksOf(Buffer.from(mended, 'latin1')).map(({ whole }) => whole)).toEqual([true, true, true]);
    expect([textIn(body), end]).toEqual([TEXT, 'fin']);
  });
});

describe('B14, inside an event', () => {
  it.each([
    ['http10_fin_in_event', HTTP10, 'fin'],
    ['http10_rst_in_event', HTTP10, 'rst'],
    ['no_length_fin_in_event', NO_LENGTH, 'fin'],
    ['no_length_rst_in_event', NO_LENGTH, 'rst'],
  ])('%s', async (variant, head, how) => {
    for (const request of [CHAT, MESSAGES]) {
      const { bytes, end } = await played('B14', variant, request);
      const answer = answerOf(bytes);
      expect(notationOf(bytes.subarray(0, bytes.length - answer.body.length))).toBe(head);
      // 8 of the text in one delta, 4 in the next, which has no end.
      expect(textIn(`${answer.body}"`)).toBe(TEXT.slice(0, 12));
      expect(answer.body.toString()).toMatch(/"(content|text)":"pons$/);
      expect(end).toBe(how);
    }
  });
});

describe('B15', () => {
  /** The gzip stream of an answer, without its framing. */
  function gzipOf(bytes: Buffer): { gzip: Buffer; frames: string } {
    const answer = answerOf(bytes);
    expect(headerOf(answer, 'content-encoding')).toBe('gzip');
    if (headerOf(answer, 'transfer-encoding') === undefined) {
      return { gzip: answer.body, frames: 'until close' };
    }
    const chunks = chunksOf(answer.body);
    expect(chunks.every(({ whole }) => whole)).toBe(true);
    expect(chunks.at(-1)?.size).toBe(0);
    return { gzip: Buffer.concat(chunks.slice(0, -1).map(({ data }) => data)), frames: 'whole' };
  }

  const closing = CHAT.replace('Host: x', 'Host: x\r\nConnection: close');
  const inflated = (gzip: Buffer): string => gunzipSync(gzip, { finishFlush: constants.Z_SYNC_FLUSH }).toString();

  /** The same answer with all of its gzip stream: the seed and the length of the time are the same. */
  async function wholeLength(): Promise<number> {
    const options = await caseOptions('B15');
    const server = await serve({ ...options, sequence: [{ encoding: 'gzip' }], randomSeed: 7 });
    const { bytes } = await witnessed(server.port, closing);
    const { gzip } = gzipOf(bytes);
    expect(textIn(gunzipSync(gzip).toString())).toBe(TEXT);
    return gzip.length;
  }

  it.each([
    ['half_until_close', 'until close'],
    ['half_in_chunks', 'whole'],
  ])('%s: half of the stream, the framing %s', async (variant, framing) => {
    const { bytes, end } = await played('B15', variant, closing);
    const { gzip, frames } = gzipOf(bytes);
    expect([frames, end]).toEqual([framing, 'fin']);
    // Ids are drawn, and don't deflate to the same length each time.
    expect(Math.abs(gzip.length - (await wholeLength()) / 2)).toBeLessThan(12);
    expect(() => gunzipSync(gzip)).toThrow('unexpected end of file');
    const text = textIn(inflated(gzip));
    expect(text.length).toBeGreaterThan(0);
    expect(TEXT.startsWith(text) && text !== TEXT).toBe(true);
  });

  it('no_trailer: all of the text, without checksum and length', async () => {
    const { bytes, end } = await played('B15', 'no_trailer', closing);
    const { gzip, frames } = gzipOf(bytes);
    expect([frames, end]).toEqual(['whole', 'fin']);
    expect(() => gunzipSync(gzip)).toThrow('unexpected end of file');
    const text = inflated(gzip);
    expect(textIn(text)).toBe(TEXT);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    // With the two numbers behind it, it is whole.
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(crc32(Buffer.from(text)), 0);
    trailer.writeUInt32LE(Buffer.byteLength(text), 4);
    expect(gunzipSync(Buffer.concat([gzip, trailer])).toString()).toBe(text);
  });
});

describe('B18', () => {
  it('rst_after_a_second: the head, 15 s, the first event, 1 s, RST; twenty times faster', async () => {
    const client = connect(await caseServer('B18', { sequence: ['rst_after_a_second'], timeScale: 20 }));
    const startMs = performance.now();
    client.send(CHAT);
    expect(notationOf(await client.until((received) => received.includes('\r\n\r\n')))).toBe(HEAD);
    expect(notationOf(await client.until((received) => received.includes('\n\n\r\n')))).toBe(`${HEAD} C(role)`);
    // From the start, as whatever is read late doesn't count there; a timer may be early by a millisecond.
    expect(performance.now() - startMs).toBeGreaterThan(750 - 5);
    expect(await client.ended).toBe('rst');
    expect(performance.now() - startMs).toBeGreaterThan(800 - 5);
    expect(notationOf(client.received)).toBe(`${HEAD} C(role)`);
  });
});
