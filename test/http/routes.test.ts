import { describe, expect, it } from 'vitest';
import type { Request } from '../../src/http/request.js';
import { type Routed, route, routeHead } from '../../src/http/routes.js';

interface Asking {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

function requestOf({ method = 'POST', path = '/v1/messages', headers = {}, body = '' }: Asking): Request {
  const content = Buffer.from(body);
  const head = { method, target: path, path, httpVersion: '1.1', headers, keepAlive: true } as const;
  return { ...head, expectsContinue: false, body: content };
}

function routed(asking: Asking, apiKey?: string): Routed {
  return route(requestOf(asking), { apiKey });
}

function bodyOf(asking: Asking) {
  const found = routed(asking);
  if (found.kind !== 'turn') throw new Error(`no turn: ${found.kind}`);
  return found.body;
}

describe('a route', () => {
  it.each([
    ['/v1/chat/completions', 'openai-chat'],
    ['/chat/completions', 'openai-chat'],
    ['/fault/F1/openai/v1/responses', 'openai-responses'],
    ['http://127.0.0.1:80/v1/messages', 'anthropic-messages'],
    // The end of the path is what tells, not what else it could be.
    ['/v1/models/messages', 'anthropic-messages'],
  ])('to %s is a turn of %s, as its head alone tells', (path, protocol) => {
    expect(routed({ path })).toMatchObject({ kind: 'turn', protocol });
    expect(routeHead(requestOf({ path }), { apiKey: undefined })).toBe(protocol);
  });

  it.each([
    ['POST', '/v1/messages/count_tokens', 'auxiliary'],
    ['POST', '/v1/messages/', 'refused'],
    ['POST', '/v1/xmessages', 'refused'],
    ['GET', '/v1/messages', 'refused'],
    ['GET', '/v1/models', 'auxiliary'],
    ['GET', '/v1/models/messages', 'auxiliary'],
    ['HEAD', '/health', 'auxiliary'],
    ['OPTIONS', '/v1/chat/completions', 'auxiliary'],
  ])('%s %s is none to an answer: %s', (method, path, kind) => {
    expect(routed({ method, path }).kind).toBe(kind);
    expect(routeHead(requestOf({ method, path }), { apiKey: undefined })).toBeUndefined();
  });

  it('asks for the key before it looks at the body', () => {
    const wrong = { kind: 'provider_error', error: 'auth_error' };
    expect(routed({ body: '{' }, 'secret')).toMatchObject(wrong);
    expect(routed({ body: '{}', headers: { 'x-api-key': 'Secret' } }, 'secret')).toMatchObject(wrong);
    expect(routed({ body: '{}', headers: { 'x-api-key': 'secret' } }, 'secret')).toMatchObject({ kind: 'turn' });
    expect(routed({ body: '{', headers: { 'x-api-key': 'secret' } }, 'secret')).toMatchObject({
      error: 'invalid_request',
    });
    expect(routeHead(requestOf({}), { apiKey: 'secret' })).toBeUndefined();
  });
});

describe('a body', () => {
  const body = JSON.stringify({ model: 'a', messages: [{ role: 'user', content: ['deep'] }], tools: null });

  it('is one object for all requests that came with the same bytes again, frozen to its leaves', () => {
    bodyOf({ body });
    const shared = bodyOf({ body });
    expect(bodyOf({ body, path: '/v1/chat/completions' })).toBe(shared);
    expect(shared).toEqual(JSON.parse(body));
    const { messages } = shared as { messages: { content: string[] }[] };
    for (const part of [shared, messages, messages[0], messages[0]?.content]) expect(Object.isFrozen(part)).toBe(true);
    expect(() => messages[0]?.content.push('more')).toThrow(TypeError);
  });

  it('is another one where a byte is another', () => {
    const other = body.replace('"a"', '"b"');
    expect(other.length).toBe(body.length);
    for (let n = 0; n < 3; n++) {
      expect(bodyOf({ body })).toMatchObject({ model: 'a' });
      expect(bodyOf({ body: other })).toMatchObject({ model: 'b' });
    }
  });

  it('that is no object is told so each time', () => {
    for (let n = 0; n < 3; n++) {
      expect(routed({ body: '[1]' })).toMatchObject({
        error: 'invalid_request',
        reason: expect.stringContaining('not an object'),
      });
      expect(routed({ body: '{"a"' })).toMatchObject({
        error: 'invalid_request',
        reason: expect.stringContaining('not JSON'),
      });
      expect(bodyOf({ body: '' })).toEqual({});
    }
  });

  it('may be as deep as it is long', () => {
    const deep = `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
    for (let n = 0; n < 3; n++) expect(Object.keys(bodyOf({ body: deep }))).toEqual(['a']);
  });
});
