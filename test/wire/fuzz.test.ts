import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import seedrandom from 'seedrandom';
import { expect, it, onTestFinished } from 'vitest';
import { requestParser } from '../../src/http/request-parser.js';
import type { FaultServerOptions, ScriptWord } from '../../src/index.js';
import { readAnswer } from '../support/http.js';
import type { LoneCommand, LoneMessage } from '../support/lone-server.js';
import { post, witnessed } from '../support/witness.js';

/** Broken requests by the thousand. The seed stands in each test's name, and gives the same bytes each time. */
const SEED = 'wirefault-1';
const PATH = '/v1/chat/completions';

interface Dice {
  /** A whole number from 0 to below `n`. */
  below(n: number): number;
  one<T>(items: readonly [T, ...T[]]): T;
  /** Whether something happens that does so `percent` times in a hundred. */
  chance(percent: number): boolean;
}

function diceOf(seed: string): Dice {
  const random = seedrandom.alea(seed);
  const below = (n: number): number => Math.floor(random() * n);
  return {
    below,
    one: (items) => items[below(items.length)] ?? items[0],
    chance: (percent) => below(100) < percent,
  };
}

const CHUNKED = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
const VALID = [
  post(PATH, { stream: true }),
  post(PATH, { stream: false, messages: [{ role: 'user', content: 'é 😀' }] }),
  post(PATH, { stream: true }, { Expect: '100-continue' }),
  post(PATH, {}, { Connection: 'close' }),
  post(PATH, {}).replace('HTTP/1.1', 'HTTP/1.0'),
  `${CHUNKED}f;a=b\r\n{"stream":true}\r\n0\r\nX-Sum: 1\r\n\r\n`,
  `GET ${PATH} HTTP/1.1\r\n\r\n`,
  `HEAD / HTTP/1.1\r\n\r\n`,
] as const;

/** What means something to some reader of requests. */
const SPLINTERS = [
  ...['\r\n', '\n', '\r', '\r\n\r\n', '\0', ' ', '\t', ':', ';', '0\r\n\r\n', '-1\r\n', 'ffffffffffffffffff\r\n'],
  ...[
    'Content-Length: 7\r\n',
    'Content-Length: 99999999999\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Expect: 100-continue\r\n',
  ],
  ...[
    'Connection: close\r\n',
    'Upgrade: h2c\r\nConnection: upgrade\r\n',
    ' folded\r\n',
    'HTTP/1.0',
    'HTTP/9.9',
    '\xff\xfe',
    '\x16\x03\x01',
  ],
  ...['x'.repeat(2000), '{', '"', 'PRI * HTTP/2.0\r\n\r\n', 'CONNECT x:1 HTTP/1.1\r\n\r\n'],
] as const;

function mutated(bytes: Buffer, dice: Dice): Buffer {
  const at = dice.below(bytes.length + 1);
  const to = Math.min(bytes.length, at + 1 + dice.below(dice.one([1, 8, 100])));
  const before = bytes.subarray(0, at);
  switch (dice.below(5)) {
    case 0:
      return Buffer.concat([before, Buffer.of(dice.below(256)), bytes.subarray(at + 1)]);
    case 1:
      return Buffer.concat([before, bytes.subarray(to)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
    case 3:
      return Buffer.concat([
        before,
        Buffer.from(dice.one(SPLINTERS as readonly string[] as [string]), 'latin1'),
        bytes.subarray(at),
      ]);
    default:
      return before;
  }
}

/** Requests in a row, most of them broken; or no requests at all. */
function nonsense(dice: Dice): Buffer {
  if (dice.chance(5)) return Buffer.from(Array.from({ length: dice.below(3000) }, () => dice.below(256)));
  const count = dice.chance(5) ? 40 : 1 + dice.below(3);
  let bytes: Buffer = Buffer.from(Array.from({ length: count }, () => dice.one(VALID)).join(''));
  for (let n = dice.below(4); n > 0; n--) bytes = mutated(bytes, dice);
  return bytes;
}

function split(bytes: Buffer, dice: Dice): Buffer[] {
  const borders = Array.from({ length: dice.below(6) }, () => dice.below(bytes.length + 1)).sort((a, b) => a - b);
  return [0, ...borders].map((start, n) => bytes.subarray(start, borders[n] ?? bytes.length));
}

it(`what is read does not depend on the split: 10,000 inputs of seed ${SEED}`, () => {
  const dice = diceOf(`${SEED}/split`);
  const read = (pieces: readonly Buffer[]): unknown[] => {
    const told: unknown[] = [];
    const parser = requestParser(
      { maxHeadBytes: 1000, maxBodyBytes: 500 },
      {
        onHead: ({ expectsContinue }) => told.push(expectsContinue ? 'continue' : 'head') > 0,
        onRequest: ({ method, target, headers, body }) =>
          told.push({ method, target, headers, body: body.toString('hex') }),
        onBad: ({ status }) => told.push(status),
      },
    );
    for (const piece of pieces) parser.feed(piece);
    return [...told, parser.midRequest() ? 'and more to come' : 'and no more'];
  };
  const kinds = new Set<string>();
  const differing: string[] = [];
  for (let n = 0; n < 10_000; n++) {
    const bytes = nonsense(dice);
    const told = read([bytes]);
    const pieces = dice.chance(20) ? Array.from(bytes, (byte) => Buffer.of(byte)) : split(bytes, dice);
    if (JSON.stringify(read(pieces)) !== JSON.stringify(told)) differing.push(bytes.toString('latin1'));
    for (const one of told) kinds.add(typeof one === 'object' ? 'request' : String(one));
  }
  expect(differing).toEqual([]);
  // The inputs reach all that the parser can say.
  expect([...kinds].sort()).toEqual([
    '400',
    '413',
    '431',
    '501',
    '505',
    'and more to come',
    'and no more',
    'continue',
    'head',
    'request',
  ]);
}, 60_000);

interface Lone {
  readonly port: number;
  readonly process: ChildProcess;
  ask<T extends LoneMessage['type']>(command: LoneCommand, type: T): Promise<LoneMessage & { type: T }>;
}

async function lone(options: FaultServerOptions): Promise<Lone> {
  const script = fileURLToPath(new URL('../support/lone-server.ts', import.meta.url));
  const child = fork(script, [JSON.stringify(options)], { execArgv: ['--import', 'tsx'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const heard = async <T extends LoneMessage['type']>(type: T): Promise<LoneMessage & { type: T }> => {
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`the server's process ended with ${code} before it said ${type}`);
    });
    const [message]: [LoneMessage] = await Promise.race([once(child, 'message') as Promise<[LoneMessage]>, ended]);
    if (message.type !== type) throw new Error(`the server's process said ${message.type}, not ${type}`);
    return message as LoneMessage & { type: T };
  };
  const { port } = await heard('listening');
  return {
    port,
    process: child,
    ask: (command, type) => {
      child.send(command);
      return heard(type);
    },
  };
}

/** Sends the pieces, each in a turn of its own, and goes in one way or another. Resolves with what came back. */
function assault(port: number, pieces: readonly Buffer[], dice: Dice): Promise<Buffer> {
  const way = dice.one(['destroy', 'reset', 'half-close', 'half-close', 'at the first answer'] as const);
  const goneAfter = dice.chance(20) ? dice.below(pieces.length) : pieces.length;
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const received: Buffer[] = [];
    socket.on('error', () => {}); // resets are what half of this is about
    socket.on('close', () => resolve(Buffer.concat(received)));
    socket.on('data', (bytes: Buffer) => {
      received.push(bytes);
      if (way === 'at the first answer') socket.destroy();
    });
    socket.on('end', () => socket.end());
    const go = (): void => {
      if (way === 'destroy') socket.destroy();
      else if (way === 'reset') socket.resetAndDestroy();
      else socket.end();
    };
    const send = (n: number): void => {
      const piece = pieces[n];
      if (socket.destroyed) return;
      if (piece === undefined || n >= goneAfter) {
        go();
        return;
      }
      socket.write(piece, () => setImmediate(send, n + 1));
    };
    socket.on('connect', () => send(0));
  });
}

const FAULTS: readonly ScriptWord[] = [
  ...(['success', 'slow_success', 'stall', 'partial_disconnect', 'connection_reset', 'rate_limit'] as const),
  ...(['stream_eof', 'stream_disconnect', 'malformed_json', 'empty_body', 'tool_call_success'] as const),
  // Those that read nothing, a part, or a head, and those that go on behind their answer.
  ...([
    'rst_on_accept',
    'fin_on_accept',
    'zero_window',
    'half_close@accept',
    'rst@request:7',
    'fin@request:7',
  ] as const),
  ...(['stall@request:20', 'early_response', 'expectation_failed', 'half_close', 'accept_silent', 'drip'] as const),
  ...(['keep_alive_stale', 'keep_alive_stray', 'length_under', 'informational_storm'] as const),
];

it(`3,000 connections of nonsense leave a healthy server, and nothing behind: seed ${SEED}`, async () => {
  const sequence = [...Array.from({ length: 50 }, () => FAULTS).flat(), 'success' as const];
  const server = await lone({
    sequence,
    repeatLast: true,
    chunkDelayMs: 1,
    disconnectDelayMs: 1,
    requestTimeoutMs: 100,
    maxHeadBytes: 1000,
    maxBodyBytes: 500,
  });
  const exited = once(server.process, 'exit');

  // On a busy machine a request may also be late.
  const statuses = new Set(['408']);
  let next = 0;
  const attacker = async (): Promise<void> => {
    while (next < 3000) {
      const dice = diceOf(`${SEED}/${next++}`);
      const bytes = nonsense(dice);
      const received = (await assault(server.port, split(bytes, dice), dice)).toString('latin1', 0, 12);
      statuses.add('HTTP/1.1 '.startsWith(received.slice(0, 9)) ? received.slice(9) : received);
    }
  };
  await Promise.all(Array.from({ length: 50 }, attacker));
  // Each kind of answer was seen, and nothing but answers.
  expect([...statuses].sort()).toEqual([
    '',
    '100',
    '103',
    '200',
    '400',
    '404',
    '405',
    '408',
    '413',
    '417',
    '429',
    '431',
    '501',
    '505',
  ]);

  // All went away by itself, stalled and lingering connections too, and each accepted request has its outcome.
  const drained = await server.ask('drain', 'drained');
  expect(drained.unfinished).toBe(0);
  expect(drained.rejected).toBeGreaterThan(1000);
  expect(drained.accepted).toBeGreaterThan(sequence.length);

  const { bytes, end } = await witnessed(server.port, post(PATH, { stream: true }, { Connection: 'close' }));
  expect(end).toBe('fin');
  expect(readAnswer(bytes)).toMatchObject({ status: 200, complete: true });
  expect(bytes.toString()).toContain('data: [DONE]');

  expect(await server.ask('close', 'closed')).toEqual({ type: 'closed', left: [] });
  expect(await exited).toEqual([0, null]);
}, 120_000);
