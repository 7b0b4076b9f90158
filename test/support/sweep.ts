import type { Position } from '../../src/fault/position.js';
import type { CutTeardown, FaultSpec } from '../../src/fault/spec.js';
import { type FaultServer, startFaultServer } from '../../src/index.js';
import type { Ledger } from '../../src/proof/ledger.js';
import { witness as record } from '../../src/proof/witness.js';
import type { Protocol } from '../../src/sse/dialect.js';
import { readAnswer } from './http.js';
import { PATHS } from './paths.js';
import { planner } from './plans.js';
import { pooled, within } from './pool.js';
import { post, witness } from './witness.js';

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
  /** `fin`, `rst`, or what else it may be. */
  readonly end: string;
  readonly fromMs: number;
}

/** What is wrong with the cuts of an answer, one line each. */
export async function sweep(answer: SweepAnswer, cuts: readonly SweepCut[]): Promise<string[]> {
  const server = await startFaultServer({
    ...OPTIONS,
    laneBy: 'header:x-lane',
    // Thousands of exchanges: nothing is kept of them but their ledgers.
    control: false,
    requestHistory: 1,
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
  const fromMs = Date.now();
  const { teardown } = one.cut;
  const isOpen = teardown === 'stall' || teardown === 'eof';
  return wrongWith(server, one, { ...(await (isOpen ? left(server, one) : ended(server, one))), fromMs });
}

/** What comes until the server ends the connection. The product's own witness tells a RST from a FIN right behind data. */
async function ended({ port }: FaultServer, one: Running): Promise<Omit<Seen, 'fromMs'>> {
  const request = Buffer.from(requestOf(one));
  const { segments, end } = await record({ host: '127.0.0.1', port, url: '', request });
  return { received: Buffer.concat(segments.map(({ bytes }) => bytes)), end };
}

/** What comes until the client, which has all of it, shuts its side; the server answers that by a FIN. */
async function left({ port }: FaultServer, one: Running): Promise<Omit<Seen, 'fromMs'>> {
  const client = witness(port);
  const { teardown, offset } = one.cut;
  try {
    client.send(requestOf(one));
    await client.until((received) =>
      teardown === 'stall' ? received.length >= offset : (readAnswer(received)?.complete ?? false),
    );
    client.halfClose();
    return { end: await client.ended, received: client.received };
  } finally {
    client.close();
  }
}

const ENDS: Readonly<Record<CutTeardown, string>> = {
  rst: 'rst',
  rst_now: 'rst',
  fin: 'fin',
  half_close: 'fin',
  stall: 'fin',
  eof: 'fin',
};

function wrongWith(server: FaultServer, running: Running, { received, end, fromMs }: Seen): string | undefined {
  const { answer, cut, lane } = running;
  const { teardown, offset } = cut;
  if (end !== ENDS[teardown]) return `ended by ${end}`;
  // Only evidence that the client has read keeps a reset from taking bytes with it.
  const mayLose = teardown === 'rst_now' || (teardown === 'rst' && server.evidence === 'callbacks');
  const length = mayLose ? Math.min(received.length, offset) : offset;
  const until = Math.floor(Date.now() / 1000);
  for (second = Math.floor(fromMs / 1000); second <= until; second++) {
    const planned = wholeAnswer(answer, lane).bytes.subarray(0, length);
    if (teardown === 'eof' ? isEndedCopy(received, planned) : received.equals(planned)) return undefined;
  }
  const tail = JSON.stringify(received.toString('latin1', Math.max(0, received.length - 80)));
  return `${received.length} bytes, which are not the first ${length}: ${tail}`;
}

/** Whether an answer has a correct end, and the body that the beginning of another has. */
function isEndedCopy(received: Buffer, beginning: Buffer): boolean {
  const own = readAnswer(received);
  const other = readAnswer(beginning);
  if (!own || !other) return false;
  return own.complete && own.rest.length === 0 && own.body.equals(other.body);
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
