import { describe, expect, it } from 'vitest';
import { requestUp, type UpForm } from '../../src/proxy/request-up.js';

const FORM: UpForm = { host: 'api.example.com', basePath: '', decode: false, protocol: 'openai-chat' };

const up = (text: string, form: Partial<UpForm> = {}): string =>
  requestUp(Buffer.from(text, 'latin1'), { ...FORM, ...form }).toString('latin1');

describe('a request as it goes up', () => {
  it('is what came, but for Host', () => {
    const came =
      'POST /v1/x?a=1 HTTP/1.1\r\nhOsT:  localhost:8000\r\nX-Odd:\tvalue \r\ncontent-length: 5\r\n\r\nh\r\n\r\nx';
    expect(up(came)).toBe(came.replace('hOsT:  localhost:8000', 'hOsT: api.example.com'));
  });

  it.each([
    ['POST /v1/x', 'POST /base/v1/x', { basePath: '/base' }],
    ['POST http://other.example/v1/x', 'POST /v1/x', {}],
    ['POST /fault/rst@event:3/v1/x', 'POST /v1/x', {}],
    ['POST /v1/x?fault=stall', 'POST /v1/x', {}],
    ['POST /v1/x?a=%20&fault=stall&b=2', 'POST /v1/x?a=%20&b=2', {}],
    ['POST /v1/x?faulty=1', 'POST /v1/x?faulty=1', {}],
  ])('%s: %s', (came, goes, form) => {
    expect(up(`${came} HTTP/1.1\r\nHost: a\r\n\r\n`, form).split(' HTTP/1.1')[0]).toBe(goes);
  });

  it('leaves out what is for the proxy, and Expect', () => {
    const came = 'POST / HTTP/1.1\r\nHost: a\r\nX-Wirefault: stall\r\nExpect: 100-continue\r\nA: b\r\n\r\n';
    expect(up(came)).toBe('POST / HTTP/1.1\r\nHost: api.example.com\r\nA: b\r\n\r\n');
  });

  it.each([
    ['Authorization: Bearer client', 'Authorization: Bearer KEY', 'openai-chat'],
    ['x-api-key: client', 'x-api-key: KEY', 'anthropic-messages'],
    [
      'X-API-Key: client\r\nAuthorization: Bearer client',
      'X-API-Key: KEY\r\nAuthorization: Bearer KEY',
      'anthropic-messages',
    ],
    ['A: b', 'A: b\r\nAuthorization: Bearer KEY', 'openai-chat'],
    ['A: b', 'A: b\r\nx-api-key: KEY', 'anthropic-messages'],
  ] as const)('with a key, %j goes up as %j', (came, goes, protocol) => {
    expect(up(`POST / HTTP/1.1\r\nHost: a\r\n${came}\r\n\r\n`, { key: 'KEY', protocol })).toBe(
      `POST / HTTP/1.1\r\nHost: api.example.com\r\n${goes}\r\n\r\n`,
    );
  });

  it('asks for identity where it shall be decoded', () => {
    const come = 'POST / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n';
    expect(up(come, { decode: true })).toContain('\r\nAccept-Encoding: identity\r\n\r\n');
    expect(up('POST / HTTP/1.1\r\nHost: a\r\n\r\n', { decode: true })).toContain('Accept-Encoding: identity');
  });

  it('keeps bytes of the body that look like a head, and blank lines before it go', () => {
    expect(up('\r\nPOST / HTTP/1.1\nHost: a\n\nHost: b\n\n')).toBe(
      'POST / HTTP/1.1\nHost: api.example.com\n\nHost: b\n\n',
    );
  });
});
