import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import os from 'node:os';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import { type FaultServerOptions, startFaultServer, WirefaultError } from '../../src/index.js';
import type { Counters, EvidenceSource, Kernel, SocketProbe } from '../../src/proof/counters.js';
import { kernelOf } from '../../src/proof/kernel.js';

/** What the kernel says beside what a client in this process has taken out of it: Node's `bytesRead`. */
const SOURCES = ['koffi', 'procfs', 'callbacks'] as const;
const FAMILIES = {
  IPv4: { server: '127.0.0.1', client: '127.0.0.1' },
  IPv6: { server: '::1', client: '::1' },
  'a dual-stack server': { server: '::', client: '127.0.0.1' },
} as const;

const hasIPv6 = Object.values(os.networkInterfaces())
  .flat()
  .some((one) => one?.family === 'IPv6');

/** More than both kernels take at once (tcp_rmem allows 33 MB here). */
const MUCH = 60_000_000;

interface Pair {
  readonly server: Socket;
  /** Doesn't read until it is told. */
  readonly client: Socket;
  readonly probe: SocketProbe;
}

async function listening(host: string): Promise<net.Server> {
  const listener = net.createServer({ allowHalfOpen: true, noDelay: true });
  listener.listen(0, host);
  await once(listener, 'listening');
  onTestFinished(() => {
    listener.close();
  });
  return listener;
}

async function pairOf(listener: net.Server, host: string): Promise<{ server: Socket; client: Socket }> {
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const accepted = once(listener, 'connection');
  const client = new net.Socket({ allowHalfOpen: true }).pause();
  client.connect({ port: address.port, host });
  const [server]: Socket[] = await accepted;
  if (!server) throw new Error('no connection');
  for (const socket of [server, client]) {
    socket.on('error', () => {});
    onTestFinished(() => {
      socket.destroy();
    });
  }
  return { server, client };
}

async function kernel(source: EvidenceSource, ctx: TestContext): Promise<Kernel> {
  const found = await kernelOf(source);
  return found ?? ctx.skip(`${source} is not to be had here`);
}

async function connected(source: EvidenceSource, family: keyof typeof FAMILIES, ctx: TestContext): Promise<Pair> {
  if (family !== 'IPv4' && !hasIPv6) ctx.skip('this machine has no IPv6');
  const { server: host, client: target } = FAMILIES[family];
  const pair = await pairOf(await listening(host), target);
  return { ...pair, probe: (await kernel(source, ctx)).probe(pair.server) };
}

/** Looks until `wanted` holds. Whatever is seen on the way holds the inequality. */
async function lookUntil(pair: Pair, wanted: (counters: Counters) => boolean): Promise<Counters> {
  for (;;) {
    const counters = await pair.probe.look();
    if (!counters) throw new Error('the socket is gone');
    const { flushed, acked, read } = counters;
    expect(flushed).toBeLessThanOrEqual(pair.server.bytesWritten);
    expect(acked ?? 0).toBeLessThanOrEqual(flushed);
    expect(read ?? 0).toBeLessThanOrEqual(acked ?? 0);
    expect(read ?? 0).toBeLessThanOrEqual(pair.client.bytesRead);
    if (wanted(counters)) return counters;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

for (const source of SOURCES) {
  /** A level that `callbacks` can't give. */
  const known = (count: number): number | null => (source === 'callbacks' ? null : count);
  for (const family of ['IPv4', 'IPv6', 'a dual-stack server'] as const) {
    describe(`${source}, ${family}`, () => {
      it('a client that reads nothing, a part, and all', async (ctx) => {
        const pair = await connected(source, family, ctx);
        const { server, client } = pair;
        const none = { flushed: 0, acked: known(0), read: known(0) };
        expect(await pair.probe.look()).toEqual(none);

        server.write(Buffer.alloc(1000));
        const unread = { flushed: 1000, acked: known(1000), read: known(0) };
        expect(await lookUntil(pair, ({ acked }) => acked === known(1000))).toEqual(unread);

        server.write(Buffer.alloc(MUCH - 1000));
        const stuck = await lookUntil(pair, ({ acked }) => acked === null || acked > 1000);
        expect(stuck.flushed).toBeLessThan(MUCH);
        expect(stuck.read).toBe(known(0));

        client.once('data', () => client.pause()).resume();
        if (client.bytesRead === 0) await once(client, 'data');
        const part = await lookUntil(pair, ({ read }) => read === known(client.bytesRead));
        expect(client.bytesRead).toBeLessThan(MUCH);
        expect(part.read).toBe(known(client.bytesRead));

        client.resume();
        while (client.bytesRead < MUCH) await once(client, 'data');
        const all = await lookUntil(pair, ({ flushed, read }) => flushed === MUCH && read === known(MUCH));
        expect(all).toEqual({ flushed: MUCH, acked: known(MUCH), read: known(MUCH) });
      });

      it('our FIN is none of the bytes', async (ctx) => {
        const pair = await connected(source, family, ctx);
        const { server, client } = pair;
        server.end(Buffer.alloc(1000));
        if (!server.writableFinished) await once(server, 'finish');
        const unread = { flushed: 1000, acked: known(1000), read: known(0) };
        expect(await lookUntil(pair, ({ acked }) => acked === known(1000))).toEqual(unread);
        client.resume();
        await once(client, 'end');
        const all = { flushed: 1000, acked: known(1000), read: known(1000) };
        expect(await lookUntil(pair, ({ read }) => read === known(1000))).toEqual(all);
      });

      it('of a socket that is destroyed or reset nothing is known', async (ctx) => {
        const destroyed = await connected(source, family, ctx);
        destroyed.server.write('x');
        destroyed.server.destroy();
        expect(await destroyed.probe.look()).toBeUndefined();

        const reset = await connected(source, family, ctx);
        reset.server.resume();
        reset.client.resetAndDestroy();
        await new Promise((resolve) => reset.server.once('close', resolve));
        expect(await reset.probe.look()).toBeUndefined();
      });
    });
  }

  it(`${source}: what a client has read is acknowledged, however late its TCP says so`, async (ctx) => {
    const pair = await connected(source, 'IPv4', ctx);
    const { server, client } = pair;
    client.resume();
    // From the second round on Linux delays the acknowledgement, to send it along with an answer.
    for (let round = 1; round <= 5; round++) {
      client.write('?');
      await once(server.resume(), 'data');
      server.write(Buffer.alloc(100));
      while (client.bytesRead < round * 100) await once(client, 'data');
      const seen = await lookUntil(pair, ({ read }) => read === known(round * 100));
      expect(seen).toEqual({ flushed: round * 100, acked: known(round * 100), read: known(round * 100) });
    }
  });

  it(`${source}: a client that is gone has left what it had`, async (ctx) => {
    const pair = await connected(source, 'IPv4', ctx);
    const { server, client } = pair;
    server.resume();
    server.write(Buffer.alloc(1000));
    client.resume();
    while (client.bytesRead < 1000) await once(client, 'data');
    client.destroy();
    await once(server, 'end');
    // Linux keeps what is left of the client's socket for a while, in FIN_WAIT2, but need not.
    const left = await lookUntil(pair, ({ read }) => read === null || read === 1000);
    expect(left).toMatchObject({ flushed: 1000, acked: known(1000) });
  });
}

describe('the choice of a source', () => {
  it('auto takes the best one that is there', async () => {
    const auto = await kernelOf('auto');
    const there = await Promise.all(['koffi', 'so_nwrite', 'procfs', 'callbacks'].map(asked));
    expect(auto?.source).toBe(there.find((found) => found !== undefined)?.source);
  });

  function asked(source: string): Promise<Kernel | undefined> {
    return kernelOf(source as EvidenceSource);
  }

  it('so_nwrite is refused where there is none', async (ctx) => {
    if (process.platform === 'darwin') ctx.skip('macOS has it');
    expect(await kernelOf('so_nwrite')).toBeUndefined();
    const options: FaultServerOptions = { evidence: 'so_nwrite' };
    const refused: unknown = await startFaultServer(options).catch((thrown: unknown) => thrown);
    if (!(refused instanceof WirefaultError)) throw new Error('it was not refused');
    expect(refused.code).toBe('bad_option');
    expect(refused.message).toBe(
      'evidence: "so_nwrite" is not to be had on this machine; expected auto, or another of koffi, procfs, so_nwrite, callbacks',
    );
  });
});

describe('the price', () => {
  const OTHERS = 1000;
  const LOOKS = 400;

  function medianMs(probe: SocketProbe): number {
    const taken = Array.from({ length: LOOKS }, () => {
      const start = performance.now();
      probe.look();
      return performance.now() - start;
    });
    return taken.sort((a, b) => a - b)[LOOKS / 2] ?? Number.NaN;
  }

  it('an exact query costs the same among 2,000 other sockets', async (ctx) => {
    const koffi = await kernel('koffi', ctx);
    const listener = await listening('127.0.0.1');
    const { server } = await pairOf(listener, '127.0.0.1');
    const probe = koffi.probe(server);
    medianMs(probe); // warm
    const alone = medianMs(probe);
    for (let n = 0; n < OTHERS; n++) await pairOf(listener, '127.0.0.1');
    const among = medianMs(probe);
    const told = [alone, among].map((ms) => `${Math.round(ms * 1000)} µs`).join(' alone, ');
    console.info(`sock_diag: ${told} among ${2 * OTHERS} other sockets`);
    expect(await probe.look()).toEqual({ flushed: 0, acked: 0, read: 0 });
    expect(among / alone).toBeLessThan(3);
  });
});
