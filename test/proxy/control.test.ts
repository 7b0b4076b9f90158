import { describe, expect, it } from 'vitest';
import { controlJson } from '../support/control.js';
import { post, type Witness, witness, witnessed } from '../support/witness.js';
import { chunkedAnswer, proxied, rawUpstream } from './support/upstream.js';

/** What a fault server can be told and asked while it runs is the same where its answers come from an upstream. */
const PATH = '/v1/chat/completions';
const BODY = Buffer.from(
  ['{"choices":[{"delta":{"content":"half "}}]}', '{"choices":[{"delta":{"content":"whole"}}]}', '[DONE]']
    .map((data) => `data: ${data}\n\n`)
    .join(''),
);
const ANSWER = chunkedAnswer(BODY);
const ask = (user = 'a'): string => post(PATH, { stream: true, user }, { Connection: 'close' });

/** How each of some requests went, one after the other. */
async function outcomes(proxy: Awaited<ReturnType<typeof proxied>>, count: number, user?: string): Promise<unknown[]> {
  const before = proxy.requests.length;
  for (let n = 0; n < count; n++) await witnessed(proxy.port, ask(user));
  await proxy.idle();
  return proxy.requests.slice(before).map(({ outcome }) => outcome);
}

describe('rules', () => {
  it('are injected, taken once or for some times, removed and cleared', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url });
    const once = proxy.inject({ fault: 'rst@event:1', once: true });
    expect(proxy.rules.map(({ id, spec }) => [id, spec])).toEqual([[once.id, { fault: 'rst@event:1', once: true }]]);
    expect(await outcomes(proxy, 2)).toEqual(['reset', 'completed']);
    expect([proxy.rules, proxy.spentRules]).toMatchObject([[], [{ id: once.id, hits: 1, left: 0 }]]);
    proxy.inject({ fault: 'fin@event:2', times: 2, match: { json: { user: 'b' } } });
    expect(await outcomes(proxy, 1, 'a')).toEqual(['completed']);
    expect(await outcomes(proxy, 3, 'b')).toEqual(['closed', 'closed', 'completed']);
    const always = proxy.inject({ fault: 'rst@terminator' });
    expect(await outcomes(proxy, 2)).toEqual(['reset', 'reset']);
    expect([proxy.removeRule(always.id), proxy.removeRule(always.id)]).toEqual([true, false]);
    proxy.inject({ fault: 'rst@terminator' });
    proxy.clearRules();
    expect(await outcomes(proxy, 1)).toEqual(['completed']);
    expect((await proxy.ledger(1)).selection).toMatchObject({ rule: String(once.id) });
    expect(() => proxy.inject({ fault: 'rst@evnt:1' })).toThrow(/did you mean "event:N"/);
  });

  it('of the options are in force from the start', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url, rules: [{ fault: 'rst@event:1', times: 1 }] });
    expect(await outcomes(proxy, 2)).toEqual(['reset', 'completed']);
  });

  it('that answer by themselves ask no upstream', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url });
    proxy.inject({ fault: 'rate_limit', once: true });
    expect((await witnessed(proxy.port, ask())).bytes.toString()).toMatch(/^HTTP\/1\.1 429 /);
    expect(upstream.connections).toHaveLength(0);
    expect((await witnessed(proxy.port, ask())).bytes.equals(ANSWER)).toBe(true);
  });

  it('come through the control plane as well, whose requests never go up', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url });
    const { status, json } = await controlJson(proxy.port, 'POST /__control', {
      headers: { 'Content-Type': 'application/json' },
      body: { fault: 'rst@event:1', once: true },
    });
    expect([status, json]).toMatchObject([201, { fault: 'rst@event:1' }]);
    expect(proxy.rules).toHaveLength(1);
    expect(await outcomes(proxy, 2)).toEqual(['reset', 'completed']);
    expect((await controlJson(proxy.port, 'GET /__control')).json).toMatchObject({ rules: [], spent: [{ hits: 1 }] });
    expect(upstream.requests.join('')).not.toContain('__control');
  });
});

describe('the script', () => {
  it('begins anew with reset(), and answers in flight keep theirs', async () => {
    const upstream = await rawUpstream(ANSWER);
    const gated = {
      pace: { gates: [{ at: 'event:1', name: 'one' }] },
      cut: { at: 'event:2', teardown: 'rst' },
    } as const;
    const proxy = await proxied({ upstream: upstream.url, sequence: [gated, 'fin@event:1', 'success'] });
    const first = witness(proxy.port);
    first.send(ask());
    await proxy.waitingAt('one');
    expect((await witnessed(proxy.port, ask())).end).toBe('fin');
    expect(proxy.reset()).toBe(2);
    const again = witness(proxy.port);
    again.send(ask());
    // The first is still there, in the middle of its answer.
    await proxy.waitingAt('one', 2);
    proxy.release('one', 2);
    expect([await first.ended, await again.ended]).toEqual(['rst', 'rst']);
    expect(await outcomes(proxy, 2)).toEqual(['closed', 'completed']);
    expect(proxy.ledgers.map(({ attempt }) => attempt).toSorted()).toEqual([1, 1, 2, 2, 3]);
  });

  it('waits at gates for as many as are released', async () => {
    const upstream = await rawUpstream(ANSWER);
    const gate = { pace: { gates: [{ at: 'event:1', name: 'one' }] } } as const;
    const proxy = await proxied({ upstream: upstream.url, sequence: [gate, gate, gate] });
    const whole = (client: Witness): boolean => client.received.length === ANSWER.length;
    const clients = [witness(proxy.port), witness(proxy.port), witness(proxy.port)];
    for (const client of clients) {
      client.send(ask());
      await client.until((bytes) => bytes.includes('half'));
    }
    await proxy.waitingAt('one', 3);
    expect(clients.map(whole)).toEqual([false, false, false]);
    proxy.release('one');
    await Promise.race(clients.map((client) => client.until(() => whole(client))));
    expect(clients.filter(whole)).toHaveLength(1);
    proxy.release('one', Number.POSITIVE_INFINITY);
    await Promise.all(clients.map((client) => client.until(() => whole(client))));
  });

  it('refuses connections while the port is closed, and its upstream hears nothing', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url });
    proxy.refuse(50);
    const client = witness(proxy.port);
    client.connected.catch(() => {});
    expect(await client.ended).toBe('refused');
    await proxy.whenListening();
    expect(await outcomes(proxy, 1)).toEqual(['completed']);
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('ledgers', () => {
  it('are followed as they settle', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url, sequence: ['rst@event:1', 'success'] });
    const lines = proxy.followLedgers();
    await outcomes(proxy, 2);
    await proxy.close();
    const followed: unknown[] = [];
    for await (const { outcome, upstream: up } of lines) followed.push([outcome, up?.url]);
    expect(followed).toEqual([
      ['reset', upstream.url],
      ['completed', upstream.url],
    ]);
  });

  it('have the bytes of the answer, through the control plane', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url, sequence: ['rst@event:1'] });
    const { bytes } = await witnessed(proxy.port, ask());
    await proxy.idle();
    const stored = await witnessed(
      proxy.port,
      'GET /__journal/1/response HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
    );
    expect(stored.bytes.subarray(-bytes.length).equals(bytes)).toBe(true);
  });
});

describe('findings()', () => {
  it("tell of a client that doesn't heed what the upstream said", async () => {
    const body = '{"error":{"message":"slow down"}}';
    const limited = Buffer.from(
      `HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const upstream = await rawUpstream((socket, nth) => void socket.write(nth === 1 ? limited : ANSWER));
    const proxy = await proxied({ upstream: upstream.url });
    await outcomes(proxy, 2);
    expect(proxy.findings()).toMatchObject([
      {
        kind: 'retry_after_ignored',
        exchanges: [1, 2],
        evidence: ['exchange 1: status 429, wait 60000 ms', expect.stringMatching(/^exchange 2: after \d+ ms$/)],
      },
    ]);
  });

  it('tell of half an answer that is asked for again', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url, sequence: ['rst@event:1', 'success'] });
    await outcomes(proxy, 2);
    expect(proxy.findings().map(({ kind, exchanges }) => [kind, exchanges])).toEqual([['replay_after_output', [1, 2]]]);
  });

  it('have nothing to say of whole answers', async () => {
    const upstream = await rawUpstream(ANSWER);
    const proxy = await proxied({ upstream: upstream.url });
    await outcomes(proxy, 1, 'a');
    await outcomes(proxy, 1, 'b');
    expect(proxy.findings()).toEqual([]);
  });
});
