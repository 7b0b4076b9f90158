import { createHash } from 'node:crypto';
import { answersOf } from '../answers.js';
import { WirefaultError } from '../errors.js';
import { DEFAULT_LANE } from '../fault/lanes.js';
import { onlyAttempt } from '../fault/script.js';
import type { CutTeardown } from '../fault/spec.js';
import { type WirePlan, writtenUpTo } from '../fault/wire-plan.js';
import { resolveOptions } from '../resolve-options.js';
import { namedOf } from '../resolve-script.js';
import { isObject } from '../sse/dialect.js';
import { VERSION } from '../version.js';
import { versionOfClient, whyNotHere } from './available.js';
import type { TrialClient } from './client.js';
import type { Judgement } from './evidence.js';
import { isDriver } from './presets/sdk.js';
import { type Cut, cutsOf, labelOf, terminalOf } from './sweep-answer.js';
import { driverClient, processClient } from './sweep-client.js';
import { judgeCut, type PlannedCut } from './sweep-judge.js';
import { type JudgedCut, teardownOf } from './sweep-ranges.js';
import { SWEEP_VERSION, type Sweep, type SweepPositions } from './sweep-results.js';
import { contentOf, type Healthy, openSlot, type Slot, type SlotOptions } from './sweep-slot.js';

/** One answer cut at every offset, for one client: which cuts it takes for the end. */
export interface SweepOptions {
  readonly client: TrialClient;
  readonly teardowns: readonly CutTeardown[];
  readonly positions: SweepPositions;
  /** Cuts at a time; each has a server and a client of its own. */
  readonly jobs: number;
  /** Of a driver's SDK; `null`: its own default. */
  readonly retries: number | null;
  /** Limit of one cut. */
  readonly timeoutMs: number;
  readonly seed: number;
  readonly prompt: string;
  readonly paragraphs: number;
  onProgress?(progress: SweepProgress): void;
}

export interface SweepProgress {
  readonly done: number;
  readonly total: number;
  /** `undefined` at the start. */
  readonly etaMs: number | undefined;
}

/** A sweep with the answer that was cut. */
export interface Swept {
  readonly sweep: Sweep;
  readonly plan: WirePlan;
}

/** @throws WirefaultError `plan_impossible` where the client is not here, or fails without a fault */
export async function runSweep(options: SweepOptions): Promise<Swept> {
  const { client, jobs, teardowns, positions } = options;
  const because = await whyNotHere(client);
  if (because !== undefined) throw impossible(`${client.name} can't be swept: ${because}`);
  const clientVersion = await versionOfClient(client);
  const content = contentOf(client.protocol, options.seed, options.paragraphs);
  const slots: Slot[] = [];
  const open = async (): Promise<Slot> => {
    const slot = await openSlot({ ...options, content }, await clientOf(options));
    slots.push(slot);
    return slot;
  };
  try {
    const first = await open();
    const { evidence: usual, ...healthy } = await first.healthy();
    const plans = plansFor(client, content, healthy);
    const cuts = teardowns.flatMap((teardown) => cutsOf(plans.whole, positions, teardown));
    const others = Array.from({ length: Math.min(jobs, cuts.length) - 1 }, async () => {
      const slot = await open();
      // Before the clock starts, as the first one was.
      if (isDriver(client)) await slot.healthy();
      return slot;
    });
    const all = [first, ...(await Promise.all(others))];
    const date = new Date().toISOString();
    const startMs = performance.now();
    const judged = new Map(teardowns.map((teardown) => [teardown, [] as JudgedCut[]]));
    await playAll(cuts, all, options, async (cut, slot) => {
      const run = await slot.cut(wordOf(cut));
      judged.get(cut.teardown)?.push({ offset: cut.offset, ...judgedAs({ run, usual, planned: plans.of(cut) }) });
    });
    const durationMs = Math.round(performance.now() - startMs);
    const sweep: Sweep = {
      ...stampsOf(options, clientVersion),
      date,
      durationMs,
      cutsPerMinute: Math.round((cuts.length * 60_000) / Math.max(durationMs, 1)),
      answer: answerOf(plans.whole),
      teardowns: [...judged].map(([teardown, of]) => teardownOf(plans.whole, teardown, of)),
    };
    return { sweep, plan: plans.whole };
  } finally {
    await Promise.all(slots.map((slot) => slot.close()));
  }
}

function judgedAs(trial: Parameters<typeof judgeCut>[0]): Judgement {
  const { verdict, because } = judgeCut(trial);
  return { verdict, because };
}

function impossible(message: string): WirefaultError {
  return new WirefaultError('plan_impossible', message);
}

function clientOf({ client, retries }: SweepOptions) {
  return isDriver(client) ? driverClient(client, retries ?? undefined) : processClient(client);
}

function wordOf({ teardown, position }: Cut): string {
  return `${teardown}@${position}`;
}

/** Each slot takes the next cut that nobody has. */
async function playAll(
  cuts: readonly Cut[],
  slots: readonly Slot[],
  { onProgress }: SweepOptions,
  play: (cut: Cut, slot: Slot) => Promise<void>,
): Promise<void> {
  const startMs = performance.now();
  let done = 0;
  onProgress?.({ done, total: cuts.length, etaMs: undefined });
  const next = cuts[Symbol.iterator]();
  const work = async (slot: Slot): Promise<void> => {
    for (const cut of next) {
      await play(cut, slot);
      done++;
      const etaMs = ((performance.now() - startMs) / done) * (cuts.length - done);
      onProgress?.({ done, total: cuts.length, etaMs });
    }
  };
  await Promise.all(slots.map(work));
}

interface Plans {
  readonly whole: WirePlan;
  of(cut: Cut): PlannedCut;
}

/** Seconds between the moment at which a request came and that at which its answer was made. */
const SECONDS_LATER = [0, 1, 2];

/**
 * The answer that this client gets, computed as the server does it and held against what the server has sent.
 * @throws WirefaultError `plan_impossible` where they differ, or where there is no terminal to wait for
 */
function plansFor(
  client: TrialClient,
  content: SlotOptions['content'],
  { ledger, request }: Omit<Healthy, 'evidence'>,
): Plans {
  const options = resolveOptions(content, (name) => name);
  const { headers, body } = request;
  const httpVersion = ledger.request?.httpVersion === '1.0' ? '1.0' : '1.1';
  const connection = headers.connection?.toLowerCase() ?? '';
  const keepAlive = httpVersion === '1.1' ? !connection.includes('close') : connection.includes('keep-alive');
  const planAt = (word: string, now: Date): WirePlan => {
    const named = namedOf(word, 'sweep', options.catalogue);
    if (!named) throw impossible(`${word} has no plan`);
    const selection = { ...onlyAttempt(named, DEFAULT_LANE), attempt: ledger.attempt };
    const asked = { headers, keepAlive, httpVersion } as const;
    return answersOf(options, () => now).plan(selection, client.protocol, isObject(body) ? body : {}, asked);
  };
  const requestMs = Date.parse(ledger.times.requestAt);
  const whole = SECONDS_LATER.map((second) => planAt('success', new Date(requestMs + second * 1000))).find(
    ({ bytes }) => sha256(bytes) === ledger.plan.sha256,
  );
  if (!whole)
    throw impossible(`the answer to ${client.name} can't be computed: its request is ${JSON.stringify(body)}`);
  if (!terminalOf(whole)) throw impossible(`${client.name} doesn't ask for a stream: its answer has no terminal`);
  const planBytes = whole.bytes.length;
  return {
    whole,
    of: ({ teardown, position, offset }) => {
      if (teardown !== 'eof') return { position, offset, planBytes, writtenBytes: offset };
      // A body that ends correctly has framing of its own.
      const plan = planAt(`eof@${position}`, new Date(requestMs));
      return {
        position,
        offset: plan.cut?.offset ?? 0,
        planBytes: plan.bytes.length,
        writtenBytes: writtenUpTo(plan),
      };
    },
  };
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function stampsOf({ client, ...options }: SweepOptions, clientVersion: string | null) {
  const { positions, seed, paragraphs, retries, timeoutMs, jobs } = options;
  const driver = isDriver(client);
  return {
    version: SWEEP_VERSION,
    kind: 'sweep',
    client: client.name,
    clientVersion,
    protocol: client.protocol,
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
    wirefault: VERSION,
    way: driver ? 'driver' : 'process',
    positions,
    seed,
    paragraphs,
    retries: driver ? retries : null,
    timeoutMs,
    jobs,
  } as const;
}

function answerOf(plan: WirePlan): Sweep['answer'] {
  const { start, end } = terminalOf(plan) ?? { start: 0, end: 0 };
  const marks = plan.marks.map((mark) => ({
    label: labelOf(mark),
    kind: mark.kind,
    name: mark.name ?? null,
    role: mark.role ?? null,
    start: mark.start,
    end: mark.end,
  }));
  return { bytes: plan.bytes.length, sha256: sha256(plan.bytes), terminal: { start, end }, marks };
}
