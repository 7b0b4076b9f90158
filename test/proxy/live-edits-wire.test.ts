import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net, { type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addVerifyCommand } from '../../src/commands/verify.js';
import { addWitnessCommand } from '../../src/commands/witness.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import type { FaultProxyOptions } from '../../src/index.js';
import { runCommand } from '../support/command.js';
import { usedBytes } from '../support/heap.js';
import { readAnswer } from '../support/http.js';
import { post, witness, witnessed } from '../support/witness.js';
import { chunkedAnswer, proxied, rawUpstream } from './support/upstream.js';

const EVENTS = [
  '{"choices":[{"delta":{"role":"assistant","content":""}}]}',
  '{"choices":[{"delta":{"content":"hello"}}]}',
  '{"choices":[{"delta":{"content":" world"}}]}',
  '{"choices":[{"delta":{},"finish_reason":"stop"}]}',
  '[DONE]',
].map((data) => `data: ${data}\n\n`);
const BODY = EVENTS.join('');
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const ASK = post('/v1/chat/completions', { stream: true });
const CLOSING = post('/v1/chat/completions', { stream: true }, { Connection: 'close' });

const chunkOf = (data: string): string => `${Buffer.byteLength(data).toString(16)}\r\n${data}\r\n`;

/** An upstream whose answer the test writes piece by piece. */
async function byHand(sequence: FaultProxyOptions['sequence'], options: Partial<FaultProxyOptions> = {}) {
  let asked: (socket: Socket) => void = () => {};
  const request = new Promise<Socket>((resolve) => {
    asked = resolve;
  });
  const upstream = await rawUpstream((socket) => asked(socket));
  const proxy = await proxied({ upstream: upstream.url, ...(sequence ? { sequence } : {}), ...options });
  const client = witness(proxy.port);
  client.send(ASK);
  return { proxy, client, up: await request };
}

describe('an event goes on in its turn: the next comes only once the client has it', () => {
  it.each<[string, FaultSpec, (body: string) => string]>([
    ['the form', { sse: { eol: 'crlf' } }, (body) => body.replaceAll('\n', '\r\n')],
    [
      'a patched event',
      { events: [{ op: 'patch', where: { role: 'delta', nth: 1 }, path: 'choices[0].delta.content', value: 'bye' }] },
      (body) => body.replace('hello', 'bye'),
    ],
    [
      'an event put in',
      { events: [{ op: 'insert', event: { comment: 'ping' }, before: { role: 'delta' } }] },
      (body) => body.replace('data: {"choices":[{"delta":{"content":"h', (found) => `: ping\n\n${found}`),
    ],
    [
      'events twice',
      { events: [{ op: 'duplicate', where: { nth: 2 } }] },
      (body) => body.replace(EVENTS[1] ?? '', (e) => e + e),
    ],
    ['bytes put in', { splice: [{ at: 'text:7', text: '!' }] }, (body) => body.replace(' w', ' w!')],
    ['the framing', { framing: { extension: ';a=b' } }, (body) => body],
  ])('%s', async (_, fault, edited) => {
    const { proxy, client, up } = await byHand([fault]);
    up.write(HEAD);
    await client.until((bytes) => bytes.includes('\r\n\r\n'));
    for (const [n] of EVENTS.entries()) {
      up.write(chunkOf(EVENTS[n] ?? ''));
      const wanted = edited(EVENTS.slice(0, n + 1).join(''));
      const received = await client.until((bytes) => (readAnswer(bytes)?.body.length ?? 0) >= wanted.length);
      expect(readAnswer(received)?.body.toString()).toBe(wanted);
    }
    up.write('0\r\n\r\n');
    await client.until((bytes) => readAnswer(bytes)?.complete === true);
    expect(await proxy.ledger(1)).toMatchObject({
      outcome: 'completed',
      unapplied: [],
      terminal: { name: '[DONE]', delivered: true },
      upstream: { buffered: null, rewritten: true, status: 200, end: 'kept' },
    });
  });

  it('an early end: what comes behind it is not waited for', async () => {
    const { proxy, client, up } = await byHand(['eof@event:2', 'success']);
    const gone = once(up, 'close');
    up.write(HEAD + chunkOf(EVENTS[0] ?? ''));
    await client.until((bytes) => bytes.includes('assistant'));
    up.write(chunkOf(EVENTS[1] ?? ''));
    const bytes = await client.until((all) => readAnswer(all)?.complete === true);
    expect(readAnswer(bytes)?.body.toString()).toBe(EVENTS.slice(0, 2).join(''));
    await gone;
    expect(await proxy.ledger(1)).toMatchObject({
      cut: { position: 'event:2', offset: bytes.length, inside: 'after last_chunk:1' },
      plan: { bytes: bytes.length },
      teardown: { kind: 'eof' },
      events: { content: { planned: 1, flushed: 1 } },
      upstream: { buffered: null, end: 'dropped' },
    });
    // The connection takes another request.
    client.send(ASK);
    await expect.poll(() => proxy.events.filter(({ type }) => type === 'request').length).toBe(2);
  });

  it('no_terminal holds one event back', async () => {
    const { client, up, proxy } = await byHand(['no_terminal']);
    up.write(HEAD + EVENTS.slice(0, 4).map(chunkOf).join(''));
    await client.until((bytes) => bytes.includes('stop'));
    up.write(chunkOf(EVENTS[4] ?? ''));
    const bytes = await client.until((all) => readAnswer(all)?.complete === true);
    expect(readAnswer(bytes)?.body.toString()).toBe(EVENTS.slice(0, 4).join(''));
    expect(await proxy.ledger(1)).toMatchObject({ cut: { position: 'terminator' }, terminal: null });
  });

  it('pings come at the end of a slow answer, of which nothing but its opening was sent', async () => {
    const { client, up } = await byHand(['ping_flood'], { timeScale: 1000 });
    up.write(HEAD + EVENTS.map(chunkOf).join(''));
    up.write('0\r\n\r\n');
    const bytes = await client.until((all) => all.toString().split('keep-alive\n\n').length > 4);
    expect(bytes.includes('hello')).toBe(false);
  });
});

describe('places of the edited answer, with an upstream that waits there', () => {
  /** Each event with CRLF, in a chunk of its own. */
  const edited = EVENTS.map((event) => chunkOf(event.replaceAll('\n', '\r\n')));

  it.each([false, true])('event:2.mid (edited: %s)', async (edits) => {
    const gate = { pace: { gates: [{ at: 'event:2.mid', name: 'mid' }] } } as const;
    const { proxy, client, up } = await byHand([edits ? { ...gate, sse: { eol: 'crlf' } } : gate]);
    const sent = edits ? edited : EVENTS.map(chunkOf);
    up.write(HEAD + chunkOf(EVENTS[0] ?? ''));
    await client.until((bytes) => bytes.includes(sent[0] ?? ''));
    const second = chunkOf(EVENTS[1] ?? '');
    up.write(second.slice(0, 20));
    up.write(second.slice(20));
    await proxy.waitingAt('mid');
    const data = sent[1]?.slice(4, -2) ?? '';
    const half = `${sent[0]}${sent[1]?.slice(0, 4)}${data.slice(0, Math.floor(data.length / 2))}`;
    const before = await client.until((bytes) => bytes.includes(half));
    expect(before.toString().endsWith(half)).toBe(true);
    proxy.release('mid');
    await client.until((bytes) => bytes.toString().endsWith(sent[1] ?? ''));
    up.write(`${EVENTS.slice(2).map(chunkOf).join('')}0\r\n\r\n`);
    await client.until((bytes) => bytes.toString().endsWith('0\r\n\r\n'));
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'completed', upstream: { buffered: null } });
  });

  it('event:1+9 of a passing answer: the client has it before the event is whole', async () => {
    const { proxy, client, up } = await byHand([{ pace: { gates: [{ at: 'event:1+9', name: 'nine' }] } }]);
    const [first = '', second = ''] = EVENTS.map(chunkOf);
    up.write(HEAD + first + second.slice(0, 4 + 9));
    await client.until((bytes) => bytes.toString().endsWith(first + second.slice(0, 4 + 9)));
    up.write(second.slice(4 + 9));
    await proxy.waitingAt('nine');
    proxy.release('nine');
    await client.until((bytes) => bytes.toString().endsWith(second));
    up.write('0\r\n\r\n');
    await client.until((bytes) => bytes.toString().endsWith('0\r\n\r\n'));
    expect((await proxy.ledger(1)).outcome).toBe('completed');
  });

  it.each(['rst@event:1+9', 'rst@event:2.mid'] as const)('%s of an edited one', async (word) => {
    const [teardown, at] = word.split('@') as ['rst', 'event:1+9'];
    const { proxy, client, up } = await byHand([{ sse: { eol: 'crlf' }, cut: { at, teardown } }]);
    up.write(HEAD + chunkOf(EVENTS[0] ?? ''));
    await client.until((bytes) => bytes.toString().endsWith(edited[0] ?? ''));
    up.write(chunkOf(EVENTS[1] ?? ''));
    expect(await client.ended).toBe('rst');
    const data = edited[1]?.slice(4, -2) ?? '';
    const into = at === 'event:1+9' ? 9 : Math.floor(data.length / 2);
    expect(client.received.toString().endsWith(`${edited[0]}${edited[1]?.slice(0, 4)}${data.slice(0, into)}`)).toBe(
      true,
    );
    expect(await proxy.ledger(1)).toMatchObject({
      outcome: 'reset',
      bytes: { written: client.received.length, read: client.received.length },
      cut: { position: at, offset: client.received.length, inside: `event:2 (content)+${into}` },
      upstream: { buffered: null, rewritten: true, end: 'dropped' },
    });
  });
});

async function through(sequence: FaultProxyOptions['sequence'], answer: Buffer | ((socket: Socket) => void)) {
  const upstream = await rawUpstream(answer);
  return proxied({ upstream: upstream.url, ...(sequence ? { sequence } : {}) });
}

describe('the framing of an edited answer', () => {
  const TYPE = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n';
  const WITHOUT_DONE = EVENTS.slice(0, -1).join('');

  it.each([
    ['chunks', chunkedAnswer(Buffer.from(BODY), 11)],
    ['a length', Buffer.from(`${TYPE}Content-Length: ${BODY.length}\r\n\r\n${BODY}`)],
  ])('%s become chunks of one event each', async (_, answer) => {
    const proxy = await through(['terminal_missing'], answer);
    const { bytes } = await witnessed(proxy.port, CLOSING);
    const read = readAnswer(bytes);
    expect(read).toMatchObject({ complete: true, chunks: EVENTS.slice(0, -1).map(({ length }) => length) });
    expect(read?.headers.map(([name]) => name)).toEqual(['content-type', 'transfer-encoding', 'connection']);
    expect(read?.body.toString()).toBe(WITHOUT_DONE);
    expect(await proxy.ledger(1)).toMatchObject({ upstream: { rewritten: true, bytes: answer.length } });
  });

  it('an end by the connection becomes chunks, or stays one for HTTP/1.0', async () => {
    const proxy = await through(
      ['terminal_missing', 'terminal_missing'],
      (socket) => void socket.end(`${TYPE}\r\n${BODY}`),
    );
    const modern = await witnessed(proxy.port, CLOSING);
    expect(readAnswer(modern.bytes)?.body.toString()).toBe(WITHOUT_DONE);
    const old = await witnessed(proxy.port, ASK.replace('HTTP/1.1', 'HTTP/1.0'));
    expect([old.end, old.bytes.toString().split('\r\n\r\n')[1]]).toEqual(['fin', WITHOUT_DONE]);
    expect(old.bytes.toString().toLowerCase()).not.toContain('transfer-encoding');
  });
});

describe('an upstream that sends something else', () => {
  it.each<FaultSpec>([{}, { framing: { chunks: { bytes: 1000 } } }])(
    'breaks off: what came of it goes on, and its end is not made up (%o)',
    async (framing) => {
      const broken = Buffer.from(`${HEAD}${chunkOf(EVENTS[0] ?? '')}ff\r\ndata: half`);
      const proxy = await through(
        [{ events: [{ op: 'insert', event: { data: 'end' } }], ...framing }],
        (socket) => void socket.end(broken),
      );
      const { bytes, end } = await witnessed(proxy.port, CLOSING);
      expect(end).toBe('fin');
      expect(readAnswer(bytes)).toMatchObject({ complete: false });
      expect(readAnswer(bytes)?.body.toString()).toBe(`${EVENTS[0]}data: half`);
      expect(await proxy.ledger(1)).toMatchObject({
        outcome: 'upstream_closed',
        unapplied: ['all: the answer was not whole'],
      });
    },
  );

  it('is compressed: no event is looked for in it', async () => {
    const answer =
      'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd';
    const proxy = await through(['terminal_missing'], Buffer.from(answer));
    expect((await witnessed(proxy.port, CLOSING)).bytes.toString()).toMatch(/^HTTP\/1\.1 502 /);
    const ledger = await proxy.ledger(1);
    expect(ledger.outcome).toBe('cut_unreached');
    expect(ledger.upstream?.error).toMatch(/compressed \(gzip\); --decode/);
  });

  it('is JSON: it is kept, and its ledger says so', async () => {
    const body = '{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}';
    const answer = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const proxy = await through(['eof@text:2', 'terminal_missing'], Buffer.from(answer));
    expect(readAnswer((await witnessed(proxy.port, CLOSING)).bytes)?.body.toString()).toMatch(/"content":"he$/);
    await witnessed(proxy.port, CLOSING);
    expect(await proxy.ledger(2)).toMatchObject({
      unapplied: ['events'],
      upstream: { buffered: 'an answer that is no event stream' },
    });
  });

  it('has no such place: the whole answer passes, and the outcome says so', async () => {
    const proxy = await through(
      ['eof@event:9', { splice: [{ at: 'text:99', text: 'x' }] }],
      chunkedAnswer(Buffer.from(BODY)),
    );
    for (const [n, position] of [
      [1, 'event:9'],
      [2, 'text:99'],
    ] as const) {
      expect(readAnswer((await witnessed(proxy.port, CLOSING)).bytes)?.body.toString()).toBe(BODY);
      expect(await proxy.ledger(n)).toMatchObject({ outcome: 'cut_unreached', cut: null });
      expect((await proxy.ledger(n)).upstream?.error).toContain(`position ${position}: the answer doesn't reach it`);
    }
  });
});

describe('an answer of any length', () => {
  const PIECE = Buffer.from(chunkOf(`data: {"choices":[{"delta":{"content":"${'x'.repeat(1000)}"}}]}\n\n`).repeat(60));
  const PIECES = 600;

  /** Writes as much as there is room for. */
  function pour(socket: Socket, poured: { pieces: number }): void {
    socket.write(HEAD);
    const more = (): void => {
      while (poured.pieces < PIECES) {
        poured.pieces++;
        if (!socket.write(PIECE)) {
          socket.once('drain', more);
          return;
        }
      }
      socket.end('0\r\n\r\n');
    };
    more();
  }

  it('takes no more memory, and waits for a client that does not read', async () => {
    const poured = { pieces: 0 };
    const proxy = await through([{ sse: { eol: 'crlf' }, events: [{ op: 'omit', where: { nth: 2 } }] }], (socket) =>
      pour(socket, poured),
    );
    const before = usedBytes();
    const client = net.connect(proxy.port, '127.0.0.1');
    client.write(CLOSING);
    await expect.poll(() => poured.pieces > 0).toBe(true);
    // Room on the way is some megabytes of sockets; the answer has more. Time can only make this hold by mistake.
    for (let last = -1; last !== poured.pieces; await new Promise((resolve) => setTimeout(resolve, 100))) {
      last = poured.pieces;
    }
    expect(poured.pieces).toBeLessThan(PIECES);
    expect(usedBytes() - before).toBeLessThan(16_000_000);
    let received = 0;
    client.on('data', (bytes) => {
      received += bytes.length;
    });
    await once(client, 'end');
    client.destroy();
    // Each event has two more bytes, and one event is missing.
    const head = 'Connection: close\r\n'.length + HEAD.length;
    expect(received).toBe(head + '0\r\n\r\n'.length + (PIECE.length / 60 + 2) * (PIECES * 60 - 1));
    expect(await proxy.ledger(1)).toMatchObject({ outcome: 'completed', upstream: { buffered: null } });
  });
});

it('what was sent, planned and received of edited answers is verified', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'wirefault-live-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = (name: string): string => join(dir, name);
  const sequence = ['stream_eof', 'eol_crlf', 'data_after_terminal', 'F3+', 'utf8_invalid'] as const;
  const upstream = await rawUpstream(chunkedAnswer(Buffer.from(BODY), 13));
  const proxy = await proxied({
    upstream: upstream.url,
    sequence: [...sequence, { sse: { eol: 'crlf' }, cut: { at: 'event:2+5', teardown: 'rst' } }],
    journal: file('journal.jsonl'),
    capture: file('bytes'),
  });
  writeFileSync(file('body.json'), '{"stream":true}');
  const witnesses = Array.from({ length: sequence.length + 1 }, (_, n) => file(`${n}.jsonl`));
  for (const out of witnesses) {
    const url = `${proxy.baseURL}/v1/chat/completions`;
    const run = await runCommand(addWitnessCommand, ['witness', url, '--body', file('body.json'), '--out', out]);
    expect(run.err).toBe('');
  }
  await proxy.idle();
  const args = ['verify', file('journal.jsonl'), '--witness', ...witnesses, '--capture', file('bytes')];
  const good = await runCommand(addVerifyCommand, args);
  expect([good.code, good.err]).toEqual([0, '']);
  expect(good.out.match(/every byte compared/g)).toHaveLength(witnesses.length);
  expect(proxy.ledgers.map((ledger) => ledger.upstream?.buffered)).toEqual(witnesses.map(() => null));
});
