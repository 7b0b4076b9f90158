import { describe, expect, it } from 'vitest';
import { byteStore } from '../../src/proof/byte-store.js';

const REQUEST = Buffer.from(
  'POST /v1/messages?key=sk-q HTTP/1.1\r\nX-Api-Key: sk-secret\r\nHost: a\r\n\r\nX-Api-Key: sk-body',
);
const NONE = Buffer.alloc(0);

describe('the bytes of the newest exchanges', () => {
  it('are given as they were; keys of heads are redacted when they are asked for', () => {
    const response = Buffer.from([0, 255, 13, 10]);
    const store = byteStore({ maxBytes: 10_000, maxExchanges: 1000, redact: true });
    store.store(1, REQUEST, response);
    expect(store.get(1, 'response')).toEqual(response);
    expect(store.get(1, 'request')?.toString()).toBe(
      'POST /v1/messages?key=[redacted] HTTP/1.1\r\nX-Api-Key: [redacted]\r\nHost: a\r\n\r\nX-Api-Key: sk-body',
    );
    expect(store.get(2, 'request')).toBeUndefined();
  });

  it('are kept whole where that is wanted', () => {
    const store = byteStore({ maxBytes: 10_000, maxExchanges: 1000, redact: false });
    store.store(1, REQUEST, NONE);
    expect(store.get(1, 'request')).toEqual(REQUEST);
  });

  it('go, the oldest first, where they take more room than they may; asking keeps none', () => {
    const store = byteStore({ maxBytes: 3 * (1000 + 64), maxExchanges: 1000, redact: true });
    for (let n = 1; n <= 5; n++) {
      store.get(1, 'response');
      store.store(n, Buffer.alloc(400), Buffer.alloc(600));
    }
    expect([1, 2, 3, 4, 5].filter((n) => store.get(n, 'response'))).toEqual([3, 4, 5]);
  });

  it('go, the oldest first, where they are more than may be', () => {
    const store = byteStore({ maxBytes: 10_000, maxExchanges: 2, redact: true });
    for (let n = 1; n <= 3; n++) store.store(n, NONE, Buffer.alloc(n));
    expect([1, 2, 3].filter((n) => store.get(n, 'response'))).toEqual([2, 3]);
  });

  it('are cut to what was sent, where they are still here', () => {
    const store = byteStore({ maxBytes: 10_000, maxExchanges: 2, redact: true });
    store.store(1, REQUEST, Buffer.from('abc'));
    store.trim(1, 5);
    expect(store.get(1, 'response')?.toString()).toBe('abc');
    store.trim(1, 2);
    store.trim(2, 0);
    expect(store.get(1, 'response')?.toString()).toBe('ab');
    expect(store.get(2, 'response')).toBeUndefined();
  });

  it('of one that is larger than all the room are not kept, and push no other out', () => {
    const store = byteStore({ maxBytes: 2000, maxExchanges: 1000, redact: true });
    store.store(1, NONE, Buffer.alloc(100));
    store.store(2, NONE, Buffer.alloc(5000));
    expect(store.get(1, 'response')).toHaveLength(100);
    expect(store.get(2, 'response')).toBeUndefined();
  });

  it('of nothing take some room too: a million empty exchanges do not stay', () => {
    const store = byteStore({ maxBytes: 6400, maxExchanges: 1000, redact: true });
    for (let n = 1; n <= 1000; n++) store.store(n, NONE, NONE);
    expect(Array.from({ length: 1000 }, (_, n) => n + 1).filter((n) => store.get(n, 'response'))).toHaveLength(100);
  });
});
