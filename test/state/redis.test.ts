import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FaultServerOptions } from '../../src/index.js';
import { ledgerSchema } from '../../src/proof/ledger.js';
import { controlJson, keeper } from '../support/control.js';
import { NO_REDIS, type RedisServer, redisServer } from '../support/redis.js';
import { type Served, serve } from '../support/server.js';
import { post, witness } from '../support/witness.js';

const CHAT = '/v1/chat/completions';
const ask = (user = 'somebody'): string => post(CHAT, { user });

/** One request on a connection of its own: its status, or how the connection ended without one. */
async function status({ port }: Served, request = ask()): Promise<number | string> {
  const client = witness(port);
  client.send(request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
  const end = await client.ended;
  const line = /^HTTP\/1\.1 (\d+)/.exec(client.received.toString('latin1'));
  return line ? Number(line[1]) : end;
}

/** Three servers at one Redis, each named as the others. */
async function three(redis: RedisServer, options: FaultServerOptions): Promise<readonly [Served, Served, Served]> {
  const given = { state: redis.url, randomSeed: 7, ...options };
  return [await serve(given), await serve(given), await serve(given)];
}

describe.skipIf(NO_REDIS)('servers with one state', () => {
  it('walk one script, whichever is asked', async () => {
    const redis = await redisServer();
    const script = { sequence: ['success', 'rate_limit', 'auth_error', 'rst@accept', 'success', 'refusal'] } as const;
    const [a, b, c] = await three(redis, script);
    const alone = await serve({ randomSeed: 7, ...script });
    const together: (number | string)[] = [];
    const single: (number | string)[] = [];
    for (const server of [a, b, c, b, a, c, c]) together.push(await status(server));
    for (let n = 0; n < together.length; n++) single.push(await status(alone));
    expect(together).toEqual(single);
    expect(together).toEqual([200, 429, 401, 'rst', 200, 200, 500]);
    await Promise.all([a, b, c].map((server) => server.idle()));
    const ledgers = [a, b, c].flatMap((server) => server.ledgers);
    // One count of exchanges and attempts over all; connections tell whose they are.
    expect(ledgers.map(({ exchange }) => exchange).toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(ledgers.map(({ attempt }) => attempt).toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(new Set(ledgers.map(({ state }) => state))).toEqual(new Set(['shared']));
    expect(new Set(ledgers.map(({ connection }) => Math.floor(connection / 1e9)))).toEqual(new Set([1, 2, 3]));
    for (const ledger of ledgers) expect(ledgerSchema.parse(ledger)).toEqual(ledger);
  });

  it('a rule, and a reset, through the control plane of one', async () => {
    const redis = await redisServer();
    const [a, b, c] = await three(redis, { sequence: ['rate_limit', 'success'], repeatLast: true });
    expect(await status(a)).toBe(429);
    const added = await controlJson(b.port, 'POST /__control', { body: { fault: 'auth_error', once: true } });
    expect(added).toMatchObject({ status: 201, json: { id: 1, behavior: 'auth_error', left: 1 } });
    expect([await status(c), await status(a), await status(b)]).toEqual([401, 200, 200]);
    const { json } = await controlJson(a.port, 'GET /__control');
    expect(json).toMatchObject({ rules: [], spent: [{ id: 1, hits: 1, left: 0 }] });
    expect(await controlJson(c.port, 'POST /__reset')).toMatchObject({ json: { generation: 2 } });
    expect([await status(b), await status(c)]).toEqual([429, 200]);
    await b.idle();
    expect(b.ledgers.map(({ generation, attempt }) => [generation, attempt])).toEqual([
      [1, 4],
      [2, 1],
    ]);
    expect(await controlJson(a.port, 'DELETE /__control/9')).toMatchObject({ status: 404 });
    expect(await controlJson(a.port, 'POST /__control', { body: { fault: 'nonsense' } })).toMatchObject({
      status: 400,
    });
  });

  it('a fault that leaves the body unread is chosen at the head, and one of the first bytes before it', async () => {
    const redis = await redisServer();
    const unread = { request: { read: 'head' }, answer: { kind: 'refusal' } } as const;
    const [a, b] = await three(redis, {
      sequence: ['rst@request:7', 'success', { request: unread.request }, 'success'],
    });
    expect(await status(a)).toBe('rst');
    const { ask: askB, client } = keeper(b.port);
    expect((await askB(ask())).status).toBe(200);
    // The head and a part of the body, which stays unread.
    client.send(ask('x'.repeat(500)).slice(0, -200));
    expect(await client.ended).toBe('fin');
    expect(await status(a)).toBe(200);
    await Promise.all([a.idle(), b.idle()]);
    const told = [...a.ledgers, ...b.ledgers].toSorted((one, other) => one.exchange - other.exchange);
    expect(told.map(({ request, requestBytes }) => [request?.bodyBytes ?? null, requestBytes])).toEqual([
      [null, 7],
      [expect.any(Number), 0],
      [null, 0],
      [expect.any(Number), 0],
    ]);
  });

  it('answers requests that were sent at once in their order', async () => {
    const redis = await redisServer();
    const [a] = await three(redis, { sequence: ['rate_limit', 'auth_error', 'success'] });
    const client = witness(a.port);
    client.send(`${ask()}${ask()}${ask().replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')}`);
    await client.ended;
    expect(client.received.toString('latin1').match(/HTTP\/1\.1 \d+/g)).toEqual(
      [429, 401, 200].map((code) => `HTTP/1.1 ${code}`),
    );
  });

  it('what was taken for a client that has gone meanwhile is in the books', async () => {
    const redis = await redisServer();
    const [a] = await three(redis, { sequence: ['rate_limit', 'success'] });
    const { ask: asked, client: first } = keeper(a.port);
    redis.pause();
    const client = witness(a.port);
    client.send(ask());
    await client.connected;
    const ended = client.ended;
    // An answer on another connection proves that the request and the reset behind it were read.
    await asked(`GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`);
    client.reset();
    await ended;
    await asked(`GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`);
    redis.resume();
    await a.event(({ type }) => type === 'result');
    await a.idle();
    expect(a.ledgers).toMatchObject([{ attempt: 1, outcome: 'client_closed', bytes: { written: 0 } }]);
    expect(await status(a)).toBe(200);
    first.close();
  });
});

describe.skipIf(NO_REDIS)('a Redis that is away', () => {
  const script = { sequence: ['rate_limit', 'auth_error', 'success', 'refusal', 'rate_limit'] } as const;

  it('killed and started again: 503 with the reason meanwhile, and the next fault afterwards', async () => {
    const redis = await redisServer({ durable: true });
    const [a, b] = await three(redis, script);
    expect(await status(a)).toBe(429);
    expect(await controlJson(a.port, 'GET /__health')).toEqual({ status: 200, json: { state: 'shared' } });
    await redis.kill();
    await Promise.all([a, b].map((server) => server.event(({ type }) => type === 'state_lost')));
    for (const server of [a, b, a]) {
      const { ask: asked, client } = keeper(server.port);
      const answer = await asked(ask());
      expect(answer.status).toBe(503);
      expect(JSON.parse(answer.body.toString())).toMatchObject({
        error: { code: 'state_away', message: expect.stringContaining(redis.url) },
      });
      client.close();
    }
    expect(await controlJson(a.port, 'GET /__health')).toMatchObject({ status: 503, json: { state: 'away' } });
    const added = await controlJson(a.port, 'POST /__control', { body: { fault: 'F2' } });
    expect(added).toMatchObject({ status: 503, json: { error: { code: 'state_away' } } });
    await redis.start();
    await Promise.all([a, b].map((server) => server.event(({ type }) => type === 'state_back')));
    expect([await status(b), await status(a)]).toEqual([401, 200]);
    expect(await controlJson(b.port, 'GET /__health')).toEqual({ status: 200, json: { state: 'shared' } });
    await a.idle();
    expect(a.ledgers.map(({ attempt }) => attempt)).toEqual([1, 3]);
  });

  it('killed while it was asked: what it may have taken is told, and taken twice by nobody', async () => {
    const redis = await redisServer({ durable: true });
    const [a] = await three(redis, script);
    expect(await status(a)).toBe(429);
    redis.pause();
    const { ask: asked, client } = keeper(a.port);
    const answer = asked(ask());
    // Read behind the request that waits.
    await controlJson(a.port, 'GET /__health');
    await redis.kill();
    expect((await answer).status).toBe(503);
    expect(await a.event(({ type }) => type === 'state_lost')).toMatchObject({ underWay: 1 });
    await redis.start();
    await a.event(({ type }) => type === 'state_back');
    // It had not read the question when it was killed.
    expect((await asked(ask())).status).toBe(401);
    client.close();
  });

  it('one that has lost everything: the scripts begin anew, as another generation, which is told', async () => {
    const redis = await redisServer();
    const [a, b, c] = await three(redis, { ...script, rules: [{ fault: 'F2', match: 'special' }] });
    expect([await status(a), await status(b)]).toEqual([429, 401]);
    await redis.kill();
    await a.event(({ type }) => type === 'state_lost');
    await redis.start();
    await Promise.all([a, b].map((server) => server.event(({ type }) => type === 'state_back')));
    expect([await status(b), await status(a)]).toEqual([429, 401]);
    // Told by the one that was the first to ask.
    const fresh = [a, b, c].flatMap(({ events }) => events.filter(({ type }) => type === 'state_fresh'));
    expect(fresh).toEqual([{ type: 'state_fresh', generation: 2 }]);
    await a.idle();
    expect(a.ledgers.map(({ exchange, generation, attempt }) => [exchange, generation, attempt])).toEqual([
      [1, 1, 1],
      [expect.any(Number), 2, 2],
    ]);
    expect(await a.shared?.list()).toMatchObject([{ spec: { match: 'special' } }]);
  });

  it('with a local state in its place: goes on from what was last known, and the ledger says so', async () => {
    const redis = await redisServer({ durable: true });
    const [a] = await three(redis, {
      ...script,
      stateFallback: 'local',
      rules: [{ fault: 'rst@request', match: 'special', times: 2 }],
    });
    expect(await status(a)).toBe(429);
    await redis.kill();
    await a.event(({ type }) => type === 'state_lost');
    expect([await status(a), await status(a, ask('special'))]).toEqual([401, 'rst']);
    await redis.start();
    await a.event(({ type }) => type === 'state_back');
    // What the stand-in gave is not known to Redis.
    expect(await status(a)).toBe(401);
    await a.idle();
    const inOrder = a.ledgers.toSorted((one, other) => one.times.requestAt.localeCompare(other.times.requestAt));
    expect(inOrder.map(({ state, attempt }) => [state, attempt])).toEqual([
      ['shared', 1],
      ['local', 2],
      ['local', 3],
      ['shared', 2],
    ]);
    expect(new Set(a.ledgers.map(({ exchange }) => exchange)).size).toBe(4);
  });

  it('one that does not answer: 503 after a second, at once from then on; what it takes later is told', async () => {
    const redis = await redisServer();
    const [a] = await three(redis, script);
    redis.pause();
    expect(await status(a)).toBe(503);
    expect(await status(a)).toBe(503);
    redis.resume();
    await a.event(({ type }) => type === 'state_back');
    expect(await a.event(({ type }) => type === 'state_late')).toEqual({ type: 'state_late', attempt: 1, exchange: 1 });
    expect(await status(a)).toBe(401);
  });

  it('when the server closes: it does not hold it up', async () => {
    const redis = await redisServer();
    const [a] = await three(redis, script);
    redis.pause();
    const client = witness(a.port);
    client.send(ask());
    await client.connected;
    await a.close();
    redis.resume();
  });
});

describe.skipIf(NO_REDIS)('what servers have in common', () => {
  it('is the seed: that of the first', async () => {
    const redis = await redisServer();
    const given = { state: redis.url, sequence: ['random'], repeatLast: true } as const;
    const first = await serve(given);
    const second = await serve(given);
    expect(second.randomSeed).toBe(first.randomSeed);
    await expect(serve({ ...given, randomSeed: (first.randomSeed + 1) >>> 0 })).rejects.toMatchObject({
      code: 'state_failed',
      message: expect.stringContaining('seed'),
    });
  });

  it('is the script; another one is another group', async () => {
    const redis = await redisServer();
    await serve({ state: redis.url, sequence: ['success'] });
    const other = { state: redis.url, sequence: ['rate_limit'] } as const;
    await expect(serve(other)).rejects.toMatchObject({
      code: 'state_failed',
      message: expect.not.stringMatching(/\n/),
    });
    expect(await status(await serve({ ...other, stateName: 'other' }))).toBe(429);
  });

  it('is a Redis that can be reached; without a password in the message', async () => {
    const redis = await redisServer();
    await redis.kill();
    const url = redis.url.replace('redis://', 'redis://somebody:secret@');
    const failed = await serve({ state: url }).then(
      () => undefined,
      (error: Error) => error,
    );
    expect(failed).toMatchObject({ code: 'state_failed', message: expect.stringContaining('ECONNREFUSED') });
    expect(failed?.message).not.toContain('secret');
  });
});

describe.skipIf(NO_REDIS)('ledgers in a stream', () => {
  it('are those of all, each once, with the server that it is of', async () => {
    const redis = await redisServer();
    const [a, b] = await three(redis, { journalStream: 1000 });
    for (const server of [a, b, a]) await status(server);
    await Promise.all([a.idle(), b.idle()]);
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    const entries = await client.xrange('{wirefault:default}:journal', '-', '+');
    const told = entries.map(([, [, instance, , ledger = '{}']]) => [instance, JSON.parse(ledger)] as const);
    expect(told.map(([instance, { exchange }]) => [exchange, instance]).toSorted()).toEqual([
      [1, '1'],
      [2, '2'],
      [3, '1'],
    ]);
    for (const [, ledger] of told) expect([...a.ledgers, ...b.ledgers]).toContainEqual(ledgerSchema.parse(ledger));
  });

  it('that can not be written are counted and told', async () => {
    const redis = await redisServer();
    const [a] = await three(redis, { journalStream: 1000, stateFallback: 'local' });
    await redis.kill();
    await a.event(({ type }) => type === 'state_lost');
    await status(a);
    const lost = await a.event(({ type }) => type === 'journal_failed');
    expect(lost).toMatchObject({ lostLines: 1, reason: expect.stringContaining('{wirefault:default}:journal') });
  });
});
