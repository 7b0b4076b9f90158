import { describe, expect, it } from 'vitest';
import { CONTROL_PATHS } from '../../src/control/commands.js';
import type { FaultServerOptions } from '../../src/index.js';
import { control, controlJson, controlText, keeper } from '../support/control.js';
import { headerOf, readAnswer } from '../support/http.js';
import { serve } from '../support/server.js';
import { post, witness, witnessed } from '../support/witness.js';

/** The control plane at real sockets: what each route does, beside the calls of the library that are the same. */
const PATH = '/v1/chat/completions';
const QUICK: FaultServerOptions = { chunkDelayMs: 0, disconnectDelayMs: 0 };
const CLOSE = { Connection: 'close' };

const asked = (body: object = {}): string => post(PATH, { stream: true, ...body }, CLOSE);

describe('rules', () => {
  it('are set, met, counted, listed, and gone', async () => {
    const server = await serve(QUICK);
    const rule = { fault: 'rate_limit', once: true, match: 'work', label: 'mine' };
    const added = await controlJson(server.port, 'POST /__control', { body: rule });
    const shown = { id: 1, ...rule, behavior: 'rate_limit', left: 1 };
    expect(added).toEqual({ status: 201, json: { ...shown, hits: 0, misses: [] } });

    await witnessed(server.port, asked({ user: 'a title' }));
    const { json: before } = await controlJson(server.port, 'GET /__control');
    const miss = { lane: 'default', attempt: 1, path: PATH, why: 'the body has no work' };
    expect(before).toEqual({ rules: [{ ...shown, hits: 0, misses: [miss] }], spent: [] });

    const statuses = [];
    for (let n = 0; n < 2; n++)
      statuses.push(readAnswer((await witnessed(server.port, asked({ user: 'work' }))).bytes)?.status);
    expect(statuses).toEqual([429, 200]);
    const { json: after } = await controlJson(server.port, 'GET /__control');
    expect(after).toEqual({ rules: [], spent: [{ ...shown, hits: 1, left: 0, misses: [miss] }] });
    expect(await server.ledger(2)).toMatchObject({
      selection: { source: 'rule', rule: 'mine', behavior: 'rate_limit' },
    });
  });

  it('are one list for the control plane and the library', async () => {
    const server = await serve(QUICK);
    server.inject({ fault: 'F2', path: '/never' });
    await control(server.port, 'POST /__control', { body: { fault: 'F3', path: '/never' } });
    expect(server.rules.map(({ id, named }) => [id, named.name])).toEqual([
      [1, 'F2'],
      [2, 'F3'],
    ]);
    expect(await controlJson(server.port, 'DELETE /__control/1')).toEqual({ status: 200, json: { removed: 1 } });
    expect((await controlJson(server.port, 'DELETE /__control/1')).status).toBe(404);
    expect(server.removeRule(1)).toBe(false);
    expect(await controlJson(server.port, 'DELETE /__control')).toEqual({ status: 200, json: { removed: 1 } });
    expect(server.rules).toEqual([]);
    server.inject({ fault: 'F2' });
    server.clearRules();
    expect((await controlJson(server.port, 'GET /__control')).json).toEqual({ rules: [], spent: [] });
  });

  it('without once are the default until they are changed', async () => {
    const server = await serve(QUICK);
    const behaviors: unknown[] = [];
    for (const fault of ['rate_limit', 'auth_error']) {
      await control(server.port, 'POST /__control', { body: { fault } });
      for (let n = 0; n < 3; n++) behaviors.push(readAnswer((await witnessed(server.port, asked())).bytes)?.status);
    }
    expect(behaviors).toEqual([429, 429, 429, 401, 401, 401]);
    expect(server.rules).toHaveLength(1);
  });

  it('that name a fault of the port, or one that does not exist, change nothing', async () => {
    const server = await serve(QUICK);
    for (const fault of ['connection_refused', 'F22', 'random', 'rst@evnt:3', { listen: { refuseMs: 5 } }]) {
      const { status, json } = await controlJson(server.port, 'POST /__control', { body: { fault } });
      expect([status, json], JSON.stringify(fault)).toMatchObject([400, { error: { code: 'bad_control' } }]);
    }
    expect(server.rules).toEqual([]);
  });
});

describe('requests beside the script', () => {
  it('meet no rule and use nothing up: models, token counts, health, control', async () => {
    const server = await serve({ ...QUICK, sequence: ['success'] });
    server.inject({ fault: 'rate_limit', once: true });
    const client = keeper(server.port);
    const host = { Host: `127.0.0.1:${server.port}` };
    expect((await client.ask(`GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n`)).status).toBe(200);
    expect((await client.ask(post('/v1/messages/count_tokens', {}, host))).status).toBe(200);
    expect((await client.ask(`GET /health HTTP/1.1\r\nHost: a\r\n\r\n`)).status).toBe(200);
    expect((await client.ask(controlText(server.port, 'GET /__control'))).status).toBe(200);
    expect(server.rules[0]).toMatchObject({ hits: 0, misses: [] });
    expect((await client.ask(post(PATH, {}))).status).toBe(429);
    expect((await client.ask(post(PATH, {}))).status).toBe(200);
    expect(server.requests.map(({ attempt }) => attempt)).toEqual([1, 2]);
    client.client.close();
  });
});

describe('one connection', () => {
  it('serves control requests and answers in turn, also those that are refused', async () => {
    const server = await serve(QUICK);
    const { ask, client } = keeper(server.port);
    const statuses = [];
    const lines = ['GET /__control', 'PUT /__control', 'GET /__nothing', 'POST /__control', 'GET /__gate'];
    for (const line of lines) statuses.push((await ask(controlText(server.port, line))).status);
    expect(statuses).toEqual([200, 405, 404, 400, 200]);
    expect((await ask(post(PATH, {}))).status).toBe(200);
    client.close();
  });

  it('gets no body with the answer to a HEAD, so that the next answer begins where it should', async () => {
    const server = await serve({ ...QUICK, controlPort: 0 });
    const controlPort = Number(new URL(server.controlURL ?? '').port);
    for (const line of ['HEAD /__control', 'HEAD /__nothing', 'HEAD /other']) {
      const client = witness(controlPort);
      client.send(controlText(controlPort, line) + controlText(controlPort, 'GET /__gate', { headers: CLOSE }));
      await client.ended;
      const [head, next, body, ...rest] = client.received.toString('latin1').split('\r\n\r\n');
      expect(head, line).toMatch(/^HTTP\/1\.1 40[45] .*\r\nContent-Length: [1-9]/s);
      expect(next, line).toMatch(/^HTTP\/1\.1 200 /);
      expect([body, rest]).toEqual(['{"waiting":{}}', []]);
    }
  });
});

describe('the state of the server', () => {
  it('reset starts the scripts anew; an answer in flight keeps its generation, and rules stay', async () => {
    const server = await serve({
      ...QUICK,
      behaviors: { held: { extends: 'success', fault: { pace: { gates: [{ at: 'event:2', name: 'go' }] } } } },
      sequence: ['held', 'rate_limit', 'success'],
    });
    server.inject({ fault: 'F2', path: '/never' });
    const first = witness(server.port);
    first.send(asked());
    await server.waitingAt('go');
    expect(readAnswer((await witnessed(server.port, asked())).bytes)?.status).toBe(429);
    expect(await controlJson(server.port, 'POST /__reset')).toEqual({ status: 200, json: { generation: 2 } });
    const second = witness(server.port);
    second.send(asked());
    await server.waitingAt('go', 2);
    expect(server.reset()).toBe(3);
    server.release('go', 2);
    await Promise.all([first.ended, second.ended]);
    const ledgers = await Promise.all([1, 2, 3].map((n) => server.ledger(n)));
    expect(ledgers.map(({ generation, attempt, selection }) => [generation, attempt, selection.behavior])).toEqual([
      [1, 1, 'held'],
      [1, 2, 'rate_limit'],
      [2, 1, 'held'],
    ]);
    expect(server.rules).toHaveLength(1);
  });

  it('reset leaves a fault alone that was chosen when the head of its request had come', async () => {
    const fault = { request: { continue: 'withhold' } } as const;
    const server = await serve({ ...QUICK, sequence: [fault, 'rate_limit'] });
    const { ask, client } = keeper(server.port);
    const request = post(PATH, { user: 'a' }, { Expect: '100-continue' });
    const body = request.indexOf('\r\n\r\n') + 4;
    await client.connected;
    client.send(request.slice(0, body));
    // Another is answered once that head has been read.
    await control(server.port, 'GET /__control');
    expect(server.reset()).toBe(2);
    expect((await ask(request.slice(body))).status).toBe(200);
    expect(await server.ledger(1)).toMatchObject({ generation: 1, attempt: 1 });
    expect((await ask(post(PATH, {}))).status).toBe(200);
    expect(await server.ledger(2)).toMatchObject({ generation: 2, attempt: 1 });
    client.close();
  });

  it('gates are told and released, one, several, or for good', async () => {
    const server = await serve({
      ...QUICK,
      behaviors: { held: { extends: 'success', fault: { pace: { gates: [{ at: 'headers', name: 'a b' }] } } } },
      sequence: ['held'],
      repeatLast: true,
    });
    const clients = Array.from({ length: 4 }, () => witness(server.port));
    for (const client of clients) client.send(asked());
    await server.waitingAt('a b', 4);
    expect((await controlJson(server.port, 'GET /__gate')).json).toEqual({ waiting: { 'a b': 4 } });
    const release = async (body?: object) =>
      (await controlJson(server.port, 'POST /__gate/a%20b', body ? { body } : {})).json;
    expect(await release()).toEqual({ gate: 'a b', waiting: 3 });
    expect(await release({ count: 2 })).toEqual({ gate: 'a b', waiting: 1 });
    expect(await release({ count: 'all' })).toEqual({ gate: 'a b', waiting: 0 });
    expect(await Promise.all(clients.map(({ ended }) => ended))).toEqual(Array.from({ length: 4 }, () => 'fin'));
    // Open for good: nobody waits here any more.
    expect((await witnessed(server.port, asked())).end).toBe('fin');
  });

  it('the port refuses for a while, once the answer that says so is out', async () => {
    const server = await serve(QUICK);
    const { status, json } = await controlJson(server.port, 'POST /__refuse', { body: { ms: 150 } });
    expect([status, json]).toEqual([200, { refusedForMs: 150 }]);
    expect((await witnessed(server.port, asked())).end).toBe('refused');
    await server.whenListening();
    expect((await witnessed(server.port, asked())).end).toBe('fin');
    expect(server.events.filter(({ type }) => type === 'unavailable')).toMatchObject([{ delayMs: 150 }]);
  });

  it('the library refuses in the very tick', async () => {
    const server = await serve(QUICK);
    server.refuse(150);
    expect((await witnessed(server.port, asked())).end).toBe('refused');
    await server.whenListening();
    expect((await witnessed(server.port, asked())).end).toBe('fin');
  });
});

describe('where the control plane is', () => {
  const seen = async (port: number) => (await control(port, 'GET /__control')).status;

  it('on the port of the answers, unless it is told otherwise', async () => {
    const server = await serve(QUICK);
    expect(server.controlURL).toBe(server.baseURL);
    expect(await seen(server.port)).toBe(200);
    expect(server.events.find(({ type }) => type === 'ready')).toMatchObject({ controlURL: server.baseURL });
    expect(server.events.filter(({ type }) => type === 'control')).toEqual([
      { type: 'control', method: 'GET', path: '/__control', status: 200 },
    ]);
  });

  it('nowhere with control: false: its paths are like any that do not exist', async () => {
    const server = await serve({ ...QUICK, control: false });
    expect(server.controlURL).toBeUndefined();
    expect(server.events.find(({ type }) => type === 'ready')).not.toHaveProperty('controlURL');
    for (const path of CONTROL_PATHS) {
      const { status, json } = await controlJson(server.port, path.replaceAll(/\{\w+\}/g, '1'));
      expect([status, json]).toMatchObject([404, { error: { code: 'unknown_path' } }]);
    }
    // The library has its calls all the same.
    server.inject({ fault: 'rate_limit', once: true });
    expect(readAnswer((await witnessed(server.port, asked())).bytes)?.status).toBe(429);
  });

  it('on a port of its own with controlPort, and on that one alone', async () => {
    const server = await serve({ ...QUICK, controlPort: 0 });
    const port = Number(new URL(server.controlURL ?? '').port);
    expect(port).not.toBe(server.port);
    expect(server.events.find(({ type }) => type === 'ready')).toMatchObject({ controlURL: server.controlURL });
    expect(await seen(server.port)).toBe(404);
    expect(await seen(port)).toBe(200);
    expect((await controlJson(port, `POST ${PATH}`, { body: {} })).status).toBe(404);
    expect((await control(port, 'GET /health')).status).toBe(404);
    await control(port, 'POST /__control', { body: { fault: 'rate_limit', once: true } });
    expect(readAnswer((await witnessed(server.port, asked())).bytes)?.status).toBe(429);
  });

  it('a port of its own is there while the other refuses, and what happens on accept is not for it', async () => {
    const server = await serve({ ...QUICK, controlPort: 0, sequence: ['rst@accept', 'success'] });
    const port = Number(new URL(server.controlURL ?? '').port);
    expect(await seen(port)).toBe(200);
    await control(port, 'POST /__refuse', { body: { ms: 100 } });
    expect((await witnessed(server.port, asked())).end).toBe('refused');
    expect(await seen(port)).toBe(200);
    await server.whenListening();
    const ends = [];
    for (let n = 0; n < 2; n++) ends.push((await witnessed(server.port, asked())).end);
    expect(ends).toEqual(['rst', 'fin']);
    await server.close();
    expect((await witnessed(port, '')).end).toBe('refused');
  });

  it('a control port that is taken is told of, and leaves nothing behind', async () => {
    const taken = await serve(QUICK);
    await expect(serve({ ...QUICK, controlPort: taken.port })).rejects.toMatchObject({ code: 'port_in_use' });
  });
});

describe('answers of the control plane', () => {
  it('are JSON that no one may keep alive longer than asked', async () => {
    const server = await serve(QUICK);
    const answer = await control(server.port, 'GET /__control');
    expect(headerOf(answer, 'content-type')).toBe('application/json');
    expect(headerOf(answer, 'connection')).toBe('close');
  });

  it('are told in HTTP/1.0 as far as that can be', async () => {
    const server = await serve(QUICK);
    const ask = async (target: string) =>
      readAnswer((await witnessed(server.port, `GET ${target} HTTP/1.0\r\n\r\n`)).bytes)?.status;
    expect(await ask('/__control')).toBe(200);
    expect(await ask('/__journal')).toBe(200);
    for (const target of ['/__metrics', '/__journal?follow=1']) expect(await ask(target)).toBe(505);
  });
});
