import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addVerifyCommand } from '../../src/commands/verify.js';
import { addWitnessCommand } from '../../src/commands/witness.js';
import { addressOf, requestBytes, type WitnessOptions, witness } from '../../src/proof/witness.js';
import { readWitness, receivedBytes, type WitnessRecord, witnessFile } from '../../src/proof/witness-record.js';
import { runCommand } from '../support/command.js';
import { serve } from '../support/server.js';

interface Peer {
  readonly port: number;
  /** Bytes that the client sent, once its sending side is shut. */
  readonly received: Promise<Buffer>;
}

/** A server that does what it is told with each connection, in this process. */
async function peer(act: (socket: net.Socket) => void): Promise<Peer> {
  let tell: (bytes: Buffer) => void = () => {};
  const received = new Promise<Buffer>((resolve) => {
    tell = resolve;
  });
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    const parts: Buffer[] = [];
    socket.on('data', (bytes) => parts.push(bytes));
    socket.on('end', () => {
      tell(Buffer.concat(parts));
      socket.end();
    });
    socket.on('error', () => {});
    act(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server');
  return { port: address.port, received };
}

const REQUEST = Buffer.from('hello');

function ask(port: number, options: Partial<WitnessOptions> = {}): Promise<WitnessRecord> {
  return witness({ host: '127.0.0.1', port, url: 'http://x/', request: REQUEST, ...options });
}

const whenAsked = (act: (socket: net.Socket) => void) => (socket: net.Socket) => {
  socket.once('data', () => act(socket));
};

describe('how a connection ends', () => {
  it('fin', async () => {
    const { port, received } = await peer(whenAsked((socket) => socket.end('bye')));
    const record = await ask(port);
    expect(record).toMatchObject({ end: 'fin', stopped: false, remote: { address: '127.0.0.1', port } });
    expect(receivedBytes(record).toString()).toBe('bye');
    expect(await received).toEqual(REQUEST);
  });

  it('rst', async () => {
    const { port } = await peer(whenAsked((socket) => socket.resetAndDestroy()));
    expect(await ask(port)).toMatchObject({ end: 'rst', segments: [] });
  });

  it('timeout', async () => {
    const { port } = await peer(() => {});
    expect(await ask(port, { timeoutMs: 1 })).toMatchObject({ end: 'timeout', segments: [] });
  });

  it('closed, by its signal', async () => {
    const closing = new AbortController();
    const { port } = await peer(whenAsked((socket) => socket.write('more')));
    const record = await ask(port, { signal: closing.signal, onSegment: () => closing.abort() });
    expect(record).toMatchObject({ end: 'closed', stopped: false });
    expect(receivedBytes(record).toString()).toBe('more');
  });

  it('closed before it began', async () => {
    const { port } = await peer(() => {});
    expect(await ask(port, { signal: AbortSignal.abort() })).toMatchObject({ end: 'closed', local: { port: null } });
  });

  it('refused', async () => {
    // Nobody listens there. It is none of the ports that connections get: one that asks its own is connected to itself.
    expect(await ask(1)).toMatchObject({ end: 'refused', local: { address: null, port: null } });
  });

  it('a host that does not exist is an error', async () => {
    await expect(ask(1, { host: 'no-such-host.invalid' })).rejects.toMatchObject({
      code: 'witness_failed',
      message: expect.stringContaining("witness: can't connect to no-such-host.invalid port 1: "),
    });
  });

  it('a reset right behind the data is never taken for an end', async () => {
    // In a process of its own: within this one the two would take turns, and never meet.
    const child = fork(fileURLToPath(new URL('resetter.mjs', import.meta.url)));
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    const [port] = await once(child, 'message');
    const ends = new Set<string>();
    for (let n = 0; n < 200; n++) {
      const record = await ask(Number(port));
      ends.add(`${record.end} after ${receivedBytes(record).length}`);
    }
    expect([...ends]).toEqual(['rst after 1000']);
  });
});

describe('how it reads', () => {
  const BODY = Buffer.from(Array.from({ length: 300_000 }, (_, n) => n % 251));

  it('a pause begins at exactly that byte', async () => {
    const { port } = await peer(whenAsked((socket) => socket.end(BODY)));
    for (const pauseAtBytes of [0, 1, 70_001]) {
      const counts: number[] = [];
      const record = await ask(port, { pauseAtBytes, pauseMs: 1, onSegment: (_, count) => counts.push(count) });
      if (pauseAtBytes > 0) expect(counts).toContain(pauseAtBytes);
      expect(receivedBytes(record)).toEqual(BODY);
      expect(record).toMatchObject({ end: 'fin', stopped: false });
    }
  });

  it('a pause for ever ends at the time limit, and what the server did by then is not known', async () => {
    const { port } = await peer(whenAsked((socket) => socket.end(BODY)));
    const record = await ask(port, { pauseAtBytes: 1000, timeoutMs: 20 });
    expect(record).toMatchObject({ end: 'timeout', stopped: true });
    expect(receivedBytes(record)).toEqual(BODY.subarray(0, 1000));
  });

  it('a speed is kept', async () => {
    const { port } = await peer(whenAsked((socket) => socket.end(BODY.subarray(0, 1000))));
    const record = await ask(port, { readBytesPerSecond: 10_000 });
    expect(receivedBytes(record)).toEqual(BODY.subarray(0, 1000));
    // The time of each read is not before what was read until then allows; the last one comes after 500 bytes.
    expect(record.segments.map(({ bytes }) => bytes.length)).toEqual([500, 500]);
    expect(record.segments[1]?.atMs).toBeGreaterThanOrEqual(50);
  });

  it('bytes that came before a reset are all there, even where it slept through both', async () => {
    const { port } = await peer(
      whenAsked((socket) => {
        socket.write(BODY.subarray(0, 10_000), () => socket.resetAndDestroy());
      }),
    );
    const record = await ask(port, { pauseAtBytes: 10, pauseMs: 20 });
    expect(record.end).toBe('rst');
    expect(receivedBytes(record)).toEqual(BODY.subarray(0, 10_000));
  });

  it('a half-close comes behind the request, and the answer is read all the same', async () => {
    const { port, received } = await peer(() => {});
    const record = await ask(port, { halfClose: true });
    expect(await received).toEqual(REQUEST);
    expect(record).toMatchObject({ end: 'fin', halfClose: true });
  });
});

describe('its request', () => {
  const url = new URL('http://[::1]:8000/v1/x?y=1');

  it('a POST with a body, a GET without', () => {
    expect(requestBytes({ url, body: Buffer.from('{}') }).toString()).toBe(
      'POST /v1/x?y=1 HTTP/1.1\r\nHost: [::1]:8000\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}',
    );
    expect(requestBytes({ url }).toString()).toBe(
      'GET /v1/x?y=1 HTTP/1.1\r\nHost: [::1]:8000\r\nConnection: close\r\n\r\n',
    );
    expect(addressOf(url)).toEqual({ host: '::1', port: 8000 });
    expect(addressOf(new URL('http://a.example/'))).toEqual({ host: 'a.example', port: 80 });
  });

  it('given headers take the place of its own', () => {
    const headers = [
      ['connection', 'keep-alive'],
      ['X-A', '1'],
      ['X-A', '2'],
    ] as const;
    expect(requestBytes({ url, method: 'PUT', headers }).toString()).toBe(
      'PUT /v1/x?y=1 HTTP/1.1\r\nHost: [::1]:8000\r\nconnection: keep-alive\r\nX-A: 1\r\nX-A: 2\r\n\r\n',
    );
  });
});

describe('its file', () => {
  const record: WitnessRecord = {
    url: 'http://x/',
    local: { address: '::1', port: 1 },
    remote: { address: '::1', port: 2 },
    requestSha256: 'a'.repeat(64),
    halfClose: true,
    startedAt: '2026-01-02T03:04:05.678Z',
    segments: [
      { atMs: 1.5, bytes: Buffer.from([0, 255, 10]) },
      { atMs: 2, bytes: Buffer.from('x') },
    ],
    end: 'rst',
    stopped: false,
    atMs: 3,
  };
  const file = witnessFile(record);

  it('is read as what was written', () => {
    expect(file.split('\n').map((line) => line.slice(0, 12))).toEqual([
      '{"version":1',
      '{"atMs":1.5,',
      '{"atMs":2,"b',
      '{"end":"rst"',
      '',
    ]);
    expect(readWitness(file, 'x')).toEqual(record);
    const none = { ...record, segments: [] };
    expect(readWitness(witnessFile(none), 'x')).toEqual(none);
  });

  it('what is broken is named by its line', () => {
    const lines = file.trimEnd().split('\n');
    const without = (n: number): string => lines.toSpliced(n, 1).join('\n');
    for (const [text, message] of [
      ['', 'x:1: not a line of a witness file'],
      ['nonsense', 'x:1: not a line of a witness file'],
      [without(0), 'x:1: not a line of a witness file'],
      [lines[0] ?? '', 'x:1: not a line of a witness file'],
      [without(3), 'x:3: not a line of a witness file'],
      [lines.with(2, '{"atMs":1,"base64":"*"}').join('\n'), 'x:3: not a line of a witness file'],
      [without(1), 'x: its bytes are not those that its last line tells of'],
      [file.replace('eA==', 'eQ=='), 'x: its bytes are not those that its last line tells of'],
    ] as const) {
      expect(() => readWitness(text, 'x')).toThrow(message);
    }
  });
});

describe('wirefault witness', () => {
  async function folder(): Promise<string> {
    const dir = await mkdtemp(path.join(os.tmpdir(), 'wirefault-witness-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    return dir;
  }

  it('asks, stores what it saw, and the journal is verified with it', async () => {
    const dir = await folder();
    const [body, journal] = [path.join(dir, 'body.json'), path.join(dir, 'journal.jsonl')];
    await writeFile(body, '{"model":"m","stream":true,"messages":[]}');
    const sequence = ['partial_disconnect', 'success', 'connection_reset'] as const;
    const server = await serve({ journal, capture: path.join(dir, 'bytes'), sequence: [...sequence], chunkDelayMs: 1 });
    const url = `${server.baseURL}/v1/chat/completions`;
    const files = sequence.map((name) => path.join(dir, `${name}.jsonl`));
    for (const [n, file] of files.entries()) {
      const { code, out } = await runCommand(addWitnessCommand, ['witness', url, '--body', body, '--out', file]);
      expect(code).toBe(0);
      const summary = JSON.parse(out);
      const record = readWitness(await readFile(file, 'utf8'), file);
      expect(summary).toMatchObject({ url, end: ['rst', 'fin', 'rst'][n], bytes: receivedBytes(record).length });
      expect(summary.reads).toBe(record.segments.length);
    }
    await server.idle();
    const verify = (...args: string[]) => runCommand(addVerifyCommand, ['verify', journal, ...args]);
    const seen = files.flatMap((file) => ['--witness', file]);
    const { code, out } = await verify(...seen);
    expect(out).toContain('3 exchanges verified\n');
    expect(out).toMatch(/^#1 partial_disconnect {2}agrees {2}[\d,]+ bytes \(compared by SHA-256\), rst\n#2 success /);
    expect(code).toBe(0);
    const every = await verify(...seen, '--capture', path.join(dir, 'bytes'));
    expect(every.out.match(/every byte compared/g)).toHaveLength(3);

    const one = await verify('--witness', files[1] ?? '', '--exchange', '2');
    expect(one).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^#2 success {2}agrees[^\n]*\n1 exchange verified\n$/),
    });
    const some = await verify('--witness', files[1] ?? '');
    expect(some.out).toContain('1 exchange verified, 2 exchanges of the journal not seen\n');
  });

  it('for a person', async () => {
    const { port } = await peer(whenAsked((socket) => socket.end('HTTP/1.1 200 OK\u001b\r\n\r\n')));
    const { out } = await runCommand(addWitnessCommand, ['witness', `http://127.0.0.1:${port}/`], { isTTY: true });
    expect(out.replaceAll(/\d+ ms/g, 'T')).toBe(
      'fin: the server closed the connection after T\n20 bytes in 1 read, the first after T\nHTTP/1.1 200 OK\\x1b\n',
    );
  });

  it('--raw sends a file as it is', async () => {
    const file = path.join(await folder(), 'raw');
    await writeFile(file, 'anything\0at all');
    const { port, received } = await peer(() => {});
    const url = `http://127.0.0.1:${port}`;
    expect(await runCommand(addWitnessCommand, ['witness', url, '--raw', file, '--half-close'])).toMatchObject({
      code: 0,
    });
    expect((await received).toString()).toBe('anything\0at all');
  });

  it('without a connection the code is 1', async () => {
    expect(await runCommand(addWitnessCommand, ['witness', 'http://127.0.0.1:1/'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('"end":"refused"'),
    });
  });

  it('what is not allowed is said, with what is', async () => {
    const url = 'http://127.0.0.1:1/';
    for (const [args, message] of [
      [['https://x/'], 'witness: "https://x/" is not allowed; expected an http:// URL'],
      [['nonsense'], 'witness: "nonsense" is not allowed; expected an http:// URL'],
      [[url, '--header', 'x'], '--header: "x" is not allowed; expected "Name: value"'],
      [[url, '--header', 'a: b\r\nc: d'], '--header: "a: b\\r\\nc: d" is not allowed; expected "Name: value"'],
      [[url, '--method', 'A B'], '--method: "A B" is not allowed; expected a word'],
      [[url, '--timeout-ms', '-1'], '--timeout-ms: "-1" is not allowed; expected a whole number of at least 0'],
      [[url, '--read-bytes-per-second', '0'], '"0" is not allowed; expected a whole number of at least 1'],
      [[url, '--pause-ms', '1'], '--pause-ms: has no meaning without --pause-at-bytes'],
      [[url, '--raw', 'x', '--body', 'y'], '--body: has no meaning with --raw, which is the whole request'],
      [[url, '--body', '/no/such'], "--body: can't read /no/such: ENOENT"],
    ] as const) {
      const { code, err } = await runCommand(addWitnessCommand, ['witness', ...args]);
      expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
    }
  });
});
