import { spawnSync } from 'node:child_process';
import net from 'node:net';
import os from 'node:os';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type BehaviorName,
  type FaultServerOptions,
  MAX_TIMER_MS,
  startFaultServer,
  WirefaultError,
} from '../../src/index.js';
import { readAnswer } from '../support/http.js';
import { type Served, serve } from '../support/server.js';
import { post, type Witness, witness } from '../support/witness.js';

/**
 * `connection_refused`: the port is really closed. Where a test looks into a window, the window is far longer than
 * the test; where it waits for the end of one, it waits for the event. No result depends on how fast the machine is.
 */
const FOREVER = { listenDelayMs: 600_000 };
const PATH = '/v1/chat/completions';

/** What a connect gets, now. */
async function connect(port: number, host?: string): Promise<'connected' | 'refused'> {
  const client = witness(port, host);
  try {
    await client.connected;
    return 'connected';
  } catch {
    expect(await client.ended).toBe('refused');
    return 'refused';
  } finally {
    client.close();
  }
}

/** A connection that the server has accepted: it has answered what consumes nothing. */
async function openConnection(port: number, host?: string): Promise<Witness> {
  const client = witness(port, host);
  client.send('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n');
  await client.until((bytes) => readAnswer(bytes)?.complete === true);
  return client;
}

/** Sends a request on an open connection and returns the status of its whole answer. */
async function ask(client: Witness, headers: Record<string, string> = {}): Promise<number | undefined> {
  const from = client.received.length;
  client.send(post(PATH, { stream: true }, headers));
  const bytes = await client.until((all) => readAnswer(all.subarray(from))?.complete === true);
  return readAnswer(bytes.subarray(from))?.status;
}

async function answered(port: number, host?: string): Promise<number | undefined> {
  const client = witness(port, host);
  const status = await ask(client);
  client.close();
  return status;
}

const typesOf = (server: Served): string[] => server.events.map(({ type }) => type);

/** `serve`, and when it last began to accept connections. */
async function timed(options: FaultServerOptions): Promise<{ server: Served; opened(): number }> {
  let openedMs = Number.NaN;
  const onEvent: FaultServerOptions['onEvent'] = ({ type }) => {
    if (type === 'ready' || type === 'available') openedMs = performance.now();
  };
  return { server: await serve({ ...options, onEvent }), opened: () => openedMs };
}

/** A server on a port that was chosen before. Somebody else may have been given it in between. */
async function serveOnChosenPort(options: FaultServerOptions): Promise<{ server: Served; port: number }> {
  while (true) {
    const probe = net.createServer();
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
    const address = probe.address();
    await new Promise((resolve) => probe.close(resolve));
    const port = typeof address === 'object' && address ? address.port : 0;
    try {
      return { server: await serve({ ...options, port }), port };
    } catch (thrown) {
      if (!(thrown instanceof WirefaultError && thrown.code === 'port_in_use')) throw thrown;
    }
  }
}

describe('first in the sequence', () => {
  it('port 0: every connect is refused until whenListening(), then it is answered', async () => {
    const startMs = performance.now();
    const { server, opened } = await timed({ sequence: ['connection_refused', 'success'], listenDelayMs: 60 });
    let listening = false;
    const listened = server.whenListening().then(() => {
      listening = true;
    });
    do expect(await connect(server.port)).toBe('refused');
    while (!listening);
    await listened;
    expect(await answered(server.port)).toBe(200);
    await server.results(1);
    expect(typesOf(server)).toEqual(['unavailable', 'ready', 'request', 'result']);
    expect(server.events[0]).toEqual({ type: 'unavailable', baseURL: `${server.baseURL}/v1`, delayMs: 60 });
    expect(server.events[1]).toMatchObject({ type: 'ready', baseURL: `${server.baseURL}/v1` });
    expect(opened() - startMs).toBeGreaterThanOrEqual(60);
  });

  it('a port that was chosen before', async () => {
    const { server, port } = await serveOnChosenPort({ sequence: ['connection_refused', 'success'], listenDelayMs: 5 });
    expect(server.port).toBe(port);
    expect(await connect(port)).toBe('refused');
    await server.whenListening();
    expect(await answered(port)).toBe(200);
  });

  it('two of them add up to one window', async () => {
    const sequence: BehaviorName[] = ['connection_refused', 'connection_refused', 'success'];
    const startMs = performance.now();
    const { server, opened } = await timed({ sequence, listenDelayMs: 40 });
    expect(await connect(server.port)).toBe('refused');
    await server.whenListening();
    expect(server.events).toMatchObject([{ type: 'unavailable', delayMs: 80 }, { type: 'ready' }]);
    expect(opened() - startMs).toBeGreaterThanOrEqual(80);
    expect(await answered(server.port)).toBe(200);
  });

  it('windows that are longer than a timer can be stay closed', async () => {
    const sequence: BehaviorName[] = ['connection_refused', 'connection_refused', 'success'];
    const server = await serve({ sequence, listenDelayMs: MAX_TIMER_MS });
    // A timer that overflows fires after 1 ms: before this one.
    const other = await serve({ sequence: ['connection_refused', 'success'], listenDelayMs: 20 });
    await other.whenListening();
    expect(await answered(other.port)).toBe(200);
    expect(await connect(server.port)).toBe('refused');
    expect(server.events).toMatchObject([{ type: 'unavailable', delayMs: 2 * MAX_TIMER_MS }]);
  });

  it('refuse is another word for it', async () => {
    const first = await serve({ sequence: ['refuse', 'success'], ...FOREVER });
    expect(await connect(first.port)).toBe('refused');
    const server = await serve({ sequence: ['success', 'refuse', 'connection_refused', 'rate_limit'], ...FOREVER });
    const before = await openConnection(server.port);
    expect(await answered(server.port)).toBe(200);
    expect(await connect(server.port)).toBe('refused');
    expect(await ask(before)).toBe(429);
    // Both are of one window.
    const window = server.events.filter((event) => event.type === 'unavailable').at(-1);
    expect(window?.delayMs).toBeGreaterThan(FOREVER.listenDelayMs);
    before.close();
  });

  for (const host of ['localhost', '0.0.0.0']) {
    it(`host ${host}`, async () => {
      const closed = await serve({ host, sequence: ['connection_refused', 'success'], ...FOREVER });
      expect(await connect(closed.port, host)).toBe('refused');
      const server = await serve({ host, sequence: ['connection_refused', 'success'], listenDelayMs: 1 });
      await server.whenListening();
      expect(await answered(server.port, host)).toBe(200);
    });
  }
});

interface Exchange {
  readonly behavior: BehaviorName;
  readonly headers?: Record<string, string>;
  /** How the client knows that it has the whole answer. */
  readonly whole: 'framing' | 'fin' | 'rst';
}

const CLOSE = { headers: { Connection: 'close' } };
const EXCHANGES: readonly Exchange[] = [
  { behavior: 'success', whole: 'framing' },
  { behavior: 'success', whole: 'framing', ...CLOSE },
  { behavior: 'success', whole: 'fin', ...CLOSE },
  { behavior: 'slow_success', whole: 'framing' },
  { behavior: 'partial_eof', whole: 'framing' },
  { behavior: 'rate_limit', whole: 'framing' },
  { behavior: 'connection_reset', whole: 'rst' },
  { behavior: 'stream_disconnect', whole: 'rst' },
  { behavior: 'partial_disconnect', whole: 'rst' },
];

describe('in the middle of a sequence: refused from the moment the client has the answer before it', () => {
  for (const { behavior, headers, whole } of EXCHANGES) {
    const close = headers ? ' with Connection: close' : '';
    it(`${behavior}${close}, at the end of its ${whole}; open connections live on`, async () => {
      const sequence: BehaviorName[] = [behavior, 'connection_refused', 'server_error', 'rate_limit'];
      const server = await serve({ sequence, ...FOREVER, chunkDelayMs: 1 });
      const before = await openConnection(server.port);
      const client = witness(server.port);
      client.send(post(PATH, { stream: true }, headers));
      if (whole === 'framing') await client.until((bytes) => readAnswer(bytes)?.complete === true);
      else expect(await client.ended).toBe(whole);
      expect(await connect(server.port)).toBe('refused');
      // Its request takes the next entry; and so does the next on the same socket.
      expect(await ask(before)).toBe(500);
      expect(await ask(before)).toBe(429);
      expect(await connect(server.port)).toBe('refused');
      expect(server.events.filter(({ type }) => type === 'unavailable')).toMatchObject([
        { delayMs: FOREVER.listenDelayMs },
      ]);
      client.close();
      before.close();
    });
  }
  it('the keep-alive connection of the exchange before it lives on, too', async () => {
    const server = await serve({ sequence: ['success', 'connection_refused', 'rate_limit'], ...FOREVER });
    const client = witness(server.port);
    expect(await ask(client)).toBe(200);
    expect(await connect(server.port)).toBe('refused');
    expect(await ask(client)).toBe(429);
    client.close();
  });

  for (const [behavior, method] of [
    ['success', 'write'],
    ['slow_success', 'write'],
    ['partial_disconnect', 'resetAndDestroy'],
  ] as const) {
    it(`${behavior}: the port closes before the last ${method === 'write' ? 'bytes are written' : 'reset'}`, async () => {
      const server = await serve({ sequence: [behavior, 'connection_refused', 'success'], ...FOREVER });
      const client = witness(server.port);
      await client.connected;
      client.send(post(PATH, { stream: true }));
      const closed = vi.spyOn(net.Server.prototype, 'close');
      const sent = vi.spyOn(net.Socket.prototype, method);
      onTestFinished(() => {
        vi.restoreAllMocks();
      });
      await server.results(1);
      const last = sent.mock.invocationCallOrder.at(-1) ?? Number.NaN;
      expect(closed.mock.invocationCallOrder).toHaveLength(1);
      expect(closed.mock.invocationCallOrder[0]).toBeLessThan(last);
      client.close();
    });
  }

  it('then the same port listens again', async () => {
    const { server, opened } = await timed({
      sequence: ['success', 'connection_refused', 'rate_limit'],
      listenDelayMs: 40,
    });
    const { port } = server;
    const startMs = performance.now();
    expect(await answered(port)).toBe(200);
    const available = server.event(({ type }) => type === 'available');
    await server.whenListening();
    expect(await available).toEqual({ type: 'available', baseURL: `${server.baseURL}/v1` });
    expect(opened() - startMs).toBeGreaterThanOrEqual(40);
    expect(await answered(port)).toBe(429);
    await server.results(2);
    expect(typesOf(server)).toEqual(['ready', 'request', 'unavailable', 'result', 'available', 'request', 'result']);
  });

  it('every connect before `available` is refused, every one after it is not', async () => {
    const server = await serve({ sequence: ['success', 'connection_refused', 'success'], listenDelayMs: 60 });
    expect(await answered(server.port)).toBe(200);
    while (!typesOf(server).includes('available')) expect(await connect(server.port)).toBe('refused');
    for (let n = 0; n < 20; n++) expect(await connect(server.port)).toBe('connected');
  });

  it('two of them are one window of twice the length', async () => {
    const sequence: BehaviorName[] = ['success', 'connection_refused', 'connection_refused', 'success'];
    const { server, opened } = await timed({ sequence, listenDelayMs: 40 });
    const startMs = performance.now();
    expect(await answered(server.port)).toBe(200);
    await server.event(({ type }) => type === 'available');
    expect(opened() - startMs).toBeGreaterThanOrEqual(80);
    expect(typesOf(server).filter((type) => type === 'available')).toHaveLength(1);
    expect(await answered(server.port)).toBe(200);
  });

  it('a window for each pass through the last entry: success, refused, success, refused', async () => {
    const sequence: BehaviorName[] = ['success', 'connection_refused', 'success', 'connection_refused'];
    const server = await serve({ sequence, listenDelayMs: 1 });
    for (const status of [200, 200, 500]) {
      await server.whenListening();
      expect(await answered(server.port)).toBe(status);
    }
    expect(typesOf(server).filter((type) => type === 'available')).toHaveLength(2);
    expect(server.requests.at(-1)).toMatchObject({ behavior: 'script_exhausted' });
  });
});

const ipv6 = Object.values(os.networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));

it.skipIf(!ipv6)(
  `IPv6${ipv6 ? '' : ' (skipped: this machine has no ::1)'}: refused first and in the middle`,
  async () => {
    const sequence: BehaviorName[] = ['connection_refused', 'success', 'connection_refused', 'rate_limit'];
    const server = await serve({ host: '::1', sequence, listenDelayMs: 30 });
    expect(server.baseURL).toBe(`http://[::1]:${server.port}`);
    expect(await connect(server.port, '::1')).toBe('refused');
    await server.whenListening();
    const client = await openConnection(server.port, '::1');
    expect(await ask(client)).toBe(200);
    await server.event(({ type }) => type === 'available');
    expect(await ask(client)).toBe(429);
    expect(await connect(server.port, '::1')).toBe('connected');
    client.close();
  },
);

/** Without SO_REUSEADDR, which Node sets on every socket that it binds. */
const BIND = 'import socket, sys; s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); print("bound")';
const python = spawnSync('python3', ['-c', 'import socket']).status === 0;

describe('whose port it is meanwhile', () => {
  it.skipIf(!python)(
    `a plain bind gets EADDRINUSE${python ? '' : ' (skipped: python3 is not installed)'}`,
    async () => {
      const afterwards: string[] = [];
      // Once it is let go, any connection of the machine may be given the port: then it is tried with another one.
      while (afterwards.length < 5 && !afterwards.includes('bound\n')) {
        const server = await serve({ sequence: ['connection_refused', 'success'], ...FOREVER });
        expect(await connect(server.port)).toBe('refused');
        const { stderr } = spawnSync('python3', ['-c', BIND, String(server.port)]);
        expect(stderr.toString()).toContain('Address already in use');
        await server.close();
        afterwards.push(spawnSync('python3', ['-c', BIND, String(server.port)]).stdout.toString());
      }
      expect(afterwards).toContain('bound\n');
    },
  );

  it('one who asks for this very port with SO_REUSEADDR gets it; the end of the window then says so', async () => {
    const server = await serve({ sequence: ['connection_refused', 'success'], listenDelayMs: 30 });
    const opened = server.whenListening();
    const thief = net.createServer();
    onTestFinished(() => {
      thief.close();
    });
    await new Promise<void>((resolve, reject) => {
      thief.once('error', reject).listen(server.port, '127.0.0.1', resolve);
    });
    const reason = `port ${server.port}: 127.0.0.1:${server.port} is in use by another program; choose another port, or 0 for a free one`;
    await expect(opened).rejects.toMatchObject({ code: 'port_in_use', message: reason });
    await expect(server.whenListening()).rejects.toMatchObject({ code: 'port_in_use' });
    expect(server.events.at(-1)).toEqual({ type: 'listen_failed', reason });
  });
});

describe('close() in a window', () => {
  for (const [where, sequence] of [
    ['the first', ['connection_refused', 'success']],
    ['a later', ['success', 'connection_refused', 'success']],
  ] as const) {
    it(`${where} one: it ends at once, and the port is free`, async () => {
      const server = await serve({ sequence, ...FOREVER });
      if (where === 'a later') expect(await answered(server.port)).toBe(200);
      const opened = server.whenListening();
      await server.close();
      await expect(opened).rejects.toMatchObject({
        code: 'listen_failed',
        message: `port ${server.port}: the server was closed`,
      });
      expect(await connect(server.port)).toBe('refused');
      expect(typesOf(server)).not.toContain('available');
      // Nobody needs to wait for it.
      await serve({ port: server.port });
    });
  }

  it('while it is being opened again: nobody listens afterwards', async () => {
    const server = await serve({ sequence: ['connection_refused', 'success'], listenDelayMs: 1 });
    const { listen } = net.Server.prototype;
    const closed = new Promise<void>((resolve) => {
      vi.spyOn(net.Server.prototype, 'listen').mockImplementation(function (this: net.Server, ...args: unknown[]) {
        resolve(server.close());
        return Reflect.apply(listen, this, args);
      });
    });
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    await closed;
    expect(await connect(server.port)).toBe('refused');
    expect(typesOf(server)).toEqual(['unavailable']);
  });

  it('ends an open connection', async () => {
    const server = await serve({ sequence: ['success', 'connection_refused', 'stall'], ...FOREVER });
    const client = witness(server.port);
    expect(await ask(client)).toBe(200);
    client.send(post(PATH, { stream: true }));
    await server.event((event) => event.type === 'request' && event.behavior === 'stall');
    await server.close();
    expect(await client.ended).not.toBe('closed_by_witness');
  });
});

it('repeatLast with connection_refused last is refused: no request could use it up', async () => {
  const started = startFaultServer({ sequence: ['success', 'connection_refused'], repeatLast: true });
  await expect(started).rejects.toMatchObject({
    code: 'bad_script',
    message: expect.stringMatching(/^[^\n]*connection_refused can't be the last entry with repeatLast[^\n]*$/),
  });
  await expect(startFaultServer({ sequence: ['connection_refused'], repeatLast: true })).rejects.toMatchObject({
    code: 'bad_script',
  });
});
