import { spawnSync } from 'node:child_process';
import { createHash, randomInt } from 'node:crypto';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import { startClient } from '../support/clients.js';
import { serve } from '../support/server.js';
import { post } from '../support/witness.js';

/**
 * A client on another host, as far as the kernel is concerned: in a network namespace of its own, behind a pair of
 * virtual cards that lose packets. Its socket can't be asked for there, so `read` is unknown and `acked` has to be true.
 */
interface Link {
  /** Of the server, in the root namespace. */
  readonly address: string;
  /** Runs what follows in the client's namespace. */
  readonly enter: readonly string[];
  /** Packets that were lost so far. */
  dropped(): number;
}

function said(...command: string[]): { readonly ok: boolean; readonly text: string } {
  const [program = '', ...args] = command;
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return { ok: status === 0, text: `${stdout ?? ''}${stderr ?? ''}`.trim() };
}

/** In the order of wish: 5 % by chance; or a queue that is too short for the bursts of TCP, where there is no netem. */
const LOSSES = [
  ['netem', 'loss', '5%', 'limit', '10000'],
  ['tbf', 'rate', '200mbit', 'burst', '10kb', 'limit', '24kb'],
];

function lossyLink(ctx: TestContext): Link {
  if (process.platform !== 'linux') ctx.skip('network namespaces are of Linux');
  if (process.getuid?.() !== 0) ctx.skip('network namespaces need root');
  if (!said('ip', '-V').ok || !said('tc', '-V').ok) ctx.skip('ip and tc (iproute2) are not installed');
  // 198.18.0.0/15 is for benchmarks and nobody else (RFC 2544); a /30 of it at random.
  const name = `wf${process.pid.toString(36)}${randomInt(36 ** 3).toString(36)}`;
  const net = `198.18.${randomInt(256)}.${randomInt(64) * 4}`.split('.').map(Number);
  const address = (host: number): string => [...net.slice(0, 3), (net[3] ?? 0) + host].join('.');
  const [near, far] = [`${name}a`, `${name}b`];
  onTestFinished(() => {
    said('ip', 'link', 'del', near);
    said('ip', 'netns', 'del', name);
  });
  const enter = ['ip', 'netns', 'exec', name];
  for (const command of [
    `ip netns add ${name}`,
    `ip link add ${near} type veth peer name ${far}`,
    `ip link set ${far} netns ${name}`,
    `ip address add ${address(1)}/30 dev ${near}`,
    `ip link set ${near} up`,
    `ip netns exec ${name} ip address add ${address(2)}/30 dev ${far}`,
    `ip netns exec ${name} ip link set ${far} up`,
  ]) {
    const { ok, text } = said(...command.split(' '));
    if (!ok) ctx.skip(`${command}: ${text}`);
  }
  // One packet for each segment, so that chance has something to choose from.
  said('ip', 'link', 'set', near, 'gso_max_segs', '1');
  const loss = LOSSES.find((one) => said('tc', 'qdisc', 'add', 'dev', near, 'root', ...one).ok);
  if (!loss) ctx.skip('tc has no way to lose packets here');
  return {
    address: address(1),
    enter,
    dropped: () => Number(/dropped (\d+)/.exec(said('tc', '-s', 'qdisc', 'show', 'dev', near).text)?.[1] ?? Number.NaN),
  };
}

const BODY_BYTES = 3_000_000;
const ASK = post('/v1/chat/completions', {});

describe('a client behind a lossy link', () => {
  for (const evidence of ['koffi', 'procfs'] as const) {
    it(`gets what ${evidence} says was acknowledged, then a reset; what it read is unknown`, async (ctx) => {
      const link = lossyLink(ctx);
      const server = await serve({
        host: link.address,
        evidence,
        sequence: ['partial_disconnect'],
        repeatLast: true,
        partialText: 'x'.repeat(BODY_BYTES),
        chunkDelayMs: 0,
        disconnectDelayMs: 0,
        settleTimeoutMs: 15_000,
      });
      // A slow machine may fill no queue; what is claimed holds then too, but shows less.
      for (let n = 1; n <= 8 && link.dropped() === 0; n++) {
        const client = startClient({ port: server.port, host: link.address, request: ASK, reads: 'all' }, link.enter);
        const ended = await client.message(({ type }) => type === 'ended');
        const ledger = await server.ledger(n);
        if (ended.type !== 'ended') throw new Error('it has not ended');
        console.info(`${evidence}: ${ended.bytes} bytes, ${link.dropped()} packets lost on the way`);
        expect(ended.end).toBe('rst');
        expect(ledger).toMatchObject({
          outcome: 'reset',
          stale: false,
          lost: 0,
          settled: { level: 'acked', reached: true },
          teardown: { kind: 'rst', first: 'server' },
        });
        const length = ledger.bytes.written;
        expect(length).toBeGreaterThan(BODY_BYTES);
        expect(ledger.bytes).toEqual({ written: length, flushed: length, acked: length, read: null });
        expect(ended.bytes).toBe(length);
        expect(createHash('sha256').update(ended.text, 'latin1').digest('hex')).toBe(ledger.plan.writtenSha256);
      }
      expect(link.dropped()).toBeGreaterThan(0);
    });
  }

  it('that does not read has acknowledged no more than its kernel could take', async (ctx) => {
    const link = lossyLink(ctx);
    const server = await serve({
      host: link.address,
      sequence: ['partial_disconnect'],
      partialText: 'x'.repeat(10_000_000),
      chunkDelayMs: 0,
      disconnectDelayMs: 0,
      settleTimeoutMs: 300,
    });
    startClient({ port: server.port, host: link.address, request: ASK, reads: 'nothing' }, link.enter);
    const { bytes, settled, lost } = await server.ledger(1);
    expect(settled).toMatchObject({ reached: false, level: server.evidence === 'callbacks' ? 'flushed' : 'acked' });
    expect(bytes.read).toBeNull();
    expect(bytes.flushed).toBeLessThan(bytes.written);
    if (bytes.acked === null) return;
    expect(bytes.acked).toBeLessThanOrEqual(bytes.flushed);
    expect(lost).toBe(bytes.written - bytes.acked);
  });
});
