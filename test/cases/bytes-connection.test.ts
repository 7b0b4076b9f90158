import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { attemptsCountable } from '../../src/net/syn-counter.js';
import { post, witnessed } from '../support/witness.js';
import { CASES_DIR, caseOptions, caseServer } from './support/case-server.js';
import { CHAT, caughtUp, connect, isOpen, isWhole } from './support/played.js';
import { answerOf, headerOf, notationOf } from './support/wire-notation.js';

/** Section A of the reported cases, connection lifecycle: what a raw client gets of each scenario. */
const WHOLE = 'H(1.1 200 chunked keep-alive) C(role) C(txt) C(txt) C(txt) C(fin) C([DONE]) T';
/** Whether all of a connection's answer has come, and so much of it. */
const wholeTwice = (received: Buffer): boolean => received.toString('latin1').split('\r\n0\r\n\r\n').length === 3;

/** The files of these cases; the others' tests are elsewhere. */
const IDS = readdirSync(CASES_DIR)
  .map((file) => file.replace('.yaml', ''))
  .filter((id) => id <= 'B28');

it.each(IDS)('%s plays each of its behaviors, in their order', async (id) => {
  const { behaviors = {}, sequence = [] } = await caseOptions(id);
  expect([...new Set(sequence)].filter((word) => word !== 'success')).toEqual(Object.keys(behaviors));
});

const uncountable = await attemptsCountable();

describe('B01', () => {
  it('refused: every connect', async () => {
    const server = await caseServer('B01', { sequence: ['refused', 'success'] });
    for (let n = 0; n < 6; n++) {
      expect(await witnessed(server.port, CHAT)).toEqual({ bytes: Buffer.alloc(0), end: 'refused' });
    }
    expect(server.requests).toEqual([]);
  });

  const skipped = uncountable === undefined ? '' : ` (skipped: ${uncountable})`;
  it.skipIf(uncountable !== undefined)(`refused_twice: the third connect is served${skipped}`, async () => {
    const server = await caseServer('B01', { sequence: ['refused_twice', 'success'] });
    const ends = [await witnessed(server.port, CHAT), await witnessed(server.port, CHAT)].map(({ end }) => end);
    expect(ends).toEqual(['refused', 'refused']);
    const client = connect(server);
    client.send(CHAT);
    expect(notationOf(await client.until(isWhole))).toBe(WHOLE);
  });
});

describe('B02', () => {
  it.each([
    ['fin_on_first_byte', 'fin'],
    ['rst_on_first_byte', 'rst'],
  ])('%s of the next request: %s, and not a byte more', async (variant, end) => {
    const server = await caseServer('B02', { sequence: [variant, 'success'] });
    const client = connect(server);
    client.send(CHAT);
    const answer = await client.until(isWhole);
    expect(notationOf(answer)).toBe(WHOLE);
    await caughtUp(server);
    expect(await isOpen(client)).toBe(true);
    client.send(CHAT.slice(0, 1));
    expect(await client.ended).toBe(end);
    expect(client.received).toEqual(answer);
    // A replay on a new connection is answered.
    expect((await witnessed(server.port, post('/v1/chat/completions', {}, { Connection: 'close' }))).end).toBe('fin');
    expect(server.requests.map(({ behavior }) => behavior)).toEqual([variant, 'success']);
  });

  it.each([
    ['fin_on_last_byte', 'fin'],
    ['rst_on_last_byte', 'rst'],
  ])('%s: %s, and not a byte more', async (variant, end) => {
    const server = await caseServer('B02', { sequence: ['success', variant] });
    const client = connect(server);
    client.send(CHAT);
    const answer = await client.until(isWhole);
    expect(notationOf(answer)).toBe(WHOLE);
    client.send(CHAT.slice(0, -1));
    await caughtUp(server);
    expect(await isOpen(client)).toBe(true);
    client.send(CHAT.slice(-1));
    expect(await client.ended).toBe(end);
    expect(client.received).toEqual(answer);
  });
});

describe('B03', () => {
  it('fin_when_idle: FIN after 400 s, scaled, without a Keep-Alive header', async () => {
    const server = await caseServer('B03', { sequence: ['fin_when_idle'] });
    const client = connect(server);
    const startMs = performance.now();
    client.send(CHAT);
    const answer = await client.until(isWhole);
    expect(notationOf(answer)).toBe(WHOLE);
    expect(headerOf(answerOf(answer), 'keep-alive')).toBeUndefined();
    expect(await client.ended).toBe('fin');
    // A timer may be early by a millisecond.
    expect(performance.now() - startMs).toBeGreaterThan(400 - 5);
    expect(client.received).toEqual(answer);
  });

  it('fin_when_idle: a request before that is answered', async () => {
    const server = await caseServer('B03', { sequence: ['fin_when_idle', 'success'], timeScale: 1 });
    const client = connect(server);
    client.send(CHAT);
    await client.until(isWhole);
    client.send(CHAT);
    await client.until(wholeTwice);
  });

  it('rst_on_next_data: open and silent, RST at the next byte', async () => {
    const server = await caseServer('B03', { sequence: ['rst_on_next_data'] });
    const client = connect(server);
    client.send(CHAT);
    const answer = await client.until(isWhole);
    expect(notationOf(answer)).toBe(WHOLE);
    expect(headerOf(answerOf(answer), 'keep-alive')).toBeUndefined();
    await server.event((event) => event.type === 'idle_fault' && event.did === 'armed');
    expect(await isOpen(client)).toBe(true);
    client.send(CHAT.slice(0, 1));
    expect(await client.ended).toBe('rst');
    expect(client.received).toEqual(answer);
  });
});

describe('B04', () => {
  const answered = WHOLE.replace(' keep-alive', '');

  it('fin_at_once: a request that crosses the FIN gets nothing', async () => {
    const server = await caseServer('B04', { sequence: ['fin_at_once', 'success'] });
    const client = connect(server);
    client.send(CHAT);
    const answer = await client.until(isWhole);
    client.send(CHAT);
    expect(await client.ended).toBe('fin');
    await caughtUp(server);
    expect(notationOf(client.received)).toBe(answered);
    expect(client.received).toEqual(answer);
    expect(server.requests.length).toBe(1);
  });

  it('fin_after_5ms', async () => {
    const server = await caseServer('B04', { sequence: ['fin_after_5ms'] });
    const client = connect(server);
    client.send(CHAT);
    await client.until(isWhole);
    expect(await client.ended).toBe('fin');
    expect(notationOf(client.received)).toBe(answered);
  });
});

describe('B06', () => {
  it('early_413: the answer while the body is still sent, then RST', async () => {
    const server = await caseServer('B06', { sequence: ['early_413'] });
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(33_554_432) }] });
    const { bytes, end } = await witnessed(server.port, post('/v1/chat/completions', body));
    const answer = answerOf(bytes);
    expect(answer.statusLine).toBe('HTTP/1.1 413 Payload Too Large');
    expect(answer.headers).toEqual([
      ['content-type', 'application/json'],
      ['content-length', String(answer.body.length)],
      ['connection', 'close'],
    ]);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ error: { message: 'the prompt is too large' } });
    expect(end).toBe('rst');
    expect(await server.ledger(1)).toMatchObject({ request: { bodyBytes: null } });
  });
});
