import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Chunk, type ResponseHead, responseScanner } from '../../src/http/response-scanner.js';
import { pieces } from '../proxy/support/splits.js';
import { planner } from '../support/plans.js';

interface Seen {
  readonly told: unknown[];
  readonly body: string;
  readonly end: number | undefined;
  readonly broken: string | undefined;
  readonly head: ResponseHead | undefined;
}

/** What is told of `bytes` that come in `splits`; stretches of the body are joined. */
function seen(bytes: Buffer, { splits = [] as readonly number[], method = 'POST', fin = false } = {}): Seen {
  const told: unknown[] = [];
  const body: Buffer[] = [];
  const scanner = responseScanner(method, {
    onInformational: (start, end) => told.push(['informational', start, end]),
    onHead: ({ start, statusLineEnd, end, framing }) => told.push(['head', start, statusLineEnd, end, framing]),
    onChunk: (chunk: Chunk) => told.push(chunk),
    onLastChunk: (start) => told.push(['last', start]),
    onBody: (part, start) => {
      expect(bytes.subarray(start, start + part.length).equals(part)).toBe(true);
      body.push(part);
    },
    onEnd: (end) => told.push(['end', end]),
  });
  for (const piece of pieces(bytes, splits)) scanner.feed(piece);
  if (fin) scanner.finish();
  const [end, broken, head] = [scanner.end(), scanner.broken(), scanner.head()];
  return { told, body: Buffer.concat(body).toString('latin1'), end, broken, head };
}

const answer = (text: string): Buffer => Buffer.from(text, 'latin1');

const ANSWERS: Readonly<Record<string, Buffer>> = {
  chunked: answer(
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n',
  ),
  'a length': answer('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'),
  'bare LF': answer('HTTP/1.1 200 OK\nContent-Length: 5\n\nhello'),
  interim: answer(
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
  ),
  'no content': answer('HTTP/1.1 204 No Content\r\nX: y\r\n\r\n'),
  'an empty body': answer('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
};

describe('an answer', () => {
  it.each(Object.entries(ANSWERS))('is whole at its last byte, however it is split: %s', (_, bytes) => {
    const whole = seen(bytes);
    expect(whole.end).toBe(bytes.length);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length)), (splits) => {
        expect(seen(bytes, { splits })).toEqual(whole);
        // What stands behind it is none of it.
        expect(seen(Buffer.concat([bytes, answer('HTTP/1.1 500 x')]), { splits })).toMatchObject({ end: bytes.length });
      }),
      { seed: 7, numRuns: 60 },
    );
  });

  it('has chunks with their places', () => {
    const { told, body } = seen(ANSWERS.chunked as Buffer);
    expect(body).toBe('abc0123456789');
    expect(told).toEqual([
      ['head', 0, 17, 47, 'chunked'],
      { index: 1, start: 47, dataStart: 54, dataEnd: 57 },
      { index: 2, start: 59, dataStart: 62, dataEnd: 72 },
      ['last', 74],
      ['end', 91],
    ]);
  });

  it('of no length ends with the connection', () => {
    const bytes = answer('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nsome');
    expect(seen(bytes).end).toBeUndefined();
    expect(seen(bytes, { fin: true })).toMatchObject({ end: bytes.length, body: 'some', head: { keepAlive: false } });
  });

  it.each(['chunked', 'a length'])('is not whole where it is cut: %s', (name) => {
    const bytes = ANSWERS[name] as Buffer;
    for (let length = 0; length < bytes.length; length++) {
      expect(seen(bytes.subarray(0, length), { fin: true }).end).toBeUndefined();
    }
  });

  it('to HEAD has no body', () => {
    const bytes = answer('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n');
    expect(seen(bytes, { method: 'HEAD' })).toMatchObject({
      end: bytes.length,
      head: { framing: 'none', keepAlive: true },
    });
  });

  it.each([
    ['Content-Length: 1e3', 'until_close'],
    ['Content-Length: 5, 6', 'until_close'],
    ['Content-Length: 5, 5', 'content_length'],
    ['Transfer-Encoding: gzip, chunked', 'chunked'],
    ['Transfer-Encoding: gzip', 'until_close'],
    ['Transfer-Encoding: chunked\r\nContent-Length: 9', 'chunked'],
  ])('%s: %s', (headers, framing) => {
    expect(seen(answer(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n`)).head?.framing).toBe(framing);
  });
});

describe('what is no HTTP', () => {
  it.each([
    ['a banner', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['a chunk size that is none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n'],
    ['a chunk that is longer than it says', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nabc'],
  ])('is told as broken, and no end: %s', (_, text) => {
    const all = seen(answer(text), { splits: Array.from({ length: text.length }, (_, n) => n), fin: true });
    expect(all.broken).toBeTypeOf('string');
    expect(all.end).toBeUndefined();
  });
});

describe('our own plans', () => {
  const planOf = planner();
  it('have the chunks that their marks say', () => {
    const plan = planOf('success', 'anthropic-messages');
    const chunks = plan.marks.filter(({ kind }) => kind === 'chunk');
    const { told, end } = seen(plan.bytes, { splits: [10, 500, 501] });
    const found = told.filter((one): one is Chunk => !Array.isArray(one));
    expect(found.map(({ index, start, dataEnd }) => ({ index, start, end: dataEnd + 2 }))).toEqual(
      chunks.map(({ index, start, end }) => ({ index, start, end })),
    );
    expect(end).toBe(plan.bytes.length);
  });
});
