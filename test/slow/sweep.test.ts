import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headEnd } from '../../src/fault/body-bytes.js';
import { CUT_TEARDOWNS, type FaultSpec } from '../../src/fault/spec.js';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { readAnswer } from '../support/http.js';
import { type SweepAnswer, type SweepCut, wholeAnswer } from '../support/sweep.js';
import type { SweepTask } from '../support/sweep-process.js';

/**
 * Every byte of whole small answers is cut by each teardown at real sockets: the client has exactly what stands before it,
 * and the connection ends as it was said.
 */

/** Cores are two at least; each has its own server and clients. */
const PROCESSES = 2;
const processes: ChildProcess[] = [];

beforeAll(() => {
  const path = fileURLToPath(new URL('../support/sweep-process.ts', import.meta.url));
  for (let n = 0; n < PROCESSES; n++) processes.push(fork(path, { execArgv: ['--import', 'tsx'] }));
});
afterAll(() => {
  for (const child of processes) child.kill();
});

async function sweepIn(child: ChildProcess, task: SweepTask): Promise<string[]> {
  child.send(task);
  const [wrong]: string[][] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => [[`a process of the sweep ended with ${code}`]]),
  ]);
  return wrong ?? ['no result'];
}

/** Responses repeats its object of 1 kB, and the text, in event after event: here it is short, and only begins and ends. */
const SHORT: FaultSpec = {
  events: [
    { op: 'omit', where: { name: 'response.in_progress' } },
    { op: 'omit', where: { role: 'done' } },
    { op: 'patch', where: {}, path: 'response', value: { id: 'resp_1', object: 'response', output: [] } },
  ],
};

function answerOf(protocol: Protocol, stream: boolean): SweepAnswer {
  return { protocol, stream, fault: protocol === 'openai-responses' && stream ? SHORT : {} };
}

/** Each byte of the wire for each teardown that cuts the wire, each byte of the body for the one that ends the body. */
function cutsOf(answer: SweepAnswer): SweepCut[] {
  const { bytes, marks } = wholeAnswer(answer);
  const count = (length: number): number[] => Array.from({ length: length + 1 }, (_, n) => n);
  const wire = CUT_TEARDOWNS.filter((teardown) => teardown !== 'eof').flatMap((teardown) =>
    count(bytes.length).map((n): SweepCut => ({ teardown, position: `byte:${n}`, offset: n })),
  );
  const offsets = bodyOffsets(bytes, headEnd(marks));
  return [...wire, ...offsets.map((offset, n): SweepCut => ({ teardown: 'eof', position: `body:${n}`, offset }))];
}

/** The byte of the wire behind each byte of the body, found by a reader that knows no marks. */
function bodyOffsets(bytes: Buffer, head: number): number[] {
  const offsets: number[] = [];
  for (let offset = head; offset <= bytes.length; offset++) {
    const length = readAnswer(bytes.subarray(0, offset))?.body.length ?? 0;
    if (length === offsets.length) offsets.push(offset);
  }
  return offsets;
}

describe.each(PROTOCOLS)('%s', (protocol) => {
  for (const stream of [true, false]) {
    it(`every byte of ${stream ? 'a stream' : 'a JSON body'}, by each teardown`, async () => {
      const answer = answerOf(protocol, stream);
      const cuts = cutsOf(answer);
      const startMs = performance.now();
      const shares = processes.map((child, n) =>
        sweepIn(child, { answer, cuts: cuts.filter((_, at) => at % PROCESSES === n) }),
      );
      const wrong = (await Promise.all(shares)).flat();
      const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
      console.info(`${protocol}, ${stream ? 'stream' : 'JSON'}: ${cuts.length} cuts in ${seconds} s`);
      expect(wrong.slice(0, 10)).toEqual([]);
    });
  }
});
