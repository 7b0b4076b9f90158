import { LRUCache } from 'lru-cache';
import { type Asked, askedReader, type OwnFault, type Unknown } from './asked.js';
import { DEFAULT_LANE } from './fault/lanes.js';
import { draw } from './fault/random.js';
import { type FoundRule, type KeyUse, type RuleList, ruleList } from './fault/rule-list.js';
import type { RuleSpec } from './fault/rules.js';
import { type Named, RANDOM, type Selection, select, tellsEarly } from './fault/script.js';
import { isDue, type Stage } from './fault/stage.js';
import type { Later } from './later.js';
import type { ResolvedOptions } from './options.js';

/**
 * Which request gets which fault. Chosen and counted in one step, by the request that meets it. A fault that acts before
 * there is a whole request is chosen at the stage at which it acts, as far as that can be known then.
 */
export interface Selector {
  /** The next fault, if it is one that acts at `stage` or should have before; taken then. */
  at(stage: EarlyStage, asked: Asked): Chosen | undefined;
  /** What a whole request gets; or what is wrong with the fault that it asks for, which uses nothing up. */
  request(asked: Asked): Selection | Unknown;
  readonly rules: RuleList;
  /** Lanes that were forgotten, since there were too many. */
  readonly droppedLanes: number;
  /** Starts all scripts anew, as a new generation. Rules stay. */
  reset(): number;
  /** How often the scripts were started, from 1. */
  readonly generation: number;
}

export type EarlyStage = Exclude<Stage, 'request'>;

export type Chosen = Selection & { readonly kind: 'behavior' };

/** What was chosen for one exchange, and what its ledger says of the state from which it was taken. */
export interface Choice<S extends Selection = Selection> {
  readonly kind: 'chosen';
  readonly selection: S;
  readonly generation: number;
  readonly droppedLanes: number;
  /** The exchange's number, where the state counts those of several processes. */
  readonly exchange?: number;
  /** From which state, where there is one that is shared. */
  readonly state?: 'shared' | 'local';
}

/** The shared state can't be asked: nothing was chosen. */
export interface Away {
  readonly kind: 'away';
  readonly reason: string;
}

/** As a selector, of a state that may be somewhere else. */
export interface Chooser {
  at(stage: EarlyStage, asked: Asked): Later<Choice<Chosen> | Away | undefined>;
  request(asked: Asked): Later<Choice | Unknown | Away>;
}

/** The chooser of a selector in this process, which answers at once. */
export function localChooser(selector: Selector): Chooser {
  const choice = <S extends Selection>(selection: S): Choice<S> => {
    const { generation, droppedLanes } = selector;
    return { kind: 'chosen', selection, generation, droppedLanes };
  };
  return {
    at: (stage, asked) => {
      const selection = selector.at(stage, asked);
      return selection && choice(selection);
    },
    request: (asked) => {
      const selection = selector.request(asked);
      return selection.kind === 'unknown' ? selection : choice(selection);
    },
  };
}

/** How far a lane has come. */
export interface Cursor {
  /** Requests of the lane. */
  readonly attempts: number;
  /** Words of its script that were used up: those that rules took don't count. */
  readonly position: number;
}

/** A lane that is being walked: an object for each lane instead of each request. */
interface Walked extends Cursor {
  attempts: number;
  position: number;
}

type Pick = OwnFault | FoundRule | { readonly kind: 'script' } | { readonly kind: 'unsure' } | Unknown;

const BY_SCRIPT: Pick = { kind: 'script' };
const BEGUN: Cursor = { attempts: 0, position: 0 };

/** What a selection is made of: who chose, and of a rule what the ledger says of it. */
export type Picked =
  | OwnFault
  | { readonly kind: 'script' }
  | {
      readonly kind: 'rule';
      readonly rule: { readonly id: number; readonly spec: RuleSpec };
      readonly named: Named;
      readonly key?: KeyUse;
    };

type Scripts = { readonly [K in 'script' | 'lanes']: ResolvedOptions[K] };

/** What an attempt gets. Pure. `cursor`: before it. */
export function selectionOf({ script, lanes }: Scripts, picked: Picked, lane: string, cursor: Cursor): Selection {
  const attempt = cursor.attempts + 1;
  if (picked.kind === 'script') return select(lanes.get(lane) ?? script, lane, attempt, cursor.position + 1);
  const scripted = picked.named;
  const named = scripted ?? draw(script.seed, lane, attempt, script.shares);
  if (!named) return { kind: 'exhausted', lane, attempt };
  const told = { lane, attempt, scripted: scripted?.name ?? RANDOM, behavior: named.name, fault: named.fault };
  const by =
    picked.kind === 'rule'
      ? {
          source: picked.kind,
          rule: picked.rule.spec.label ?? String(picked.rule.id),
          ...(picked.key ? { key: picked.key } : {}),
        }
      : { source: picked.source };
  return { kind: 'behavior', ...told, windows: [], ...by };
}

export function selectorOf(options: ResolvedOptions): Selector {
  const { script, lanes, maxLanes } = options;
  const { laneFor, factsOf, ownFault } = askedReader(options);
  const rules = ruleList(script.seed);
  for (const { spec, named, later } of options.rules) rules.add(spec, named, later);
  let droppedLanes = 0;
  let generation = 1;
  const cursors = new LRUCache<string, Walked>({
    max: maxLanes,
    dispose: (_, __, reason) => {
      if (reason === 'evict') droppedLanes++;
    },
  });
  /** The lane that was taken from last, which is the newest of `cursors`: mostly it is the next one, too. */
  let lastLane: string | undefined;
  let lastCursor: Walked | undefined;

  const scripts = [script, ...lanes.values()];
  const told = {
    accept: scripts.some((one) => tellsEarly(one, 'accept')),
    head: scripts.some((one) => tellsEarly(one, 'head')),
  };

  /** Looking keeps no lane: one that nothing is taken from must not push out another. */
  function cursorOf(lane: string): Cursor {
    if (lane === lastLane && lastCursor) return lastCursor;
    return cursors.peek(lane) ?? BEGUN;
  }

  function pick(asked: Asked, lane: string, attempt: number): Pick {
    const own = ownFault(asked);
    if (own) return own;
    if (rules.rules.length === 0) return BY_SCRIPT;
    const found = rules.find({ facts: factsOf(asked, lane), whole: asked.body !== undefined, lane, attempt });
    return found.kind === 'none' ? BY_SCRIPT : found;
  }

  /** Whether anything can be due before there is a request: mostly nothing can, and each request asks twice. */
  function mayAct(stage: EarlyStage, asked: Asked): boolean {
    return told[stage] || rules.rules.length > 0 || ownFault(asked) !== undefined;
  }

  function at(stage: EarlyStage, asked: Asked): Chosen | undefined {
    if (!mayAct(stage, asked)) return undefined;
    const known = laneFor(asked);
    const lane = known ?? DEFAULT_LANE;
    const cursor = cursorOf(lane);
    const picked = pick(asked, lane, cursor.attempts + 1);
    if (picked.kind === 'unsure' || picked.kind === 'unknown') return undefined;
    // A rule for everybody, and what a request asks for, don't need a lane; a script does.
    if (picked.kind === 'script' && known === undefined) return undefined;
    const selection = selectionOf(options, picked, lane, cursor);
    if (selection.kind !== 'behavior' || !isDue(selection.fault, stage)) return undefined;
    take(lane, picked);
    return selection;
  }

  function take(lane: string, picked: Pick): void {
    if (picked.kind === 'rule') rules.take(picked);
    const cursor = taken(lane);
    cursor.attempts++;
    if (picked.kind === 'script') cursor.position++;
  }

  /** The cursor of a lane, which is the newest now. */
  function taken(lane: string): Walked {
    if (lane === lastLane && lastCursor) return lastCursor;
    let cursor = cursors.get(lane);
    if (!cursor) {
      cursor = { attempts: 0, position: 0 };
      cursors.set(lane, cursor);
    }
    lastLane = lane;
    lastCursor = cursor;
    return cursor;
  }

  function request(asked: Asked): Selection | Unknown {
    const lane = laneFor(asked) ?? DEFAULT_LANE;
    const cursor = cursorOf(lane);
    const picked = pick(asked, lane, cursor.attempts + 1);
    if (picked.kind === 'unknown') return picked;
    if (picked.kind === 'unsure') throw new Error('a whole request leaves no rule unsure');
    const selection = selectionOf(options, picked, lane, cursor);
    take(lane, picked);
    return selection;
  }

  return {
    at,
    request,
    rules,
    get droppedLanes() {
      return droppedLanes;
    },
    reset: () => {
      cursors.clear();
      lastLane = undefined;
      lastCursor = undefined;
      return ++generation;
    },
    get generation() {
      return generation;
    },
  };
}
