import { describe, expect, it } from 'vitest';
import { offsetOf, type Position } from '../../src/fault/position.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { readAnswer } from '../support/http.js';
import { planner } from '../support/plans.js';
import { type Served, serve } from '../support/server.js';
import { post, type Witness, witness, witnessed } from '../support/witness.js';

/** Gates at real sockets: nothing of what stands behind one comes before its release, and everything after it. */
const PATHS: Readonly<Record<Protocol, string>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
};
const CHAT = PATHS['openai-chat'];
/** Answers of the same length each time. */
const OPTIONS = { fidelity: 'plain', requestId: 'req_fixed' } as const;

const gated = (at: Position, name = 'gate'): FaultSpec => ({ pace: { gates: [{ at, name }] } });
const whole = (bytes: Buffer): boolean => readAnswer(bytes)?.complete === true;

function asking(server: Served, path = CHAT, body: object = { stream: true }): Witness {
  const client = witness(server.port);
  client.send(post(path, { model: 'mock-model', ...body }));
  return client;
}

/** Something else goes through the server and its sockets meanwhile: what could have come by now has come. */
async function somethingElse(server: Served): Promise<void> {
  for (let n = 0; n < 3; n++) await witnessed(server.port, 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n');
}

describe.each(PROTOCOLS)('%s', (protocol) => {
  for (const [at, stream] of [
    ['headers', true],
    ['event:1', true],
    ['event:1+9', true],
    ['chunk:2.size', true],
    ['deltas', true],
    ['terminator', true],
    ['last_chunk', true],
    ['headers:10', false],
    ['headers', false],
    ['text:3', false],
  ] as const) {
    it(`holds ${stream ? 'a stream' : 'a JSON body'} at ${at}`, async () => {
      const fault = gated(at);
      const plan = planner(OPTIONS)(fault, protocol, { body: { stream } });
      const offset = offsetOf(at, plan) ?? Number.NaN;
      const server = await serve({ ...OPTIONS, sequence: [fault] });
      const client = asking(server, PATHS[protocol], { stream });
      await server.waitingAt('gate');
      await client.until((bytes) => bytes.length >= offset);
      await somethingElse(server);
      expect(client.received.length).toBe(offset);
      server.release('gate');
      const bytes = await client.until(whole);
      expect(bytes.length).toBe(plan.bytes.length);
      expect(await server.ledger(1)).toMatchObject({ outcome: 'completed', bytes: { written: plan.bytes.length } });
      client.close();
    });
  }
});

it('before the first byte', async () => {
  const server = await serve({ sequence: [gated('byte:0')] });
  const client = asking(server);
  await server.waitingAt('gate');
  await somethingElse(server);
  expect(client.received.length).toBe(0);
  server.release('gate');
  await client.until(whole);
  client.close();
});

it('behind the last byte: the next request waits', async () => {
  const server = await serve({ sequence: [gated('end'), 'rate_limit'] });
  const client = witness(server.port);
  client.send(post(CHAT, {}).repeat(2));
  const { length } = await client.until(whole);
  await server.waitingAt('gate');
  await somethingElse(server);
  expect(client.received.length).toBe(length);
  expect(server.requests.map(({ outcome }) => outcome)).toEqual([undefined]);
  server.release('gate');
  await client.until((bytes) => whole(bytes.subarray(length)));
  expect(readAnswer(client.received.subarray(length))?.status).toBe(429);
  client.close();
});

it('a cut behind the gate comes after the release', async () => {
  const fault: FaultSpec = { ...gated('event:1'), cut: { at: 'event:2', teardown: 'rst' } };
  const server = await serve({ sequence: [fault] });
  const client = asking(server);
  await server.waitingAt('gate');
  await somethingElse(server);
  expect(readAnswer(client.received)?.body.toString().match(/\n\n/g)).toHaveLength(1);
  server.release('gate');
  expect(await client.ended).toBe('rst');
  expect(readAnswer(client.received)?.body.toString().match(/\n\n/g)).toHaveLength(2);
});

it('two gates of one answer, each with its own name', async () => {
  const fault: FaultSpec = {
    pace: {
      gates: [
        { at: 'event:2', name: 'second' },
        { at: 'event:1', name: 'first' },
      ],
    },
  };
  const server = await serve({ sequence: [fault] });
  const client = asking(server);
  const events = (): number => readAnswer(client.received)?.body.toString().match(/\n\n/g)?.length ?? 0;
  await server.waitingAt('first');
  // The second one is opened before it is come to.
  server.release('second');
  await somethingElse(server);
  expect(events()).toBe(1);
  server.release('first');
  await client.until(whole);
  expect(events()).toBeGreaterThan(2);
  client.close();
});

describe('a release', () => {
  it('that comes before the exchange lets it through', async () => {
    const server = await serve({ sequence: [gated('event:1')], repeatLast: true });
    server.release('gate');
    await asking(server).until(whole);
    // One, and no more.
    const next = asking(server);
    await server.waitingAt('gate');
    server.release('gate');
    await next.until(whole);
  });

  it('of many lets those through that wait longest', async () => {
    const server = await serve({ sequence: [gated('headers')], repeatLast: true });
    const clients: Witness[] = [];
    for (let n = 1; n <= 4; n++) {
      clients.push(asking(server));
      await server.waitingAt('gate', n);
    }
    const [first, second, third, fourth] = clients;
    server.release('gate', 2);
    await first?.until(whole);
    await second?.until(whole);
    await somethingElse(server);
    for (const client of [third, fourth]) expect(readAnswer(client?.received ?? Buffer.alloc(0))?.body.length).toBe(0);
    server.release('gate', 3);
    await third?.until(whole);
    await fourth?.until(whole);
    // One of the three is left for the next.
    await asking(server).until(whole);
  });

  it('for good opens the gate', async () => {
    const server = await serve({ sequence: [gated('headers')], repeatLast: true });
    const waiting = asking(server);
    await server.waitingAt('gate');
    server.release('gate', Number.POSITIVE_INFINITY);
    await waiting.until(whole);
    for (let n = 0; n < 5; n++) await asking(server).until(whole);
  });

  it('of one gate leaves the others shut', async () => {
    const server = await serve({ sequence: [gated('headers', 'a'), gated('headers', 'b')] });
    const [a, b] = [asking(server), asking(server)];
    await Promise.all([server.waitingAt('a'), server.waitingAt('b')]);
    server.release('b');
    await Promise.race([a.until(whole), b.until(whole)]);
    await somethingElse(server);
    expect([a, b].filter(({ received }) => whole(received))).toHaveLength(1);
    server.release('a');
    await Promise.all([a.until(whole), b.until(whole)]);
  });
});

describe('whoever waits at a gate and goes', () => {
  it('is not waited for: its release is for the next', async () => {
    const server = await serve({ sequence: [gated('headers')], repeatLast: true });
    const gone = asking(server);
    await server.waitingAt('gate');
    gone.reset();
    expect(await server.results(1)).toMatchObject([{ outcome: 'client_closed' }]);
    const next = asking(server);
    await server.waitingAt('gate');
    server.release('gate');
    await next.until(whole);
  });

  it('with the server has an outcome of its own', async () => {
    const server = await serve({ sequence: [gated('headers')] });
    asking(server);
    await server.waitingAt('gate');
    await server.close();
    expect(server.requests).toMatchObject([{ outcome: 'server_closed' }]);
    expect(server.ledgers).toMatchObject([{ outcome: 'server_closed', teardown: { kind: 'none' } }]);
  });
});
