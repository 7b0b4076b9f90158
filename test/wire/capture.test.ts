import { spawn, spawnSync } from 'node:child_process';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import type { BehaviorName } from '../../src/index.js';
import { serve } from '../support/server.js';
import { post, type WireEnd, witnessed } from '../support/witness.js';

/**
 * What the kernel put on the wire, seen by tcpdump on the loopback interface: neither Node's nor our word for it.
 */
interface Segment {
  readonly from: number;
  readonly to: number;
  /** As tcpdump writes them: S, F, R, P, and `.` for ACK. */
  readonly flags: string;
  readonly length: number;
}

function segmentOf(line: string): Segment | undefined {
  const found = /^IP \S+\.(\d+) > \S+\.(\d+): Flags \[([^\]]*)\],.* length (\d+)/.exec(line);
  if (!found) return undefined;
  const [, from, to, flags = '', length] = found;
  return { from: Number(from), to: Number(to), flags, length: Number(length) };
}

const installed = spawnSync('tcpdump', ['--version']).status === 0;
/** Immediate mode and line buffers: each segment is told as it passes, in order. */
const TCPDUMP = ['-i', 'lo', '-nn', '-t', '-l', '--immediate-mode', 'tcp'];

/** Captures `port` until `act` is through. Skips the test, with tcpdump's reason, where it may not capture. */
async function captured(port: number, ctx: TestContext, act: () => Promise<unknown>): Promise<Segment[]> {
  const tcpdump = spawn('tcpdump', [...TCPDUMP, 'port', String(port)], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise<void>((resolve) => tcpdump.once('exit', () => resolve()));
  onTestFinished(async () => {
    tcpdump.kill('SIGKILL');
    await exited;
  });
  const said: string[] = [];
  const ready = await new Promise<boolean>((resolve) => {
    createInterface(tcpdump.stderr).on('line', (line) => {
      said.push(line);
      if (line.startsWith('listening on')) resolve(true);
    });
    tcpdump.once('close', () => resolve(false));
  });
  if (!ready) ctx.skip(`tcpdump can't capture here: ${said.join(' ')}`);

  const segments: Segment[] = [];
  let last = Number.NaN;
  const complete = new Promise<void>((resolve) => {
    createInterface(tcpdump.stdout).on('line', (line) => {
      const segment = segmentOf(line);
      if (!segment) return;
      segments.push(segment);
      if (segment.to === last && segment.flags.startsWith('S')) resolve();
    });
  });
  await act();
  // The capture is in order: when a later connection shows in it, all that was before is there.
  const marker = net.connect(port, '127.0.0.1');
  await new Promise((resolve) => marker.once('connect', resolve));
  last = marker.localPort ?? Number.NaN;
  if (!segments.some(({ to, flags }) => to === last && flags.startsWith('S'))) await complete;
  marker.destroy();
  tcpdump.kill('SIGINT');
  await exited;
  return segments.filter(({ from, to }) => from !== last && to !== last);
}

/** The segments that the server sent in one exchange, and how the client saw it end. */
async function serverSegments(behavior: BehaviorName, ctx: TestContext): Promise<{ sent: Segment[]; end: WireEnd }> {
  const server = await serve({ sequence: [behavior], chunkDelayMs: 1, disconnectDelayMs: 5 });
  let end: WireEnd = 'closed_by_witness';
  const segments = await captured(server.port, ctx, async () => {
    ({ end } = await witnessed(server.port, post('/v1/chat/completions', { stream: true }, { Connection: 'close' })));
    await server.results(1);
  });
  return { sent: segments.filter(({ from }) => from === server.port), end };
}

describe.skipIf(!installed)(`on the wire${installed ? '' : ' (skipped: tcpdump is not installed)'}`, () => {
  for (const [behavior, hasData] of [
    ['connection_reset', false],
    ['stream_disconnect', true],
    ['partial_disconnect', true],
  ] as const) {
    it(`${behavior}: the server's last segment is a RST, and it sent no FIN`, async (ctx) => {
      const { sent, end } = await serverSegments(behavior, ctx);
      expect(end).toBe('rst');
      expect(sent[0]?.flags).toBe('S.');
      expect(sent.at(-1)?.flags).toContain('R');
      expect(sent.filter(({ flags }) => flags.includes('R'))).toHaveLength(1);
      expect(sent.filter(({ flags }) => flags.includes('F'))).toEqual([]);
      expect(sent.some(({ length }) => length > 0)).toBe(hasData);
    });
  }

  it('success with Connection: close: a FIN and no RST', async (ctx) => {
    const { sent, end } = await serverSegments('success', ctx);
    expect(end).toBe('fin');
    expect(sent.filter(({ flags }) => flags.includes('F'))).toHaveLength(1);
    expect(sent.filter(({ flags }) => flags.includes('R'))).toEqual([]);
    expect(sent.some(({ length }) => length > 0)).toBe(true);
  });
});
