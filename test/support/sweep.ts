import type { Position } from '../../src/fault/position.js';
import type { CutTeardown, FaultSpec } from '../../src/fault/spec.js';
import { type FaultServer, startFaultServer } from '../../src/index.js';
import type { Ledger } from '../../src/proof/ledger.js';
import type { Protocol } from '../../src/sse/dialect.js';
import { readAnswer } from './http.js';
import { PATHS } from './paths.js';
import { planner } from './plans.js';
import { pooled, within } from './pool.js';
import { post, type WireEnd, type Witness, witness } from './witness.js';

/**
 * Cuts at real sockets, many at a time. Each exchange has a lane of its own, so its whole answer is known to the byte, and
 * what the client has got must be the beginning of it.
 */
export interface SweepAnswer {
  readonly protocol: Protocol;
  readonly stream: boolean;
  /** What is cut. */
  readonly fault: FaultSpec;
}

export interface SweepCut {
  readonly teardown: CutTeardown;
  readonly position: Position;
  /** The byte of the whole answer at which the position is. */
  readonly offset: number;
}

const OPTIONS = {
  successText: 'ż👧"',
  toolArguments: '{"ż":1}',
  fidelity: 'plain',
  randomSeed: 7,
  disconnectDelayMs: 0,
} as const;
/** Exchanges under way. */
const AT_A_TIME = 64;
/** An exchange takes milliseconds; on a machine that does much else, more. */
const PATIENCE_MS = 30_000;

/** Answers hold the second in which they were made. */
let second = 0;
const plans = planner(OPTIONS, () => new Date(second * 1000));

/** The whole answer, as nobody cuts it. */
export function wholeAnswer({ protocol, stream, fault }: SweepAnswer, lane = 'default') {
  return plans(fault, protocol, { body: { stream }, lane });
}

/** A cut on its way. */
interface Running {
  readonly answer: SweepAnswer;
  readonly cut: SweepCut;
  readonly lane: string;
}

/** What the client saw. */
interface Seen {
  readonly received: Buffer;
  readonly end: WireEnd;
  readonly fromMs: number;
}

/** What is wrong with the cuts of an answer, one line each. */
export async function sweep(answer: SweepAnswer, cuts: readonly SweepCut[]): Promise<string[]> {
  const server = await startFaultServer({
    ...OPTIONS,
    laneBy: 'header:x-lane',
    maxLanes: cuts.length + 1,
    ledgerHistory: cuts.length + 1,
    settleTimeoutMs: PATIENCE_MS,
  });
  try {
    const running = cuts.map((cut, n): Running => ({ answer, cut, lane: `${n}` }));
    const wrong = await pooled(running, AT_A_TIME, async (one) => {
      const found = await within(PATIENCE_MS, exchange(server, one), () => 'not through').catch(String);
      return found === undefined ? [] : [`${told(one)}: ${found}`];
    });
    await within(PATIENCE_MS, server.idle(), () => 'not idle');
    const ledgers = new Map(server.ledgers.map((ledger) => [ledger.lane, ledger]));
    return [...wrong.flat(), ...running.flatMap((one) => wrongInLedger(one, ledgers.get(one.lane)))];
  } finally {
    await server.close();
  }
}

function told({ answer, cut: { teardown, position } }: Running): string {
  return `${answer.protocol} ${answer.stream ? 'stream' : 'JSON'} ${teardown}@${position}`;
}

function requestOf({ answer, cut: { position, teardown }, lane }: Running): string {
  const fault: FaultSpec = { ...answer.fault, cut: { at: position, teardown } };
  const headers = { 'x-lane': lane, 'x-wirefault': JSON.stringify(fault) };
  return post(PATHS[answer.protocol], { stream: answer.stream, model: 'mock-model' }, headers);
}

async function exchange(server: FaultServer, one: Running): Promise<string | undefined> {
  const client = witness(server.port);
  const fromMs = Date.now();
  try {
    client.send(requestOf(one));
    const end = await endOf(client, one.cut);
    return wrongWith(server, one, { received: client.received, end, fromMs });
  } finally {
    client.close();
  }
}

/** How the connection ended; where it stays open, the client ends it, which the server answers by a FIN. */
async function endOf(client: Witness, { teardown, offset }: SweepCut): Promise<WireEnd> {
  if (teardown === 'stall') await client.until(({ length }) => length >= offset);
  if (teardown === 'eof') await client.until((received) => readAnswer(received)?.complete ?? false);
  if (teardown !== 'stall' && teardown !== 'eof') return client.ended;
  // Until now, nobody has ended it; and nothing comes any more.
  client.halfClose();
  return client.ended;
}

function wrongWith(
  server: FaultServer,
  { answer, cut, lane }: Running,
  { received, end, fromMs }: Seen,
): string | undefined {
  const { teardown, offset } = cut;
  // A Node client that gets data and RST at once mostly sees an end.
  const ends: readonly WireEnd[] = teardown === 'rst' ? ['rst'] : teardown === 'rst_now' ? ['rst', 'fin'] : ['fin'];
  if (!ends.includes(end)) return `ended by ${end}`;
  // Only evidence that the client has read keeps a reset from taking bytes with it.
  const mayLose = teardown === 'rst_now' || (teardown === 'rst' && server.evidence === 'callbacks');
  const length = mayLose ? Math.min(received.length, offset) : offset;
  const until = Math.floor(Date.now() / 1000);
  for (second = Math.floor(fromMs / 1000); second <= until; second++) {
    const planned = wholeAnswer(answer, lane).bytes.subarray(0, length);
    if (teardown === 'eof' ? isEndedCopy(received, planned) : received.equals(planned)) return undefined;
  }
  return `${received.length} bytes, which are not the first ${length}: ${JSON.stringify(received.toString('latin1', received.length - 80))}`;
}

/** Whether an answer has a correct end, and the body that the beginning of another has. */
function isEndedCopy(received: Buffer, beginning: Buffer): boolean {
  const own = readAnswer(received);
  const other = readAnswer(beginning);
  return (
    own !== undefined && other !== undefined && own.complete && own.rest.length === 0 && own.body.equals(other.body)
  );
}

const OUTCOMES: Readonly<Record<CutTeardown, string>> = {
  rst: 'reset',
  rst_now: 'reset',
  fin: 'closed',
  half_close: 'closed',
  stall: 'stalled',
  eof: 'completed',
};

function wrongInLedger(one: Running, ledger: Ledger | undefined): string[] {
  const { teardown, position, offset } = one.cut;
  if (!ledger) return [`${told(one)}: no ledger`];
  const { cut, bytes, outcome } = ledger;
  // The byte at which an ended body is cut is that of its own framing.
  const at = teardown === 'eof' ? cut?.offset : offset;
  const says = [cut?.position, cut?.offset, bytes.written, ledger.teardown.kind, outcome];
  const should = [position, at, at, teardown, OUTCOMES[teardown]];
  return JSON.stringify(says) === JSON.stringify(should)
    ? []
    : [`${told(one)}: the ledger says ${says}, not ${should}`];
}
