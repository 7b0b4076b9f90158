import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LANE, isEarly, LANE_BY_FORMS, type LaneFacts, laneByOf, laneOf } from '../../src/fault/lanes.js';

function facts(more: Partial<LaneFacts> = {}): LaneFacts {
  return { connection: 3, path: '/v1/responses', target: '/v1/responses', headers: {}, text: '', ...more };
}

function lane(by: string, more: Partial<LaneFacts> = {}, ignored: readonly string[] = []): string {
  const known = laneByOf(by);
  if (!known) throw new Error(`${by} is nothing to separate lanes by`);
  return laneOf(known, facts(more), ignored);
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

describe('what separates lanes', () => {
  it('is written in one of the known forms', () => {
    for (const form of LANE_BY_FORMS) expect(laneByOf(form)).toBeDefined();
    expect(laneByOf('header:X-Worker')).toEqual({ kind: 'header', name: 'X-Worker' });
    expect(laneByOf('query:worker')).toEqual({ kind: 'query', name: 'worker' });
    for (const text of [
      '',
      'header',
      'header:',
      'query:',
      'header:a b',
      'header:a:b',
      'Body',
      'cookie:a',
      'body:a',
      'none ',
    ]) {
      expect(laneByOf(text), text).toBeUndefined();
    }
  });

  it('is known before there is a request for two of them', () => {
    const early = LANE_BY_FORMS.filter((form) => {
      const by = laneByOf(form);
      return by && isEarly(by);
    });
    expect(early).toEqual(['none', 'connection']);
  });
});

describe('the lane of a request', () => {
  it('never has a key in clear', () => {
    const key = 'Bearer sk-secret';
    expect(lane('header:Authorization', { headers: { authorization: key } })).toBe(`authorization-${hash(key)}`);
    expect(lane('header:x-api-key', { headers: { 'x-api-key': 'sk' } })).toBe(`x-api-key-${hash('sk')}`);
    expect(lane('query:api_key', { target: '/v1/messages?api_key=sk' })).toBe(`api_key-${hash('sk')}`);
  });

  it('none: there is one', () => expect(lane('none', { text: 'a', headers: { a: 'b' } })).toBe(DEFAULT_LANE));

  it('connection', () => expect(lane('connection', { connection: 17 })).toBe('connection-17'));

  it('path, without the query', () => expect(lane('path', { target: '/v1/responses?a=b' })).toBe('/v1/responses'));

  it('header, by its name in any case; the default without it', () => {
    expect(lane('header:X-Worker', { headers: { 'x-worker': 'seven' } })).toBe('seven');
    expect(lane('header:X-Worker')).toBe(DEFAULT_LANE);
  });

  it('query; the default without it', () => {
    expect(lane('query:worker', { target: '/v1/responses?a=b&worker=a%20b' })).toBe('a b');
    expect(lane('query:worker', { target: '/v1/responses?a=b' })).toBe(DEFAULT_LANE);
    expect(lane('query:worker')).toBe(DEFAULT_LANE);
  });

  it('key: of either kind, and never in clear', () => {
    const bearer = lane('key', { headers: { authorization: 'Bearer sk-secret' } });
    const plain = lane('key', { headers: { 'x-api-key': 'sk-secret' } });
    expect(bearer).toBe(`key-${hash('Bearer sk-secret')}`);
    expect(plain).toBe(`key-${hash('sk-secret')}`);
    expect(`${bearer}${plain}`).not.toContain('secret');
    expect(lane('key')).toBe(DEFAULT_LANE);
  });
});

describe('the lane of a body', () => {
  const first = { model: 'm', metadata: { request_id: 'r1', user: 'u' }, messages: [{ id: 'x', content: 'hi' }] };
  const retry = { model: 'm', metadata: { request_id: 'r2', user: 'u' }, messages: [{ id: 'y', content: 'hi' }] };
  const of = (body: unknown, ignored: readonly string[] = [], space?: number): string =>
    lane('body', { text: JSON.stringify(body, null, space) }, ignored);

  it('is a hash of its bytes', () => {
    expect(lane('body', { text: 'not JSON' })).toBe(`body-${hash('not JSON')}`);
    expect(of(first)).toBe(of(first));
    expect(of(first)).not.toBe(of(retry));
    expect(lane('body')).toBe(`body-${hash('')}`);
  });

  it('is the same for a retry once what changes is dropped', () => {
    const ignored = ['metadata.request_id', 'messages[-1].id'];
    expect(of(first, ignored)).toBe(of(retry, ignored));
    expect(of(first, ['metadata.request_id'])).not.toBe(of(retry, ['metadata.request_id']));
    expect(of(first, ['metadata', 'messages'])).toBe(of(retry, ['metadata', 'messages']));
    // Another question is another lane, whatever is dropped.
    expect(of({ ...first, model: 'other' }, ignored)).not.toBe(of(first, ignored));
  });

  it('is the same with and without what is dropped', () => {
    const { metadata, ...bare } = first;
    expect(of(bare, ['metadata'])).toBe(of(first, ['metadata']));
    // Where something is dropped, the way in which JSON is written doesn't count.
    expect(of(first, ['metadata'], 2)).toBe(of(first, ['metadata']));
    expect(metadata.user).toBe('u');
  });

  it('takes a body that is no JSON as it is', () => {
    expect(lane('body', { text: '{"a":' }, ['a'])).toBe(`body-${hash('{"a":')}`);
    expect(lane('body', { text: '3' }, ['a'])).toBe(`body-${hash('3')}`);
  });
});
