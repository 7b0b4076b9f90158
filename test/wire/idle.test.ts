import { expect, it } from 'vitest';
import type { FaultSpec } from '../../src/fault/spec.js';
import { readAnswer } from '../support/http.js';
import { type Served, serve } from '../support/server.js';
import { post, type Witness, witness } from '../support/witness.js';

/** What becomes of a connection that is kept alive behind a whole answer. */
const ASK = post('/v1/chat/completions', { stream: true });
const CLOSE = post('/v1/chat/completions', {}, { Connection: 'close' });

const idling = (idle: NonNullable<FaultSpec['idle']>): FaultSpec => ({ idle });

/** One whole answer more; resolves with how many bytes there are by then. */
async function asked(client: Witness): Promise<number> {
  const from = client.received.length;
  client.send(ASK);
  const bytes = await client.until((all) => readAnswer(all.subarray(from))?.complete === true);
  expect(readAnswer(bytes.subarray(from))?.status).toBe(200);
  return bytes.length;
}

const idleFaults = ({ events }: Served) =>
  events.flatMap((event) => (event.type === 'idle_fault' ? [`${event.did} ${event.when}`] : []));

for (const teardown of ['fin', 'rst'] as const) {
  it(`${teardown} at the first byte of the next request`, async () => {
    const server = await serve({ sequence: [idling({ teardown, onRequest: 1 }), 'success'] });
    const client = witness(server.port);
    const length = await asked(client);
    await server.ledger(1);
    client.send('P');
    expect(await client.ended).toBe(teardown);
    expect(client.received.length).toBe(length);
    expect(idleFaults(server)).toEqual([`${teardown} request`]);
    // The script is where it was.
    expect(server.requests).toHaveLength(1);
    await asked(witness(server.port));
  });

  it(`${teardown} at the first byte of the second request after it`, async () => {
    const server = await serve({ sequence: [idling({ teardown, onRequest: 2 }), 'success', 'success'] });
    const client = witness(server.port);
    await asked(client);
    await server.results(1);
    const length = await asked(client);
    await server.results(2);
    client.send(ASK);
    expect(await client.ended).toBe(teardown);
    expect(client.received.length).toBe(length);
    expect(server.requests).toHaveLength(2);
  });

  it(`${teardown} after a time`, async () => {
    const server = await serve({ sequence: [idling({ teardown, afterMs: 50 })] });
    const client = witness(server.port);
    const length = await asked(client);
    expect(await client.ended).toBe(teardown);
    expect(client.received.length).toBe(length);
    expect(idleFaults(server)).toEqual([`${teardown} idle`]);
    expect(await server.ledger(1)).toMatchObject({ outcome: 'completed', bytes: { written: length } });
  });

  it(`${teardown} at the first byte that comes later than a time`, async () => {
    const server = await serve({ sequence: [idling({ teardown, afterMs: 50, onRequest: 1 }), 'success'] });
    const client = witness(server.port);
    const length = await asked(client);
    await server.event((event) => event.type === 'idle_fault' && event.did === 'armed');
    client.send('P');
    expect(await client.ended).toBe(teardown);
    expect(client.received.length).toBe(length);
    expect(idleFaults(server)).toEqual(['armed idle', `${teardown} request`]);
  });

  it(`${teardown} at no byte that comes sooner`, async () => {
    const fault = idling({ teardown, afterMs: 600_000, onRequest: 1 });
    const server = await serve({ sequence: [fault, 'success', 'success'] });
    const client = witness(server.port);
    await asked(client);
    await asked(client);
    await asked(client);
    expect(idleFaults(server)).toEqual([]);
  });

  it(`${teardown} after a time, unless a request comes before`, async () => {
    const server = await serve({ sequence: [idling({ teardown, afterMs: 600_000 }), 'success'], timeScale: 1 });
    const client = witness(server.port);
    await asked(client);
    await asked(client);
    client.send(CLOSE);
    expect(await client.ended).toBe('fin');
    expect(idleFaults(server)).toEqual([]);
  });
}

it('blank lines are no request', async () => {
  const server = await serve({ sequence: [idling({ teardown: 'fin', onRequest: 1 })] });
  const client = witness(server.port);
  const length = await asked(client);
  await server.results(1);
  client.send('\r\n');
  await asked(witness(server.port)).catch(() => {}); // the script is exhausted; it is only somebody else
  expect(client.received.length).toBe(length);
  expect(idleFaults(server)).toEqual([]);
  client.send(ASK);
  expect(await client.ended).toBe('fin');
});

it('stray bytes after a time, of which no exchange knows; the connection goes on', async () => {
  const server = await serve({ sequence: [idling({ stray: 'nobody asked', strayAfterMs: 30 }), 'success'] });
  const client = witness(server.port);
  const length = await asked(client);
  await client.until((bytes) => bytes.length > length);
  expect(client.received.subarray(length).toString()).toBe('nobody asked');
  await asked(client);
  expect(idleFaults(server)).toEqual(['stray idle']);
  const [first, second] = await Promise.all([server.ledger(1), server.ledger(2)]);
  expect(first).toMatchObject({ bytes: { written: length }, connectionOffset: 0 });
  expect(second).toMatchObject({
    bytes: { written: client.received.length - length - 'nobody asked'.length },
    connectionOffset: length + 'nobody asked'.length,
  });
  client.close();
});

it('stray bytes at once are right behind the answer', async () => {
  const server = await serve({ sequence: [idling({ stray: 'nobody asked' })] });
  const client = witness(server.port);
  client.send(ASK);
  const bytes = await client.until((all) => all.includes('nobody asked'));
  expect(readAnswer(bytes)?.rest.toString()).toBe('nobody asked');
  client.close();
});

it('nothing of it happens on a connection that ends with the answer', async () => {
  const server = await serve({ sequence: [idling({ stray: 'nobody asked', teardown: 'rst' })] });
  const client = witness(server.port);
  client.send(CLOSE);
  expect(await client.ended).toBe('fin');
  expect(readAnswer(client.received)).toMatchObject({ complete: true, rest: Buffer.alloc(0) });
  expect(idleFaults(server)).toEqual([]);
});
