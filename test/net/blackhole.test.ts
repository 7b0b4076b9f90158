import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it, type TestContext, vi } from 'vitest';
import type { listen } from '../../src/net/listener.js';
import { segmentOf, type TcpSegment } from '../../src/proof/packet.js';
import { readPackets } from '../../src/proof/pcap.js';
import { captured, tcpdumpInstalled } from '../support/tcpdump.js';
import { client, connects, echoed, ipv6, type Listening, listening, outcome, WAYS } from './listening.js';

/** Far longer than a test. */
const FOREVER_MS = 600_000;
const KINDS = ['blackhole'] as const;

const linux = process.platform === 'linux';

function flagsOf({ flags }: TcpSegment): string {
  return Object.entries(flags)
    .flatMap(([name, set]) => (set ? [name] : []))
    .join(' ');
}

/** The segments between the server and one client, in their order. */
function segmentsOf(file: Buffer, clientPort: number): TcpSegment[] {
  const segments = readPackets(file, 'capture').flatMap((packet) => segmentOf(packet) ?? []);
  return segments.filter(({ source, target }) => source.port === clientPort || target.port === clientPort);
}

/** Notes when a client that connects now is connected. */
function connecting({ port, note }: Listening, host?: string): net.Socket {
  const socket = client(port, host);
  outcome(socket).then(note);
  return socket;
}

for (const way of ['a filter', 'a full queue'] as const) {
  describe.skipIf(!linux)(`${way}${linux ? '' : ' (skipped: not Linux)'}`, () => {
    let listenOn: typeof listen;
    let skipped: string | undefined;
    beforeAll(async () => {
      vi.resetModules();
      if (way === 'a full queue') vi.doMock('koffi', () => Promise.reject(new Error('not installed')));
      const { libc } = await import('../../src/net/listener-libc.js');
      const filters = (await libc())?.filters() === true;
      if (way === 'a filter' && !filters) skipped = 'koffi is not installed, or the kernel takes no filters';
      if (way === 'a full queue') expect(filters).toBe(false);
      ({ listen: listenOn } = await import('../../src/net/listener.js'));
    });
    afterAll(() => {
      vi.doUnmock('koffi');
      vi.resetModules();
    });
    const serve = (ctx: TestContext, options: Parameters<typeof listening>[1] = {}): Promise<Listening> => {
      ctx.skip(skipped !== undefined, skipped);
      return listening(listenOn, { kinds: KINDS, ...options });
    };

    it('a connect hangs until the window ends, and then is accepted; on every kind of address', async (ctx) => {
      const all = await Promise.all(
        WAYS.map(async ([host, to]) => {
          const served = await serve(ctx, { host });
          served.listener.blackhole(100);
          connecting(served, to);
          await served.until('connected');
          const after = await connects(served.port, to);
          return { host, to, log: served.log, windows: served.windows, after };
        }),
      );
      const log = ['listening', 'blackhole', 'listening', 'connected'];
      const windows = [{ kind: 'blackhole', ms: 100 }];
      expect(all).toEqual(WAYS.map(([host, to]) => ({ host, to, log, windows, after: 'connected' })));
    });

    it('each of many, from the very call', async (ctx) => {
      const served = await serve(ctx);
      served.listener.blackhole(300);
      const all = Array.from({ length: 30 }, () => connecting(served));
      await Promise.all(all.map((socket) => outcome(socket)));
      expect(served.log).toEqual(['listening', 'blackhole', 'listening', ...all.map(() => 'connected')]);
    });

    it('before the first connection', async (ctx) => {
      const served = await serve(ctx, { first: [{ kind: 'blackhole', ms: 100 }] });
      connecting(served);
      await served.until('connected');
      expect(served.log).toEqual(['blackhole', 'listening', 'connected']);
    });

    for (const host of ['127.0.0.1', ...(ipv6 ? ['::1'] : [])]) {
      it.skipIf(!tcpdumpInstalled)(
        `on the wire, ${host}: SYN and SYN again, and nothing back${tcpdumpInstalled ? '' : ' (skipped: tcpdump is not installed)'}`,
        async (ctx) => {
          const served = await serve(ctx, { host });
          let clientPort = 0;
          const file = await captured({ port: served.port, host, ctx }, async () => {
            served.listener.blackhole(200);
            const socket = connecting(served, host);
            await served.until('connected');
            clientPort = socket.localPort ?? 0;
          });
          const segments = segmentsOf(file, clientPort);
          expect(segments.slice(0, 4).map(flagsOf)).toEqual(['syn', 'syn', 'syn ack', 'ack']);
          expect(segments[1]?.sequence).toBe(segments[0]?.sequence);
        },
      );
    }

    it('open connections live on', async (ctx) => {
      const served = await serve(ctx);
      const open = client(served.port);
      expect(await echoed(open, 'before')).toBe('before');
      served.listener.blackhole(FOREVER_MS);
      expect(await echoed(open, 'in it')).toBe('in it');
    });

    it('a window in a window adds up', async (ctx) => {
      const served = await serve(ctx);
      const startMs = performance.now();
      served.listener.blackhole(60);
      served.listener.blackhole(60);
      await served.listener.whenListening();
      expect(performance.now() - startMs).toBeGreaterThanOrEqual(120);
      expect(served.log).toEqual(['listening', 'blackhole', 'blackhole', 'listening']);
      expect(served.windows[1]).toMatchObject({ kind: 'blackhole', ms: expect.closeTo(120, -2) });
    });

    it('again and again', async (ctx) => {
      const served = await serve(ctx);
      for (let n = 0; n < 20; n++) {
        served.listener.blackhole(1);
        await served.listener.whenListening();
        expect(await connects(served.port)).toBe('connected');
      }
    });

    it('after a refusal, and before one', async (ctx) => {
      const served = await serve(ctx);
      served.listener.refuse(50);
      served.listener.blackhole(100);
      served.listener.blackhole(100);
      served.listener.refuse(FOREVER_MS);
      expect(await connects(served.port)).toBe('ECONNREFUSED');
      await served.until('blackhole');
      // Its SYN comes again after a second, into the second refusal.
      connecting(served);
      await served.until('ECONNREFUSED');
      expect(served.log).toEqual(['listening', 'refuse', 'blackhole', 'refuse', 'ECONNREFUSED']);
      expect(served.windows.map((window) => 'ms' in window && window.ms)).toEqual([50, 200, FOREVER_MS]);
    });

    it('close() in it: it ends at once, and the port is free', async (ctx) => {
      const served = await serve(ctx);
      const { listener, port } = served;
      listener.blackhole(FOREVER_MS);
      const opened = listener.whenListening();
      await listener.close();
      await expect(opened).rejects.toMatchObject({ code: 'listen_failed' });
      const next = net.createServer();
      await new Promise<void>((resolve, reject) => {
        next.once('error', reject).listen(port, '127.0.0.1', resolve);
      });
      await new Promise((resolve) => next.close(resolve));
      expect(served.log).toEqual(['listening', 'blackhole']);
    });
  });
}

describe('where it is not to be had', () => {
  it('another system than Linux: told beforehand, and listen() rejects', async () => {
    vi.resetModules();
    vi.stubGlobal('process', Object.create(process, { platform: { value: 'darwin' } }));
    try {
      const { blackholePossible } = await import('../../src/net/blackhole.js');
      const { listen: listenOn } = await import('../../src/net/listener.js');
      const reason = 'connects can be made to hang on Linux only; refuse them instead';
      expect(await blackholePossible()).toBe(reason);
      const wanted = { code: 'window_impossible', message: `blackhole: ${reason}` };
      await expect(listening(listenOn, { kinds: KINDS })).rejects.toMatchObject(wanted);
      const first = [{ kind: 'blackhole', ms: 1 }] as const;
      await expect(listening(listenOn, { first })).rejects.toMatchObject(wanted);
    } finally {
      vi.unstubAllGlobals();
      vi.resetModules();
    }
  });

  it.skipIf(!linux)(
    `the kernel does not do its part after all: the port is lost, and it is told${linux ? '' : ' (skipped: not Linux)'}`,
    async () => {
      vi.resetModules();
      vi.doMock('../../src/net/listener-libc.js', async (original) => ({
        ...(await original<object>()),
        libc: async () => ({ filters: () => true, attachFilter: () => false }),
      }));
      try {
        const { listen: listenOn } = await import('../../src/net/listener.js');
        const { listener, port, log, errors } = await listening(listenOn, { kinds: KINDS });
        listener.blackhole(FOREVER_MS);
        const message = `blackhole: port ${port}: the kernel takes no filter for its socket`;
        expect(errors).toMatchObject([{ code: 'window_impossible', message }]);
        expect(log).toEqual(['listening', 'lost']);
        await expect(listener.whenListening()).rejects.toMatchObject({ code: 'window_impossible' });
        expect(await connects(port)).toBe('ECONNREFUSED');
      } finally {
        vi.doUnmock('../../src/net/listener-libc.js');
        vi.resetModules();
      }
    },
  );

  it('a listener that was not told of it: an error, and the port stays open', async () => {
    const { listen: listenOn } = await import('../../src/net/listener.js');
    const { listener, port } = await listening(listenOn, {});
    const message = `port ${port}: no blackhole window was prepared for it`;
    expect(() => listener.blackhole(1)).toThrow(expect.objectContaining({ code: 'window_impossible', message }));
    expect(await connects(port)).toBe('connected');
  });
});
