import { LRUCache } from 'lru-cache';
import { messageOf, unknownWord } from '../errors.js';
import type { FaultSpec } from '../fault/spec.js';
import type { WirePlan } from '../fault/wire-plan.js';
import type { Request, RequestHead } from '../http/request.js';
import type { JsonObject, Protocol } from '../sse/dialect.js';
import { asksForStream, fingerprintOf } from './fingerprint.js';
import type { Tape } from './tape.js';
import { type ReadTape, readTape, type TapePlanInput, tapePlan } from './tape-plan.js';
import type { ReplayTiming } from './timing.js';

/**
 * Which tape answers a request: one of the same fingerprint, else the next of its dialect; in both cases the first that
 * its lane hasn't been told yet, and when it has been told all of them, the last once more.
 */
export interface Replay {
  readonly tapes: readonly Tape[];
  /** Why a request of this protocol gets nothing; `undefined`: there is something. */
  lacks(protocol: Protocol): string | undefined;
  /** @throws WirefaultError `plan_impossible` where the answer doesn't have what the fault is about */
  plan(asked: AskedTape, input: FaultInput): WirePlan;
  /** The answer to a request beside those for answers, where that very request was recorded. */
  beside(request: Request, input: FaultInput): WirePlan | undefined;
  /** Why a fault can't be played on any of the answers; `undefined` where it can. */
  unreachable(fault: FaultSpec, input: Omit<FaultInput, 'fault'>): string | undefined;
}

/** What is done to an answer. */
export type FaultInput = Pick<TapePlanInput, 'fault' | 'content' | 'material'>;

export interface AskedTape {
  readonly head: RequestHead;
  readonly protocol: Protocol;
  /** `undefined`: it wasn't read. */
  readonly request: Request | undefined;
  readonly body: JsonObject;
  /** Lanes never disturb each other. */
  readonly lane: string;
  /** How often the scripts were started: each time begins with the first tape. */
  readonly generation: number;
}

type HeadFacts = Pick<RequestHead, 'keepAlive' | 'httpVersion'>;
const PLAIN_HEAD: HeadFacts = { keepAlive: true, httpVersion: '1.1' };

/** Tapes that are tried at the start for whether they have a position; more would hold it up. */
const MAX_TRIED = 50;

/** How a tape was found. */
export type MatchedBy = 'fingerprint' | 'order';

export interface ReplayOptions {
  readonly maxLanes: number;
  readonly replayTiming: ReplayTiming;
}

export function replayOf(tapes: readonly Tape[], { maxLanes, replayTiming: timing }: ReplayOptions): Replay {
  const answers = tapes.filter(({ dialect }) => dialect !== 'beside');
  const told = new LRUCache<string, Set<Tape>>({ max: maxLanes });
  const besides = new Set<Tape>();
  const read = new Map<Tape, Map<Protocol, ReadTape>>();

  const speaks = (protocol: Protocol) => (tape: Tape) => tape.dialect === protocol || tape.dialect === 'any';

  /** What is found in a tape is the same each time. */
  function readOnce(tape: Tape, protocol: Protocol): ReadTape {
    const known = read.get(tape) ?? new Map<Protocol, ReadTape>();
    read.set(tape, known);
    const found = known.get(protocol) ?? readTape(tape, protocol);
    known.set(protocol, found);
    return found;
  }

  function match({ head, protocol, request, body }: AskedTape): {
    readonly by: MatchedBy;
    readonly tapes: readonly Tape[];
  } {
    const own = answers.filter(speaks(protocol));
    const fingerprint =
      request && fingerprintOf({ method: head.method, protocol, target: head.target, body: request.body });
    const same = own.filter((tape) => tape.fingerprint !== undefined && tape.fingerprint === fingerprint);
    if (same.length > 0) return { by: 'fingerprint', tapes: same };
    // A client that waits for a stream can do nothing with a JSON body, so those come last.
    const alike = own.filter(({ stream }) => stream === asksForStream(body));
    return { by: 'order', tapes: alike.length > 0 ? alike : own };
  }

  function next(list: readonly Tape[], seen: Set<Tape>): Tape | undefined {
    const tape = list.find((one) => !seen.has(one)) ?? list.at(-1);
    if (tape) seen.add(tape);
    return tape;
  }

  function planOf(tape: Tape, protocol: Protocol, head: HeadFacts, input: FaultInput): WirePlan {
    const { keepAlive, httpVersion } = head;
    return tapePlan(readOnce(tape, protocol), { ...input, timing, keepAlive, chunkedAllowed: httpVersion === '1.1' });
  }

  return {
    tapes,
    lacks: (protocol) => {
      if (answers.some(speaks(protocol))) return undefined;
      const known = [...new Set(answers.map(({ dialect }) => dialect))];
      return `nothing is recorded for this path; ${unknownWord('dialect', protocol, known)}`;
    },
    plan: (asked, input) => {
      const key = `${asked.generation}/${asked.lane}`;
      const seen = told.get(key) ?? new Set<Tape>();
      told.set(key, seen);
      const { by, tapes: list } = match(asked);
      const tape = next(list, seen);
      if (!tape) throw new Error('a protocol that lacks nothing has a tape');
      return { ...planOf(tape, asked.protocol, asked.head, input), replayed: { recording: tape.name, by } };
    },
    beside: (request, input) => {
      const { method, target, body } = request;
      const fingerprint = fingerprintOf({ method, protocol: null, target, body });
      const same = tapes.filter((tape) => tape.dialect === 'beside' && tape.fingerprint === fingerprint);
      const tape = next(same, besides);
      return tape && planOf(tape, 'openai-chat', request, input);
    },
    unreachable: (fault, input) => {
      let first: string | undefined;
      for (const tape of answers.slice(0, MAX_TRIED)) {
        try {
          planOf(tape, tape.dialect === 'any' || tape.dialect === 'beside' ? 'openai-chat' : tape.dialect, PLAIN_HEAD, {
            ...input,
            fault,
          });
          return undefined;
        } catch (thrown) {
          first ??= `${tape.name}: ${messageOf(thrown)}`;
        }
      }
      return answers.length > MAX_TRIED ? undefined : first;
    },
  };
}
