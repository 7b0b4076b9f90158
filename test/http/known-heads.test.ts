import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { knownHeads } from '../../src/http/known-heads.js';
import type { Request } from '../../src/http/request.js';
import { requestParser } from '../../src/http/request-parser.js';

const LIMITS = { maxHeadBytes: 65_536, maxBodyBytes: 1_000_000, keepRaw: true };

/** What the parser makes of the bytes; the last request where there are several. */
function parsed(bytes: Buffer): Request | undefined {
  let last: Request | undefined;
  requestParser(LIMITS, {
    onRequest: (request) => {
      last = request;
    },
    onBad: () => {},
  }).feed(bytes);
  return last;
}

const post = (headers: string, body: string): Buffer =>
  Buffer.from(`POST /v1/messages?a=b HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`, 'latin1');

describe('a known head', () => {
  it('gives the same request as the parser, whatever its body and its headers are', () => {
    const heads = knownHeads(true);
    const value = fc.stringMatching(/^[\x20-\x7e\x80-\xff]{0,20}$/);
    fc.assert(
      fc.property(fc.array(value, { maxLength: 4 }), fc.uint8Array({ maxLength: 40 }), (values, content) => {
        const body = Buffer.from(content).toString('latin1');
        const lines = values.map((text, n) => `X-${n}: ${text}`);
        const bytes = post([...lines, `Content-Length: ${content.length}`].join('\r\n'), body);
        const request = parsed(bytes);
        if (!request) return;
        heads.learn(bytes, request);
        expect(heads.request(bytes)).toEqual(request);
      }),
    );
  });

  it('serves other bodies of the same length, and none of another', () => {
    const heads = knownHeads(false);
    const bytes = post('Content-Length: 2', '{}');
    const request = parsed(bytes);
    if (!request) throw new Error('no request');
    heads.learn(bytes, request);
    expect(heads.request(post('Content-Length: 2', '[]'))?.body.toString()).toBe('[]');
    expect(heads.request(post('Content-Length: 2', '{}'))?.raw).toBeUndefined();
    for (const body of ['', '{', '{}{', '{}\r\n'])
      expect(heads.request(post('Content-Length: 2', body))).toBeUndefined();
  });

  it('gives one request for the same bytes, which outlives the memory that they came in', () => {
    for (const keepRaw of [true, false]) {
      const heads = knownHeads(keepRaw);
      const bytes = post('Content-Length: 3', '{ }');
      const other = post('Content-Length: 3', '[1]');
      const request = parsed(bytes);
      if (!request) throw new Error('no request');
      heads.learn(bytes, request);
      const [, shared, again] = [1, 2, 3].map(() => {
        const memory = Buffer.from(bytes);
        const found = heads.request(memory);
        expect(found?.body.toString()).toBe('{ }');
        return { found, memory };
      });
      expect(again?.found).toBe(shared?.found);
      shared?.memory.fill('x');
      for (let n = 0; n < 3; n++) {
        expect(heads.request(other)?.body.toString()).toBe('[1]');
        expect(heads.request(Buffer.from(bytes))).toEqual({ ...request, raw: keepRaw ? bytes : undefined });
      }
    }
  });

  it('is known among more heads of one length than are compared', () => {
    const heads = knownHeads(false);
    const all = Array.from({ length: 20 }, (_, n) => post(`X-Number: ${100 + n}\r\nContent-Length: 2`, '{}'));
    for (const bytes of all) {
      const request = parsed(bytes);
      if (request) heads.learn(bytes, request);
    }
    for (const bytes of [...all, ...all.toReversed(), ...all]) {
      expect(heads.request(bytes)).toEqual({ ...parsed(bytes), raw: undefined });
    }
  });

  it('is none that was not read alone and whole, or that waits for a 100, or whose body has no fixed length', () => {
    for (const bytes of [
      Buffer.concat([post('Content-Length: 2', '{}'), post('Content-Length: 2', '{}')]),
      Buffer.concat([Buffer.from('\r\n'), post('Content-Length: 2', '{}')]),
      post('Content-Length: 2\r\nExpect: 100-continue', '{}'),
      post('Transfer-Encoding: chunked', '2\r\n{}\r\n0\r\n\r\n'),
      post(`X-Long: ${'x'.repeat(5000)}\r\nContent-Length: 2`, '{}'),
    ]) {
      const heads = knownHeads(false);
      const request = parsed(bytes);
      if (!request) throw new Error('no request');
      heads.learn(bytes, request);
      expect(heads.request(bytes)).toBeUndefined();
    }
  });
});
