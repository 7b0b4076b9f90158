import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { datedHead } from '../../src/http/dates.js';
import { encoded, gzipped } from '../../src/http/encoding.js';
import { ENCODINGS, type HeadForm } from '../../src/http/forms.js';
import { type BodyForm, type Framing, frame, type Head } from '../../src/http/framing.js';
import type { Marked } from '../../src/sse/mark.js';
import { readAnswer } from '../support/http.js';

/** Heads and framings that lie: each says what it was told to say, and no other byte moves. */
const HEADERS = [
  ['Date', 'now'],
  ['Content-Type', 'text/plain'],
  ['Server', 'x'],
] as const;

function framed(form: HeadForm, body: BodyForm = {}, framing: Framing = 'content_length'): Marked {
  const head: Head = { status: 200, headers: HEADERS, framing, keepAlive: true, form };
  return frame(head, [{ bytes: Buffer.from('abcde'), marks: [] }], body);
}

const textOf = (...given: Parameters<typeof framed>): string => framed(...given).bytes.toString('latin1');
const PLAIN = textOf({});
const CHUNKED = textOf({}, {}, 'chunked');

it('nothing said is a correct answer', () => {
  expect(PLAIN).toBe(
    'HTTP/1.1 200 OK\r\nDate: now\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nConnection: keep-alive\r\nServer: x\r\n\r\nabcde',
  );
  expect(CHUNKED).toBe(
    `${PLAIN.slice(0, -5).replace('Content-Length: 5', 'Transfer-Encoding: chunked')}5\r\nabcde\r\n0\r\n\r\n`,
  );
});

describe('the head', () => {
  it.each<[HeadForm, string]>([
    [{ version: '1.0' }, PLAIN.replace('1.1', '1.0')],
    [{ version: '9.9', status: 0, reason: 'a b' }, PLAIN.replace('1.1 200 OK', '9.9 0 a b')],
    [{ status: 404 }, PLAIN.replace('200 OK', '404 Not Found')],
    [{ reason: '' }, PLAIN.replace('200 OK', '200 ')],
    [{ statusLine: 'SSH-2.0-x' }, PLAIN.replace('HTTP/1.1 200 OK', 'SSH-2.0-x')],
    [{ set: [['server', 'y']] }, PLAIN.replace('Server: x', 'server: y')],
    [{ set: [['X-New', 'y']] }, PLAIN.replace('Server: x\r\n', 'Server: x\r\nX-New: y\r\n')],
    [{ set: [['content-length', '7']] }, PLAIN.replace('Content-Length: 5', 'content-length: 7')],
    [{ add: [['Server', 'y\0']] }, PLAIN.replace('Server: x\r\n', 'Server: x\r\nServer: y\0\r\n')],
    [{ remove: ['DATE', 'content-length'] }, PLAIN.replace('Date: now\r\n', '').replace('Content-Length: 5\r\n', '')],
    [{ remove: ['Server'], add: [['Server', 'z']] }, PLAIN.replace('Server: x', 'Server: z')],
    [{ connection: 'close' }, PLAIN.replace('keep-alive', 'close')],
    [{ connection: 'none' }, PLAIN.replace('Connection: keep-alive\r\n', '')],
    [{ eol: 'lf' }, PLAIN.replaceAll('\r\n', '\n')],
    [{ eol: 'cr' }, PLAIN.replaceAll('\r\n', '\r')],
    [{ before: '\r\n~' }, `\r\n~${PLAIN}`],
    [
      { before: '~', informational: { status: 103, times: 2, headers: [['Link', '<x>']] } },
      `~${'HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n'.repeat(2)}${PLAIN}`,
    ],
    [{ informational: { status: 100, times: 1 } }, `HTTP/1.1 100 Continue\r\n\r\n${PLAIN}`],
    [{ raw: 'anything\nat all' }, 'anything\nat allabcde'],
  ])('%j', (form, text) => {
    expect(textOf(form)).toBe(text);
  });

  it.each<HeadForm>([
    {},
    { statusLine: 'x' },
    { eol: 'cr' },
    { before: '~', informational: { status: 103, times: 3 } },
    { raw: 'one\r\ntwo\r\n\r\n' },
    { padToBytes: 500 },
  ])('is covered by its marks without a gap: %j', (form) => {
    const { bytes, marks } = framed(form);
    let at = form.before?.length ?? 0;
    for (const mark of marks) {
      expect(mark.start).toBe(at);
      at = mark.end;
    }
    expect(marks.map(({ kind }) => kind)).toEqual([
      ...Array.from({ length: form.informational?.times ?? 0 }, () => 'informational'),
      'status_line',
      'headers',
    ]);
    expect(bytes.toString('latin1', at)).toBe('abcde');
  });

  it('is padded to its size, by a header of its own', () => {
    for (const padToBytes of [200, 201, 4096]) {
      const text = textOf({ padToBytes });
      expect(text.indexOf('\r\n\r\n') + 4).toBe(padToBytes);
      expect(text.replace(/x-padding: x*\r\n/, '')).toBe(PLAIN);
    }
    expect(textOf({ padToBytes: 10 })).toBe(PLAIN);
  });

  it('tells dates that lie in the future or the past', () => {
    const at = (laterMs: number): string => `<${laterMs}>`;
    const form: HeadForm = {
      set: [['Retry-After', '{date+3000ms}']],
      add: [['X', 'a {date-5ms} {date+0ms} {date} {date5ms}']],
      reason: '{date+1ms}',
    };
    expect(datedHead(form, at)).toEqual({
      set: [['Retry-After', '<3000>']],
      add: [['X', 'a <-5> <0> {date} {date5ms}']],
      reason: '{date+1ms}',
    });
    expect(datedHead({ status: 7 }, at)).toEqual({ status: 7 });
  });
});

describe('the framing', () => {
  const lines = (...values: string[]): string => values.map((value) => `Content-Length: ${value}\r\n`).join('');
  it.each<[BodyForm, string]>([
    [{ contentLength: { add: 100 } }, PLAIN.replace('Length: 5', 'Length: 105')],
    [{ contentLength: { add: -9 } }, PLAIN.replace('Length: 5', 'Length: -4')],
    [{ contentLength: ['{length}', '7', 'x{length}'] }, PLAIN.replace(lines('5'), lines('5', '7', 'x5'))],
    [{ contentLength: [] }, PLAIN.replace(lines('5'), '')],
    [{ transferEncoding: ['chunked'] }, PLAIN.replace(lines('5'), `Transfer-Encoding: chunked\r\n${lines('5')}`)],
  ])('by length: %j', (body, text) => {
    expect(textOf({}, body)).toBe(text);
  });

  it.each<[BodyForm, string]>([
    [{ contentLength: ['{length}'] }, CHUNKED.replace('chunked\r\n', `chunked\r\n${lines('5')}`)],
    [{ transferEncoding: ['gzip', ' chunked'] }, CHUNKED.replace(': chunked', ': gzip\r\nTransfer-Encoding:  chunked')],
    [{ transferEncoding: [] }, CHUNKED.replace('Transfer-Encoding: chunked\r\n', '')],
    [{ sizes: [{ chunk: 1, size: 'xyz' }] }, CHUNKED.replace('5\r\nabcde', 'xyz\r\nabcde')],
    [{ sizes: [{ chunk: 2, size: 'xyz' }] }, CHUNKED],
    [{ extension: ';a="b"' }, CHUNKED.replace('5\r\nab', '5;a="b"\r\nab').replace('0\r\n\r\n', '0;a="b"\r\n\r\n')],
    [
      {
        trailers: [
          ['x-a', 'b'],
          ['x-c', ''],
        ],
      },
      CHUNKED.replace('0\r\n\r\n', '0\r\nx-a: b\r\nx-c: \r\n\r\n'),
    ],
    [{ last: 'no_final_crlf' }, CHUNKED.slice(0, -2)],
    [{ last: 'none' }, CHUNKED.slice(0, -5)],
    [{ chunkEnds: [2, 4] }, CHUNKED.replace('5\r\nabcde', '2\r\nab\r\n2\r\ncd\r\n1\r\ne')],
  ])('by chunks: %j', (body, text) => {
    expect(textOf({}, body, 'chunked')).toBe(text);
  });
});

describe('encodings', () => {
  const parts: Marked[] = ['data: one\n\n', 'data: two\n\n'].map((text) => ({
    bytes: Buffer.from(text),
    marks: [{ kind: 'event', index: 1, start: 0, end: text.length }],
  }));
  const whole = Buffer.concat(gzipped(parts).map(({ bytes }) => bytes));
  const text = 'data: one\n\ndata: two\n\n';
  const of = (encoding: (typeof ENCODINGS)[number]): Buffer =>
    Buffer.concat(encoded(parts, encoding).map(({ bytes }) => bytes));

  it('are a whole gzip stream, half of it, one without its trailer, one with something behind it, and none', () => {
    expect(gunzipSync(of('gzip')).toString()).toBe(text);
    expect(of('gzip_half').equals(whole.subarray(0, Math.floor(whole.length / 2)))).toBe(true);
    expect(of('gzip_no_trailer').equals(whole.subarray(0, -8))).toBe(true);
    expect(of('gzip_extra').subarray(0, whole.length).equals(whole)).toBe(true);
    expect(of('gzip_extra').length).toBeGreaterThan(whole.length);
    expect(of('gzip_lie').toString()).toBe(text);
    expect(() => gunzipSync(of('gzip_half'))).toThrow();
    expect(() => gunzipSync(of('gzip_no_trailer'))).toThrow();
  });

  it.each(ENCODINGS)('%s has marks that lie in its bytes', (encoding) => {
    for (const { bytes, marks } of encoded(parts, encoding)) {
      for (const { end } of marks) expect(end).toBeLessThanOrEqual(bytes.length);
    }
  });

  it.each(ENCODINGS)('%s is framed as it is, whatever can be read of it', (encoding) => {
    const head: Head = { status: 200, headers: HEADERS, framing: 'chunked', keepAlive: true };
    const answer = readAnswer(frame(head, encoded(parts, encoding)).bytes);
    expect(answer).toMatchObject({ complete: true, rest: Buffer.alloc(0) });
    expect(answer?.body.equals(of(encoding))).toBe(true);
  });
});
