import net from 'node:net';
import { type Child, pathOf, startChild, withChildren } from './harness/children.js';
import { otherProxies } from './harness/proxies.js';
import { BIG_BYTES, type ChainSpec, EVENTS, type Load, TIMED_EVENTS } from './harness/proxy-process.js';
import type { Usage } from './harness/report.js';
import {
  type BenchOptions,
  numeral,
  percentile,
  progress,
  type Report,
  type Spread,
  shown,
  spreadOf,
} from './harness/stats.js';

/**
 * What the proxy costs beside a bare pipe between two sockets, and beside proxies by others: the same upstream, the
 * same client, one process in between. 100 MiB in one body, 10,000 small events as fast as they can be written, and the
 * latency that is added to events that come one by one. In each round all take turns, each round from another of them
 * on, so that what else the machine does hits them alike; ratios to the pipe are taken within a round.
 */
const ROUNDS = 7;

const LINES: Readonly<Record<string, ChainSpec>> = {
  'bare pipe': { part: 'pipe' },
  wirefault: { part: 'wirefault' },
  'wirefault, no ledgers': { part: 'wirefault', ledgers: false },
};

interface Sample {
  readonly elapsedMs: number;
  /** Of the process in between. */
  readonly cpuMs: number;
  /** Of each event, from its write to its read; empty where they have no time. */
  readonly latenciesMs: readonly number[];
}

interface Line {
  readonly child: Child;
  readonly port: number;
}

async function start(spec: ChainSpec, keep: <C extends Child>(child: C) => C): Promise<Line> {
  const child = keep(startChild(pathOf('proxy-process.ts'), []));
  const { port } = await child.ask<{ port: number }>(spec);
  return { child, port };
}

async function measure({ child, port }: Line, load: Load): Promise<Sample> {
  const before = await child.ask<Usage>('usage');
  const startMs = performance.now();
  const latenciesMs = await answer(port, load);
  const elapsedMs = performance.now() - startMs;
  const after = await child.ask<Usage>('usage');
  return { elapsedMs, cpuMs: (after.cpuMicros - before.cpuMicros) / 1000, latenciesMs };
}

/** Reads one answer to its end. */
function answer(port: number, load: Load): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({ stream: true, load });
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    const latencies: number[] = [];
    let received = 0;
    socket.on('data', (bytes) => {
      received += bytes.length;
      if (load === 'timed') {
        const now = process.hrtime.bigint();
        for (const [, at = ''] of bytes.toString('latin1').matchAll(/at=(\d+);/g))
          latencies.push(Number(now - BigInt(at)) / 1e6);
      }
      const whole = load === 'big' ? received > BIG_BYTES : bytes.subarray(-5).equals(LAST);
      if (!whole) return;
      socket.destroy();
      resolve(latencies);
    });
    socket.on('error', reject);
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  });
}

const LAST = Buffer.from('0\r\n\r\n');

const LOADS: Readonly<Record<Load, string>> = {
  big: `${numeral(BIG_BYTES / 1_048_576)} MiB in one body`,
  events: `${numeral(EVENTS)} events, one write each`,
  timed: `${numeral(TIMED_EVENTS)} events, 1 ms apart`,
};

/** Each of `all` once, beginning with another one in each round. */
function inTurns<T>(all: readonly T[], round: number): T[] {
  const first = round % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

export async function proxy({ quick }: BenchOptions): Promise<Report> {
  const rounds = quick ? 1 : ROUNDS;
  const samples = new Map<string, Sample[]>();
  const names = Object.keys(LINES);
  const others = await otherProxies(!quick);
  for (const why of others.missing) progress(`left out: ${why}`);
  await withChildren(async (keep) => {
    const upstream = await start({ part: 'upstream' }, keep);
    const lines: [string, Line][] = [];
    for (const [name, spec] of Object.entries(LINES))
      lines.push([name, await start({ ...spec, to: upstream.port }, keep)]);
    for (const other of others.proxies) {
      const line = await other.start(upstream.port);
      keep(line.child);
      lines.push([other.name, line]);
      names.push(other.name);
    }
    for (const load of Object.keys(LOADS) as Load[]) {
      // The first is a warm-up.
      for (let round = 0; round <= rounds; round++) {
        for (const [name, line] of inTurns(lines, round)) {
          const sample = await measure(line, load);
          if (round > 0) samples.set(`${load} ${name}`, [...(samples.get(`${load} ${name}`) ?? []), sample]);
        }
      }
      progress(LOADS[load]);
    }
  });
  const of = (load: Load, name: string): readonly Sample[] => samples.get(`${load} ${name}`) ?? [];
  const spread = (load: Load, name: string, key: 'elapsedMs' | 'cpuMs'): string =>
    told(spreadOf(of(load, name).map((sample) => sample[key])));
  const ratio = (load: Load, name: string, key: 'elapsedMs' | 'cpuMs'): string => {
    const pipe = of(load, 'bare pipe');
    return told(spreadOf(of(load, name).map((sample, round) => sample[key] / (pipe[round]?.[key] ?? Number.NaN))), 2);
  };
  const throughput = (['big', 'events'] as const).map((load) => ({
    title: `Proxy: ${LOADS[load]}`,
    columns: ['', 'ms', 'of the pipe', 'CPU ms', 'of the pipe'],
    rows: names.map((name) => [
      name,
      spread(load, name, 'elapsedMs'),
      ratio(load, name, 'elapsedMs'),
      spread(load, name, 'cpuMs'),
      ratio(load, name, 'cpuMs'),
    ]),
  }));
  /** Of each round. */
  const latencies = (name: string, share: number): number[] =>
    of('timed', name).map(({ latenciesMs }) => percentile(latenciesMs, share));
  const bare = latencies('bare pipe', 0.5);
  const added = (name: string): number[] =>
    latencies(name, 0.5).map((median, round) => median - (bare[round] ?? Number.NaN));
  return {
    tables: [
      ...throughput,
      {
        title: `Proxy: ${LOADS.timed}: from the upstream's write to the client's read`,
        columns: ['', 'median ms', 'p99 ms', 'added, median ms'],
        rows: names.map((name) => [
          name,
          told(spreadOf(latencies(name, 0.5)), 3),
          told(spreadOf(latencies(name, 0.99)), 3),
          told(spreadOf(added(name)), 3),
        ]),
        notes: [
          'Times are of all processes on one machine; CPU is that of the process in between alone.',
          ...others.proxies.map(({ name, version }) => `${name} is ${version}.`),
          ...others.missing.map((why) => `Left out: ${why}.`),
        ],
      },
    ],
    data: Object.fromEntries(samples),
  };
}

/** What can't be measured here is a dash. */
function told(spread: Spread, digits = 0): string {
  return Number.isNaN(spread.median) ? '–' : shown(spread, digits);
}
