import type { FaultServerOptions } from '../src/fault-server.js';
import { type Child, withChildren } from './harness/children.js';
import type { Drained } from './harness/client-time.js';
import { startClient } from './harness/contest.js';
import { residentBytes } from './harness/descriptors.js';
import { type Server, startServer } from './harness/servers.js';
import {
  type BenchOptions,
  numeral,
  progress,
  type Report,
  ratioOf,
  type Spread,
  shown,
  spreadOf,
} from './harness/stats.js';

/**
 * One answer of a gigabyte: its last event, a comment of some megabytes, comes again and again (`pace.pulse`), so that the
 * plan is of that size and the answer is not. Beside it a bare server that writes the same chunk as often. And an answer
 * that is compiled as a whole.
 */
const WHOLE_BYTES = 67_108_864;

interface Size {
  readonly name: string;
  readonly blockBytes: number;
  readonly times: number;
}

function faultOf({ blockBytes, times }: Size): FaultServerOptions {
  return {
    sequence: [
      {
        answer: { kind: 'events', events: [{ commentBytes: blockBytes - FRAME_BYTES }] },
        ...(times > 1 ? { pace: { pulse: { everyMs: 0, times: times - 1 } } } : {}),
        framing: { kind: 'chunked' },
        // The last chunk would come before the pulses.
        cut: { at: 'events', teardown: 'fin' },
      },
    ],
    repeatLast: true,
  };
}

/** `: ` and the line ends of a comment. */
const FRAME_BYTES = 4;

interface Sample extends Drained {
  /** Above what it was before; the most that was seen. */
  readonly grownBytes: number;
}

const SAMPLE_MS = 20;

async function measure(server: Server, client: Child, leastBytes: number): Promise<Sample> {
  const before = residentBytes(server.pid);
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, residentBytes(server.pid));
  }, SAMPLE_MS);
  try {
    const drained = await client.ask<Drained>({ kind: 'drain', port: server.port, leastBytes });
    return { ...drained, grownBytes: most - before };
  } finally {
    clearInterval(timer);
  }
}

export async function large({ quick, rounds = 5 }: BenchOptions): Promise<Report> {
  const all = quick ? 1 : rounds;
  const sizes: readonly Size[] = quick
    ? [{ name: '32 MiB', blockBytes: 4_194_304, times: 8 }]
    : [
        { name: '1 GiB', blockBytes: 4_194_304, times: 256 },
        { name: '64 MiB, compiled whole', blockBytes: WHOLE_BYTES, times: 1 },
      ];
  const rows: { name: string; size: string; ms: Spread; toBare: Spread; grownMiB: Spread; bytes: number }[] = [];
  for (const size of sizes) {
    await withChildren(async (keep) => {
      const role = 'success';
      const { blockBytes, times } = size;
      const client = keep(startClient());
      const servers = new Map<string, Server>([
        ['wirefault', keep(await startServer({ kind: 'wirefault', role, deltas: 1, options: faultOf(size) }))],
        ['bare net', keep(await startServer({ kind: 'blocks', role, deltas: 1, blockBytes, times }))],
      ]);
      const samples = new Map<string, Sample[]>();
      // The first is a warm-up.
      for (let round = 0; round <= all; round++) {
        for (const [name, server] of servers) {
          const sample = await measure(server, client, blockBytes * times);
          if (round > 0) samples.set(name, [...(samples.get(name) ?? []), sample]);
        }
        progress(`large: ${size.name}, round ${round} of ${all}`);
      }
      const elapsed = (name: string): number[] => (samples.get(name) ?? []).map(({ elapsedMs }) => elapsedMs);
      for (const [name, list] of samples) {
        rows.push({
          name,
          size: size.name,
          ms: spreadOf(elapsed(name)),
          toBare: ratioOf(elapsed(name), elapsed('bare net')),
          grownMiB: spreadOf(list.map(({ grownBytes }) => grownBytes / 1_048_576)),
          bytes: list[0]?.bytes ?? 0,
        });
      }
    });
  }
  const [gigabyte] = rows;
  return {
    data: { rounds: all, rows },
    bars:
      quick || !gigabyte
        ? []
        : [
            {
              what: 'time of a 1 GiB answer ÷ bare net',
              measured: gigabyte.toBare,
              bar: { atMost: 1.3 },
              unit: '×',
              digits: 2,
            },
            {
              what: 'memory of the server above what it was, during a 1 GiB answer',
              measured: gigabyte.grownMiB,
              bar: { atMost: 32 },
              unit: 'MiB',
              digits: 1,
            },
          ],
    tables: [
      {
        title: `Large: one answer; median (min..max) of ${all} rounds`,
        columns: ['', 'ms', '÷ bare net', 'bytes', 'memory above before, MiB'],
        rows: rows.map((row) => [
          `${row.size}, ${row.name}`,
          shown(row.ms),
          shown(row.toBare, 2),
          numeral(row.bytes),
          shown(row.grownMiB, 1),
        ]),
        notes: [
          'The gigabyte is a comment of 4 MiB that comes 256 times: an answer is compiled in memory before it is played, so ' +
            'one without repetition has to fit in there.',
        ],
      },
    ],
  };
}
