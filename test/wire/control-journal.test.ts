import { describe, expect, it } from 'vitest';
import { type Ledger, ledgerSchema } from '../../src/proof/ledger.js';
import { control, controlJson, controlText, keeper } from '../support/control.js';
import { headerOf, readAnswer } from '../support/http.js';
import { readMetrics, seriesValue } from '../support/prometheus.js';
import { serve } from '../support/server.js';
import { post, type Witness, witness, witnessed } from '../support/witness.js';

/** The journal over HTTP, the bytes of exchanges, and metrics: what they say is what a witness sent and got. */
const PATH = '/v1/chat/completions';
const QUICK = { chunkDelayMs: 0, disconnectDelayMs: 0 } as const;
const CLOSE = { Connection: 'close' };

function linesOf(bytes: Buffer): Ledger[] {
  const text = bytes.toString();
  expect(text === '' || text.endsWith('\n')).toBe(true);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => ledgerSchema.parse(JSON.parse(line)));
}

/** A client that follows the journal; `lines(n)` waits until there are so many. */
async function follower(
  port: number,
  query = '',
): Promise<{ client: Witness; lines(count: number): Promise<Ledger[]> }> {
  const client = witness(port);
  client.send(controlText(port, `GET /__journal?follow=1${query}`));
  await client.until((bytes) => bytes.includes('\r\n\r\n'));
  const answer = () => readAnswer(client.received);
  expect(answer()).toMatchObject({ status: 200, complete: false });
  return {
    client,
    lines: async (count) => {
      await client.until(() => (answer()?.chunks.length ?? 0) >= count);
      return linesOf(answer()?.body ?? Buffer.alloc(0));
    },
  };
}

describe('/__journal', () => {
  it('has the ledgers as lines of JSON, those of the library, by filters', async () => {
    const server = await serve({
      ...QUICK,
      laneBy: 'header:x-lane',
      sequence: ['rst@event:3', 'success'],
      repeatLast: true,
    });
    server.inject({ fault: 'rate_limit', lane: 'b', once: true, label: 'mine' });
    for (const lane of ['a', 'b', 'a', 'b', 'a'])
      await witnessed(server.port, post(PATH, { stream: true }, { ...CLOSE, 'X-Lane': lane }));
    await server.idle();
    const get = async (query: string): Promise<number[]> => {
      const answer = await control(server.port, `GET /__journal${query}`);
      expect(headerOf(answer, 'content-type')).toBe('application/x-ndjson');
      const ledgers = linesOf(answer.body);
      for (const ledger of ledgers) expect(server.ledgers).toContainEqual(ledger);
      return ledgers.map(({ exchange }) => exchange);
    };
    expect(await get('')).toEqual([1, 2, 3, 4, 5]);
    expect(await get('?lane=a')).toEqual([1, 3, 5]);
    expect(await get('?behavior=rst@event:3')).toEqual([1, 4]);
    expect(await get('?outcome=reset&lane=b')).toEqual([4]);
    expect(await get('?rule=mine')).toEqual([2]);
    expect(await get('?since=4')).toEqual([4, 5]);
    expect(await get('?since=6')).toEqual([]);
  });

  it('follows while exchanges go on: what was there, then each as it settles, none twice and none left out', async () => {
    const server = await serve({ ...QUICK, sequence: ['success', 'rst@event:3', 'rate_limit'], repeatLast: true });
    await witnessed(server.port, post(PATH, { stream: true }, CLOSE));
    await server.idle();
    const all = await follower(server.port);
    const some = await follower(server.port, '&outcome=completed&since=3');
    const CLIENTS = 8;
    const EACH = 15;
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        for (let n = 0; n < EACH; n++) await witnessed(server.port, post(PATH, { stream: true }, CLOSE));
      }),
    );
    const total = 1 + CLIENTS * EACH;
    const told = await all.lines(total);
    expect(told.map(({ exchange }) => exchange).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: total }, (_, n) => n + 1),
    );
    expect(told).toEqual(server.ledgers);
    const wanted = server.ledgers.filter(({ outcome, exchange }) => outcome === 'completed' && exchange >= 3);
    expect(await some.lines(wanted.length)).toEqual(wanted);
    all.client.close();
    some.client.close();
  });

  it('a follower that goes leaves the others alone, and one that does not read holds nobody up', async () => {
    const server = await serve(QUICK);
    const [stays, goes, idle] = await Promise.all([1, 2, 3].map(() => follower(server.port)));
    idle?.client.pause();
    goes?.client.reset();
    for (let n = 0; n < 20; n++) await witnessed(server.port, post(PATH, {}, CLOSE));
    expect(await stays?.lines(20)).toHaveLength(20);
    idle?.client.resume();
    expect(await idle?.lines(20)).toHaveLength(20);
  });

  it('a follower ends with the server', async () => {
    const server = await serve(QUICK);
    const { client } = await follower(server.port);
    await server.close();
    expect(await client.ended).not.toBe('refused');
  });
});

describe('/__journal/N', () => {
  const keyed = { Authorization: 'Bearer sk-secret', 'X-Api-Key': 'sk-other' };
  const redacted = (request: string): string =>
    request.replace('Bearer sk-secret', 'Bearer [redacted]').replace('sk-other', '[redacted]');

  async function bytesOf(port: number, exchange: number): Promise<{ request: string; response: string }> {
    const [request, response] = await Promise.all(
      ['request', 'response'].map((of) => control(port, `GET /__journal/${exchange}/${of}`)),
    );
    for (const answer of [request, response]) {
      expect(answer?.status).toBe(200);
      expect(answer && headerOf(answer, 'content-type')).toBe('application/octet-stream');
    }
    return { request: request?.body.toString('latin1') ?? '', response: response?.body.toString('latin1') ?? '' };
  }

  for (const behavior of [
    'success',
    'rst@event:3+17',
    'fin@headers',
    'partial_eof',
    'rate_limit',
    'wrong_content_type',
  ])
    for (const stream of [true, false]) {
      it(`${behavior}, ${stream ? 'as a stream' : 'as JSON'}: what a witness sent, with its keys redacted, and got`, async () => {
        const server = await serve({
          ...QUICK,
          sequence: [behavior.replace('event:3+17', stream ? 'event:3+17' : 'body:40')],
        });
        const request = post(PATH, { stream, messages: [{ role: 'user', content: 'grüße' }] }, { ...CLOSE, ...keyed });
        const { bytes } = await witnessed(server.port, request);
        await server.ledger(1);
        const kept = await bytesOf(server.port, 1);
        expect(kept.request).toBe(Buffer.from(redacted(request)).toString('latin1'));
        expect(kept.response).toBe(bytes.toString('latin1'));
        expect(kept.response.length).toBe(server.ledgers[0]?.bytes.flushed);
      });
    }

  it('tells the exchanges of one connection apart', async () => {
    const server = await serve({ ...QUICK, sequence: ['success', 'rate_limit', 'empty'] });
    const { ask, client } = keeper(server.port);
    const requests = [1, 2, 3].map((n) => post(PATH, { stream: true, n }));
    const ends = [0];
    for (const request of requests) {
      const { rest } = await ask(request);
      ends.push(client.received.length - rest.length);
    }
    await server.idle();
    for (const n of [1, 2, 3]) {
      const { request, response } = await bytesOf(server.port, n);
      expect(request).toBe(requests[n - 1]);
      expect(response).toBe(client.received.toString('latin1', ends[n - 1], ends[n]));
    }
    client.close();
  });

  it('keeps keys where it is told to', async () => {
    const server = await serve({ ...QUICK, redact: false });
    const request = post(PATH, {}, { ...CLOSE, ...keyed });
    await witnessed(server.port, request);
    await server.ledger(1);
    expect((await bytesOf(server.port, 1)).request).toBe(request);
  });

  it('says why there are none', async () => {
    const server = await serve(QUICK);
    const { status, json } = await controlJson(server.port, 'GET /__journal/7/response');
    expect([status, json]).toMatchObject([
      404,
      { error: { code: 'no_bytes', message: expect.stringContaining('exchange 7') } },
    ]);
  });
});

describe('/__metrics', () => {
  it('is Prometheus text of what has happened', async () => {
    const server = await serve({
      ...QUICK,
      behaviors: { held: { extends: 'success', fault: { pace: { gates: [{ at: 'headers', name: 'go' }] } } } },
      sequence: ['success', 'rst@event:3', 'held'],
    });
    const read: number[] = [];
    for (let n = 0; n < 2; n++)
      read.push((await witnessed(server.port, post(PATH, { stream: true }, CLOSE))).bytes.length);
    const held = witness(server.port);
    held.send(post(PATH, { stream: true }));
    await server.waitingAt('go');
    server.inject({ fault: 'F2', path: '/never' });
    await control(server.port, 'GET /v1/models');
    await control(server.port, 'GET /nothing');
    await Promise.all([1, 2].map((n) => server.ledger(n)));
    const answer = await control(server.port, 'GET /__metrics');
    expect(headerOf(answer, 'content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const families = readMetrics(answer.body.toString());
    const value = (name: string, labels = {}) => seriesValue(families, `wirefault_${name}`, labels);
    const requests = (kind: string) => value('requests_total', { kind });
    expect(['scripted', 'auxiliary', 'rejected', 'control'].map(requests)).toEqual([3, 1, 1, 1]);
    expect(value('exchanges_total', { behavior: 'success', outcome: 'completed' })).toBe(1);
    expect(value('exchanges_total', { behavior: 'rst@event', outcome: 'reset' })).toBe(1);
    const sum = read.reduce((all, bytes) => all + bytes, 0);
    expect([value('answer_bytes_total', { level: 'flushed' }), value('rules'), value('waiting_at_gates')]).toEqual([
      sum,
      1,
      1,
    ]);
    expect(value('open_connections')).toBeGreaterThanOrEqual(2);
    held.close();
  });
});
