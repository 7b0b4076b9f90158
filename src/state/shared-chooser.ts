import { LRUCache } from 'lru-cache';
import { type Asked, askedReader, type Unknown } from '../asked.js';
import { messageOf } from '../errors.js';
import { DEFAULT_LANE } from '../fault/lanes.js';
import type { RuleSpec } from '../fault/rules.js';
import { type Selection, tellsEarly } from '../fault/script.js';
import { isDue, type Stage } from '../fault/stage.js';
import type { NamedRule, ResolvedOptions } from '../options.js';
import { namedRule } from '../resolve-script.js';
import {
  type Away,
  type Choice,
  type Chooser,
  type Chosen,
  type Cursor,
  type EarlyStage,
  type Picked,
  selectionOf,
} from '../selector.js';
import { type RuleBook, type SharedState, StateAway, type Taken } from './ask.js';
import { type Asking, askOf, type KnownBook, type KnownRule } from './ask-of.js';
import { memoryState } from './memory-state.js';

/**
 * Chooses from a state that several processes share. What the request is, and what it would get, is found out here; the
 * state only counts and takes. Where it can't be asked nothing is chosen, or a stand-in is asked that says so.
 */
export interface SharedChooser extends Chooser {
  /** Learns the rules; needed once before the first request. */
  refresh(): Promise<void>;
  /** Rules in force and lanes that were forgotten, as far as it is known here. */
  counts(): { readonly rules: number; readonly droppedLanes: number };
  /** Resolves when every choice that is under way has been made. */
  settled(): Promise<void>;
}

export interface SharedChooserDeps {
  readonly state: SharedState;
  /** Go on with a state of this process alone where the shared one is away. */
  readonly fallback: boolean;
  /** The stand-in counts its exchanges from the next number on. */
  readonly firstExchange: number;
}

/** A state, and what is known here of its rules. */
interface Source {
  readonly state: SharedState;
  readonly kind: 'shared' | 'local';
  book: KnownBook;
}

/** Numbers that are told at first; four times as many in each round in which that wasn't enough. */
const FIRST_SPAN = 16;
const MAX_SPAN = 4096;
/** A state that changes faster than it can be asked. */
const MAX_ROUNDS = 100;

/** Of a lane that nothing was taken from. */
const BEGUN: Cursor = { attempts: 0, position: 0 };
const NOTHING_KNOWN: KnownBook = { version: 0, rules: [] };

export function sharedChooser(options: ResolvedOptions, deps: SharedChooserDeps): SharedChooser {
  const { script, lanes, catalogue, maxLanes } = options;
  const { laneFor, factsOf, ownFault } = askedReader(options);
  const shared: Source = { state: deps.state, kind: 'shared', book: NOTHING_KNOWN };
  /** Where it stands in for the shared one. */
  let local: Source | undefined;
  let localExchanges = deps.firstExchange;
  let droppedLanes = 0;
  /** How far lanes had come when last heard of. */
  const seen = new LRUCache<string, Cursor>({ max: maxLanes });
  const pending = new Set<Promise<unknown>>();
  const scripts = [script, ...lanes.values()];
  const early = {
    accept: scripts.some((one) => tellsEarly(one, 'accept')),
    head: scripts.some((one) => tellsEarly(one, 'head')),
  };

  const named = (spec: RuleSpec): NamedRule => namedRule(spec, 'rule', catalogue);

  function known({ version, rules }: RuleBook): KnownBook {
    const all = rules.map((rule): KnownRule => {
      const { named: fault, later } = named(rule.spec);
      return { ...rule, named: fault, later };
    });
    return { version, rules: all };
  }

  async function refresh(): Promise<void> {
    shared.book = known(await shared.state.book());
  }
  deps.state.watch(() => {
    // What is missed here is found out by the next request.
    refresh().catch(() => {});
  });

  /** Whether there may be anything to take at a stage before the request. */
  function possible(stage: EarlyStage, own: boolean): boolean {
    const { rules } = (local ?? shared).book;
    return (
      own ||
      early[stage] ||
      rules.some(({ named: fault, later }) => isDue(fault.fault, stage) || (later && isDue(later.fault, stage)))
    );
  }

  async function take(source: Source, asking: Asking): Promise<Choice | undefined> {
    const lane = asking.lane ?? DEFAULT_LANE;
    let guess: Cursor = seen.get(lane) ?? BEGUN;
    let span = FIRST_SPAN;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { book } = source;
      const ask = askOf(options, book, { ...asking, lane, laneKnown: asking.lane !== undefined }, guess, span);
      const took = await source.state.take(ask);
      switch (took.kind) {
        case 'stale':
          source.book = known(took.book);
          break;
        case 'again':
          guess = took;
          span = Math.min(span * 4, MAX_SPAN);
          break;
        case 'none':
          seen.set(lane, took);
          return undefined;
        case 'taken': {
          const { attempts, position, by } = took;
          seen.set(lane, { attempts: attempts + 1, position: by === 'script' ? position + 1 : position });
          return choiceOf(source, asking, book, lane, took);
        }
        default:
          took satisfies never;
      }
    }
    throw new StateAway(`the shared state changed ${MAX_ROUNDS} times while it was asked`);
  }

  function choiceOf(source: Source, asking: Asking, book: KnownBook, lane: string, took: Taken): Choice {
    const selection: Selection = selectionOf(options, pickedBy(took, asking, book), lane, took);
    const { generation, exchange } = took;
    droppedLanes = took.droppedLanes;
    return { kind: 'chosen', selection, generation, droppedLanes, exchange, state: source.kind };
  }

  async function choose(asking: Asking): Promise<Choice | Away | undefined> {
    try {
      const choice = await take(shared, asking);
      local = undefined;
      return choice;
    } catch (thrown) {
      if (!deps.fallback || !(thrown instanceof StateAway)) return { kind: 'away', reason: messageOf(thrown) };
    }
    local ??= standIn();
    const choice = await take(local, asking);
    localExchanges = Math.max(localExchanges, choice?.exchange ?? 0);
    return choice;
  }

  /** It starts from what was last heard of the shared one. */
  function standIn(): Source {
    const rules = shared.book.rules
      .filter(({ left }) => left !== 0)
      .map(({ spec: { once: _, times: __, ...spec }, left }) => named(left === null ? spec : { ...spec, times: left }));
    const state = memoryState({
      rules,
      named,
      maxLanes,
      seed: script.seed,
      exchanges: localExchanges,
      cursors: new Map([...seen.rkeys()].map((lane) => [lane, seen.peek(lane) ?? BEGUN])),
    });
    return { state, kind: 'local', book: NOTHING_KNOWN };
  }

  function tracked<T>(work: Promise<T>): Promise<T> {
    pending.add(work);
    void work.finally(() => pending.delete(work));
    return work;
  }

  function asking(stage: Stage, asked: Asked): Asking | Unknown {
    const own = ownFault(asked);
    if (own?.kind === 'unknown') return own;
    const lane = laneFor(asked);
    return { stage, asked, own, lane, facts: factsOf(asked, lane ?? DEFAULT_LANE) };
  }

  return {
    refresh,
    counts: () => ({ rules: (local ?? shared).book.rules.length, droppedLanes }),
    at: (stage, asked) => {
      const what = asking(stage, asked);
      if ('kind' in what || !possible(stage, what.own !== undefined)) return undefined;
      return tracked(choose(what)) as Promise<Choice<Chosen> | Away | undefined>;
    },
    request: (asked) => {
      const what = asking('request', asked);
      if ('kind' in what) return what;
      return tracked(choose(what).then((choice) => choice ?? { kind: 'away', reason: NOTHING_TAKEN }));
    },
    settled: async () => {
      while (pending.size > 0) await Promise.allSettled(pending);
    },
  };
}

const NOTHING_TAKEN = 'the shared state gave nothing to a whole request';

function pickedBy(took: Taken, { own }: Asking, book: KnownBook): Picked {
  switch (took.by) {
    case 'asked':
      if (!own) throw new Error('a request that asked for nothing got what it asked for');
      return own;
    case 'script':
      return { kind: 'script' };
    case 'rule': {
      const rule = book.rules.find(({ id }) => id === took.rule);
      if (!rule) throw new Error(`rule ${took.rule} was taken, and is unknown`);
      const { key: value, nth = 1, sinceMs = 0 } = took;
      const named = (nth > 1 && rule.later) || rule.named;
      if (value === undefined) return { kind: 'rule', rule, named };
      return { kind: 'rule', rule, named, key: { name: rule.spec.key ?? '', value, nth, since: new Date(sinceMs) } };
    }
    default:
      return took.by satisfies never;
  }
}
