import { once } from 'node:events';
import net from 'node:net';
import { afterEach, describe, expect, it, type TestContext, vi } from 'vitest';
import { listen } from '../../src/net/listener.js';
import { AF_INET, libc } from '../../src/net/listener-libc.js';
import { synPacket } from '../../src/net/listener-packet.js';
import { attemptsCountable } from '../../src/net/syn-counter.js';
import { handleOf } from '../../src/proof/counters.js';
import { segmentOf } from '../../src/proof/packet.js';
import { readPackets } from '../../src/proof/pcap.js';
import { captured, tcpdumpInstalled } from '../support/tcpdump.js';
import { client, connects, echoed, type Listening, listening, outcome, WAYS } from './listening.js';

/** Refusals that are counted: exactly as many connects are refused as was asked for, however fast they come. */
const FOREVER_MS = 600_000;
const KINDS = ['refuse_attempts', 'blackhole'] as const;

const why = await attemptsCountable();

const refusals = (count: number): string[] => Array.from({ length: count }, () => 'ECONNREFUSED');

/** What connects get, each right after the one before, up to the first that is accepted. */
async function untilConnected(port: number, host?: string): Promise<string[]> {
  const all: string[] = [];
  do all.push(await connects(port, host));
  while (all.at(-1) === 'ECONNREFUSED');
  return all;
}

/** Asks TCP_INFO (tcp(7)) of a socket for `tcpi_total_retrans`: how many segments, SYNs too, had to be sent again. */
async function retransmitsOf(): Promise<(socket: net.Socket) => number | undefined> {
  const koffi = await import('koffi');
  const getOption = koffi.load(null).func('int getsockopt(int fd, int level, int name, void *value, void *length)');
  return (socket) => {
    const fd = handleOf(socket)?.fd;
    const info = Buffer.alloc(104);
    if (fd === undefined || fd < 0 || Number(getOption(fd, 6, 11, info, Buffer.from([104, 0, 0, 0]))) !== 0)
      return undefined;
    return info.readUInt32LE(100);
  };
}

describe.skipIf(why !== undefined)(`counted refusals${why === undefined ? '' : ` (skipped: ${why})`}`, () => {
  const serve = (options: Parameters<typeof listening>[1] = {}): Promise<Listening> =>
    listening(listen, { kinds: KINDS, ...options });

  for (const [host, to] of WAYS) {
    for (const attempts of [1, 3]) {
      it(`${host}, to ${to}: ${attempts} refused, and the very next one is accepted`, async () => {
        const served = await serve({ host });
        served.listener.refuseAttempts(attempts);
        expect(await untilConnected(served.port, to)).toEqual([...refusals(attempts), 'connected']);
        expect(served.log).toEqual(['listening', 'refuse_attempts', 'listening']);
        expect(served.windows).toEqual([{ kind: 'refuse_attempts', attempts }]);
      });
    }

    it(`${host}, to ${to}: of many at the same moment exactly as many are refused, and no other has to try again`, async () => {
      const served = await serve({ host });
      const retransmits = await retransmitsOf();
      served.listener.refuseAttempts(5);
      const sockets = Array.from({ length: 20 }, () => client(served.port, to));
      const all = await Promise.all(
        sockets.map(async (socket) => [await outcome(socket), retransmits(socket)] as const),
      );
      expect(all.filter(([got]) => got === 'ECONNREFUSED')).toHaveLength(5);
      expect(all.filter(([got]) => got === 'connected')).toEqual(refusals(15).map(() => ['connected', 0]));
    });
  }

  it('before the first connection', async () => {
    const served = await serve({ first: [{ kind: 'refuse_attempts', attempts: 2 }] });
    expect(await untilConnected(served.port)).toEqual([...refusals(2), 'connected']);
    expect(served.log).toEqual(['refuse_attempts', 'listening']);
  });

  it('whenListening() resolves before the last one is told', async () => {
    const served = await serve();
    served.listener.refuseAttempts(1);
    served.listener.whenListening().then(() => served.note('resolved'));
    const socket = client(served.port);
    outcome(socket).then(served.note);
    await served.until('ECONNREFUSED');
    expect(served.log).toEqual(['listening', 'refuse_attempts', 'listening', 'resolved', 'ECONNREFUSED']);
  });

  it('open connections live on, and new ones are served', async () => {
    const served = await serve();
    const open = client(served.port);
    expect(await echoed(open, 'before')).toBe('before');
    served.listener.refuseAttempts(1);
    expect(await echoed(open, 'in it')).toBe('in it');
    expect(await connects(served.port)).toBe('ECONNREFUSED');
    expect(await echoed(client(served.port), 'after')).toBe('after');
    expect(await echoed(open, 'after')).toBe('after');
  });

  it('a window in a window adds up', async () => {
    const served = await serve();
    served.listener.refuseAttempts(2);
    expect(await connects(served.port)).toBe('ECONNREFUSED');
    served.listener.refuseAttempts(3);
    expect(await untilConnected(served.port)).toEqual([...refusals(4), 'connected']);
    expect(served.windows).toEqual([
      { kind: 'refuse_attempts', attempts: 2 },
      { kind: 'refuse_attempts', attempts: 4 },
    ]);
  });

  it('another port is none of its business', async () => {
    const [served, other] = [await serve(), await serve()];
    served.listener.refuseAttempts(1);
    for (let n = 0; n < 5; n++) expect(await connects(other.port)).toBe('connected');
    expect(await untilConnected(served.port)).toEqual(['ECONNREFUSED', 'connected']);
  });

  it('two servers on one port and two addresses: each counts its own', async (ctx) => {
    const first = await serve({ host: '127.0.0.1' });
    const second = await serve({ host: '127.0.0.2', port: first.port }).catch(() => undefined);
    if (!second) return ctx.skip('127.0.0.2 is not to be had here');
    first.listener.refuseAttempts(2);
    second.listener.refuseAttempts(1);
    expect(await untilConnected(second.port, '127.0.0.2')).toEqual(['ECONNREFUSED', 'connected']);
    expect(await untilConnected(first.port)).toEqual([...refusals(2), 'connected']);
  });

  it('between a refusal for a time and a blackhole', async () => {
    const served = await serve();
    served.listener.refuse(20);
    served.listener.refuseAttempts(2);
    served.listener.blackhole(100);
    await served.until('refuse_attempts');
    expect(await connects(served.port)).toBe('ECONNREFUSED');
    expect(await connects(served.port)).toBe('ECONNREFUSED');
    const socket = client(served.port);
    outcome(socket).then(served.note);
    await served.until('connected');
    expect(served.log).toEqual(['listening', 'refuse', 'refuse_attempts', 'blackhole', 'listening', 'connected']);
  });

  it('before a refusal for a time', async () => {
    const served = await serve();
    served.listener.refuseAttempts(1);
    served.listener.refuse(FOREVER_MS);
    for (let n = 0; n < 5; n++) expect(await connects(served.port)).toBe('ECONNREFUSED');
    expect(served.log).toEqual(['listening', 'refuse_attempts', 'refuse']);
  });

  it('a SYN that comes again counts once', async (ctx) => {
    const calls = await libc();
    const raw = calls?.rawSocket(AF_INET);
    if (!calls || typeof raw !== 'number' || !calls.enable(raw, 0, 3)) return ctx.skip('no raw socket');
    const served = await serve();
    served.listener.refuseAttempts(3);
    const loopback = Buffer.from([127, 0, 0, 1]);
    const segment = Buffer.alloc(20);
    // Nobody's port: the RST that goes there is dropped.
    segment.writeUInt16BE(1, 0);
    segment.writeUInt16BE(served.port, 2);
    segment.writeUInt32BE(0xffff_ffff, 4);
    segment.writeUInt8(0x50, 12);
    segment.writeUInt8(0x02, 13);
    const syn = {
      source: loopback,
      target: loopback,
      sourcePort: 1,
      targetPort: served.port,
      sequence: 0,
      payloadBytes: 0,
    };
    const to = Buffer.from([AF_INET, 0, 0, 0, ...loopback, 0, 0, 0, 0, 0, 0, 0, 0]);
    for (let n = 0; n < 5; n++) expect(calls.sendTo(raw, synPacket({ ...syn, segment }), to)).toBe(true);
    calls.close(raw);
    expect(await untilConnected(served.port)).toEqual([...refusals(2), 'connected']);
  });

  it('close() in it: it ends at once, and the port is free', async () => {
    const { listener, port, log } = await serve();
    listener.refuseAttempts(1);
    const opened = listener.whenListening();
    await listener.close();
    await expect(opened).rejects.toMatchObject({ code: 'listen_failed' });
    const next = net.createServer();
    await once(next.listen(port, '127.0.0.1'), 'listening');
    await new Promise((resolve) => next.close(resolve));
    expect(log).toEqual(['listening', 'refuse_attempts']);
  });

  for (const [host, to] of WAYS) {
    it.skipIf(!tcpdumpInstalled)(
      `on the wire, ${host}, to ${to}: the RST is that of a closed port${tcpdumpInstalled ? '' : ' (skipped: tcpdump is not installed)'}`,
      async (ctx: TestContext) => {
        const served = await serve({ host });
        const { listener, port } = served;
        const file = await captured({ port, host: to, ctx }, async () => {
          listener.refuse(20);
          expect(await connects(port, to)).toBe('ECONNREFUSED');
          await listener.whenListening();
          listener.refuseAttempts(1);
          expect(await untilConnected(port, to)).toEqual(['ECONNREFUSED', 'connected']);
        });
        const segments = readPackets(file, 'capture').flatMap((packet) => segmentOf(packet) ?? []);
        const attempts = segments
          .filter(({ source, target, flags }) => flags.syn && !flags.ack && source.port !== target.port)
          .map((syn) => ({ syn, answer: segments.find(({ target }) => target.port === syn.source.port) }));
        const [kernels, ours, accepted] = attempts;
        for (const { syn, answer } of [kernels, ours].flatMap((one) => one ?? [])) {
          expect(answer).toMatchObject({
            source: syn.target,
            sequence: 0,
            acknowledgment: (syn.sequence + 1) >>> 0,
            flags: { rst: true, ack: true, syn: false, fin: false },
            payloadBytes: 0,
          });
        }
        expect(accepted?.answer?.flags).toMatchObject({ syn: true, ack: true });
      },
    );
  }
});

describe('where they can not be counted', () => {
  afterEach(() => {
    vi.doUnmock('koffi');
    vi.doUnmock('../../src/net/listener-libc.js');
    vi.unstubAllGlobals();
    vi.resetModules();
  });

  const INSTEAD = 'give a time in milliseconds instead';

  async function told(): Promise<string | undefined> {
    const counter = await import('../../src/net/syn-counter.js');
    const { listen: listenOn } = await import('../../src/net/listener.js');
    const reason = await counter.attemptsCountable();
    const wanted = { code: 'window_impossible', message: `refuse_attempts: ${reason}` };
    await expect(listening(listenOn, { kinds: KINDS })).rejects.toMatchObject(wanted);
    return reason;
  }

  it('another system than Linux', async () => {
    vi.resetModules();
    vi.stubGlobal('process', Object.create(process, { platform: { value: 'darwin' } }));
    expect(await told()).toBe(`refused connects can be counted on Linux only; ${INSTEAD}`);
  });

  const linux = process.platform === 'linux';
  it.skipIf(!linux)(`without koffi${linux ? '' : ' (skipped: not Linux)'}`, async () => {
    vi.resetModules();
    vi.doMock('koffi', () => Promise.reject(new Error('not installed')));
    expect(await told()).toBe(`counting refused connects needs the optional package koffi; ${INSTEAD}`);
  });

  it.skipIf(why !== undefined)(
    `without the right to raw sockets${why === undefined ? '' : ` (skipped: ${why})`}`,
    async () => {
      const calls = await libc();
      vi.resetModules();
      vi.doMock('../../src/net/listener-libc.js', async (original) => ({
        ...(await original<object>()),
        libc: async () => ({ ...calls, rawSocket: () => 'EPERM' }),
      }));
      expect(await told()).toBe(
        `counting refused connects needs the right to raw sockets (CAP_NET_RAW: root has it, and a node binary after \`setcap cap_net_raw+ep\`); ${INSTEAD}`,
      );
    },
  );

  it.skipIf(why !== undefined)(
    `in a sandbox that does nothing${why === undefined ? '' : ` (skipped: ${why})`}`,
    async () => {
      const calls = await libc();
      vi.resetModules();
      vi.doMock('../../src/net/listener-libc.js', async (original) => ({
        ...(await original<object>()),
        libc: async () => ({ ...calls, attachFilter: () => true }),
      }));
      expect(await told()).toBe(`refused connects can't be counted on this machine; ${INSTEAD}`);
    },
  );
});
