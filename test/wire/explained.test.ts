import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { addExplainCommand } from '../../src/commands/explain.js';
import { BEHAVIORS, type Behavior } from '../../src/fault/catalogue.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import { isPlayed, requestBytesOf } from '../../src/fault/stage.js';
import { pulseBytes, type WirePlan, writtenUpTo } from '../../src/fault/wire-plan.js';
import type { Ledger } from '../../src/proof/ledger.js';
import { PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { runCommand } from '../support/command.js';
import { PATHS } from '../support/paths.js';
import { pooled, within } from '../support/pool.js';
import { serve } from '../support/server.js';
import { post, type WireEnd, type Witness, witness } from '../support/witness.js';

/**
 * The bytes that a client gets are those that `wirefault explain` prints: of every behavior, in every protocol, as a
 * stream and as a body, from a server of the same seed, up to the byte at which the plan stops.
 */
const SEED = 42;
/** Pauses are so much shorter; no byte depends on them. */
const TIME_SCALE = 100;
const AT_A_TIME = 8;
const PATIENCE_MS = 10_000;

/** Faults of the port, and those that act before there is a request, have no bytes that could be compared. */
const answersARequest = ({ fault }: Behavior): boolean => isPlayed(fault) && requestBytesOf(fault) === undefined;

/** What comes behind an answer on a connection that is used again: then nothing more of the answer can come. */
const NEXT: FaultSpec = { answer: { kind: 'http', status: 200, body: 'the next answer' } };

/** The clock stands still at the moment of explain, so that answers carry its time. */
const TIME = new Date('2026-01-01T00:00:00Z');
beforeAll(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: TIME });
});
afterAll(() => {
  vi.useRealTimers();
});

interface Told {
  readonly behavior: Behavior;
  readonly plan: WirePlan;
}

async function explained(behavior: Behavior, protocol: Protocol, stream: boolean): Promise<Told> {
  const flags = [
    '--protocol',
    protocol,
    '--format',
    'json',
    '--seed',
    String(SEED),
    ...(stream ? [] : ['--no-stream']),
  ];
  const { code, out, err } = await runCommand(addExplainCommand, ['explain', behavior.name, ...flags]);
  if (code !== 0) throw new Error(`${behavior.name}: ${err}`);
  const { base64, sha256: told, ...plan }: WirePlan & { base64: string; sha256: string } = JSON.parse(out);
  const bytes = Buffer.from(base64, 'base64');
  expect(sha256(bytes)).toBe(told);
  return { behavior, plan: { ...plan, bytes } };
}

interface Expected {
  /** The bytes of the plan. */
  readonly bytes: Buffer;
  /** What stands right behind them, at least. */
  readonly next: Buffer;
  /** How the connection ends by itself; `open`: it doesn't; `either`: it depends on what the client's or the server's kernel does first. */
  readonly end: 'fin' | 'rst' | 'either' | 'open';
  /** A reset may take some of the bytes with it. */
  readonly mayLose: boolean;
  /** Another request on the connection is answered, or ends it. */
  readonly isUsedAgain: boolean;
}

// A Node client that gets data and RST at once mostly sees an end.
const END_OF = { rst: 'rst', rst_now: 'either', fin: 'fin', half_close: 'fin', stall: 'open' } as const;

function expectedOf(plan: WirePlan): Expected {
  const { steps, closes, idle } = plan;
  const bytes = plan.bytes.subarray(0, writtenUpTo(plan));
  const last = steps.at(-1);
  if (last?.op !== 'teardown') throw new Error('a plan ends with a teardown');
  const nothing = Buffer.alloc(0);
  if (last.kind === 'keep_alive' || last.kind === 'eof') {
    const stray = Buffer.from(idle?.stray?.bytes ?? nothing);
    if (closes || idle?.teardown) {
      return { bytes, next: stray, end: 'fin', mayLose: false, isUsedAgain: idle?.onRequest !== undefined };
    }
    return { bytes, next: Buffer.from('HTTP/1.1 200 OK\r\n'), end: 'open', mayLose: false, isUsedAgain: true };
  }
  const pulse = steps.find((step) => step.op === 'pulse');
  const end = last.unread ? 'either' : END_OF[last.kind];
  const mayLose = last.kind === 'rst_now' || end === 'either';
  return { bytes, next: pulse ? pulseBytes(plan, pulse, 1) : nothing, end, mayLose, isUsedAgain: false };
}

/** Waits until nothing more of the answer can come. Returns how the connection ended by itself. */
async function listen(
  client: Witness,
  { bytes, next, end, isUsedAgain }: Expected,
  request: string,
): Promise<WireEnd | 'open'> {
  const all = bytes.length + next.length;
  if (isUsedAgain) {
    await client.until((received) => received.length >= bytes.length);
    client.send(request);
  }
  if (end !== 'open') return client.ended;
  await client.until((received) => received.length >= all);
  return 'open';
}

/** What is wrong with what the server sent, or `undefined`. */
async function wrongWith({ behavior, plan }: Told, protocol: Protocol, stream: boolean): Promise<string | undefined> {
  const server = await serve({ sequence: [behavior.name, NEXT], randomSeed: SEED, timeScale: TIME_SCALE });
  const client = witness(server.port);
  try {
    const request = post(PATHS[protocol], { stream });
    client.send(request);
    await server.event(({ type }) => type === 'request');
    const expected = expectedOf(plan);
    const end = await listen(client, expected, request);
    const { received } = client;
    client.close();
    if (expected.end !== 'either') expect(end).toBe(expected.end);
    compare(received, expected);
    compareLedger(await server.ledger(1), plan, expected);
    return undefined;
  } catch (thrown) {
    return `${behavior.name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  } finally {
    client.close();
    await server.close();
  }
}

function compare(received: Buffer, { bytes, next, end, mayLose }: Expected): void {
  const own = received.subarray(0, bytes.length);
  const planned = mayLose ? bytes.subarray(0, own.length) : bytes;
  // Compared as a whole first: a difference of two megabytes is slow to print.
  if (!own.equals(planned)) expect(own.toString('latin1')).toBe(planned.toString('latin1'));
  const rest = received.subarray(bytes.length);
  expect(rest.toString('latin1', 0, next.length)).toBe(next.toString('latin1'));
  if (end !== 'open' || next.length === 0) expect(rest).toHaveLength(next.length);
}

/** The server's own word: the same plan, the same cut, and not one byte more. */
function compareLedger({ plan, cut, bytes, unapplied }: Ledger, told: WirePlan, { bytes: planned }: Expected): void {
  expect(plan).toMatchObject({ bytes: told.bytes.length, sha256: sha256(told.bytes) });
  expect([cut?.position, cut?.offset, unapplied]).toEqual([told.cut?.position, told.cut?.offset, told.unapplied]);
  if (!told.steps.some(({ op }) => op === 'pulse')) expect(bytes.written).toBe(planned.length);
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

describe.each(PROTOCOLS)("the server's bytes are those of explain: %s", (protocol) => {
  for (const stream of [true, false]) {
    it(`every behavior, ${stream ? 'as a stream' : 'as a JSON body'}`, async () => {
      const told: Told[] = [];
      // One after the other: a command has the exit code of the process.
      for (const behavior of BEHAVIORS.filter(answersARequest)) told.push(await explained(behavior, protocol, stream));
      expect(told.length).toBeGreaterThan(100);
      const wrong = await pooled(told, AT_A_TIME, (one) =>
        within(PATIENCE_MS, wrongWith(one, protocol, stream), () => `${one.behavior.name}: not through`).catch(String),
      );
      expect(wrong.filter((one) => one !== undefined)).toEqual([]);
    }, 60_000);
  }
});

it('behaviors without bytes are those of the port, which explain refuses, and those that read no request', async () => {
  for (const behavior of BEHAVIORS.filter((one) => !answersARequest(one))) {
    if (isPlayed(behavior.fault)) {
      expect((await explained(behavior, 'openai-chat', true)).plan.bytes).toHaveLength(0);
    } else {
      const { code, err } = await runCommand(addExplainCommand, ['explain', behavior.name]);
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('is a fault of the port') });
    }
  }
});
