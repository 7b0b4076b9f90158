import { LRUCache } from 'lru-cache';
import { notBelow, type Rule, ruleList, USED_UP } from '../fault/rule-list.js';
import type { RuleSpec } from '../fault/rules.js';
import type { NamedRule } from '../options.js';
import type { Cursor } from '../selector.js';
import type { Ask, Candidate, Due, MetRule, SharedState, Taken, Took } from './ask.js';

/** The state that several processes share, in the memory of one of them. It answers in the tick in which it is asked. */
export interface MemoryState extends SharedState {
  takeNow(ask: Ask): Took;
}

export interface MemoryStateOptions {
  readonly rules: readonly NamedRule[];
  readonly seed: number;
  readonly maxLanes: number;
  /** What a rule means; it was checked where it was given. */
  named(spec: RuleSpec): NamedRule;
  /** Exchanges are counted from the next number on. */
  readonly exchanges?: number;
  readonly generation?: number;
  /** Lanes that have begun already. */
  readonly cursors?: ReadonlyMap<string, Cursor>;
}

export function memoryState(options: MemoryStateOptions): MemoryState {
  const { named, maxLanes } = options;
  const list = ruleList(options.seed);
  for (const { spec, named: fault, later } of options.rules) list.add(spec, fault, later);
  let { exchanges = 0, generation = 1 } = options;
  let droppedLanes = 0;
  let version = 1;
  let known = list.rules;
  const cursors = new LRUCache<string, Cursor>({
    max: maxLanes,
    dispose: (_, __, reason) => {
      if (reason === 'evict') droppedLanes++;
    },
  });
  for (const [lane, cursor] of options.cursors ?? []) cursors.set(lane, cursor);

  const watchers: (() => void)[] = [];
  const tell = (): void => {
    for (const changed of watchers) changed();
  };

  /** The list is another one whenever a rule has come or gone. */
  function versionNow(): number {
    const { rules } = list;
    if (rules !== known) {
      known = rules;
      version++;
    }
    return version;
  }

  function takeNow(ask: Ask): Took {
    if (ask.version !== versionNow()) {
      return {
        kind: 'stale',
        book: { version, rules: known.map(({ id, spec, hits, left }) => ({ id, spec, hits, left })) },
      };
    }
    const cursor = cursors.peek(ask.lane) ?? { attempts: 0, position: 0 };
    const attempt = cursor.attempts + 1;
    const again: Took = { kind: 'again', ...cursor };
    const none: Took = { kind: 'none', ...cursor };
    if (ask.asked) return byDue(ask.asked, attempt, { again, none }, () => taken(ask.lane, cursor, { by: 'asked' }));
    const miss = (id: number, why: string): void => {
      if (ask.whole) list.miss(id, { lane: ask.lane, attempt, path: ask.path, why });
    };
    for (const candidate of ask.rules) {
      const rule = known.find(({ id }) => id === candidate.id);
      if (!rule) continue;
      if (candidate.why !== undefined) {
        miss(rule.id, candidate.why);
        continue;
      }
      const met = meets(rule, candidate, attempt);
      if (met.kind === 'again') return again;
      if (met.kind === 'no') {
        miss(rule.id, met.why);
        continue;
      }
      if (!(met.nth > 1 ? candidate.dueLater : candidate.due)) return none;
      return takeRule(ask.lane, cursor, rule, candidate, met);
    }
    if (ask.unsure) return none;
    return byDue(ask.script, cursor.position + 1, { again, none }, () => taken(ask.lane, cursor, { by: 'script' }));
  }

  type Met = { readonly kind: 'yes'; readonly nth: number; readonly since: Date } | { readonly kind: 'again' };
  type Meets = Met | { readonly kind: 'no'; readonly why: string };

  function meets(rule: Rule, { key, below, from = 1, drawn = [] }: Candidate, attempt: number): Meets {
    const use = key === undefined ? undefined : list.known(rule.id, key);
    // The first request with a key decided for all of them.
    if (use) return { kind: 'yes', nth: use.nth + 1, since: use.since };
    if (key !== undefined && rule.left === 0) return { kind: 'no', why: USED_UP };
    if (below !== undefined) {
      const value = drawn[attempt - from];
      if (value === undefined) return { kind: 'again' };
      if (value >= below) return { kind: 'no', why: notBelow(value, below) };
    }
    return { kind: 'yes', nth: 1, since: new Date() };
  }

  function takeRule(
    lane: string,
    cursor: Cursor,
    rule: Rule,
    { key }: Candidate,
    { nth, since }: { readonly nth: number; readonly since: Date },
  ): Taken {
    list.take({ rule, ...(key === undefined ? {} : { key: { name: rule.spec.key ?? '', value: key, nth, since } }) });
    const use = key === undefined ? {} : { key, nth, sinceMs: since.getTime() };
    return taken(lane, cursor, { by: 'rule', rule: rule.id, ...use });
  }

  function taken(lane: string, cursor: Cursor, how: Pick<Taken, 'by' | 'rule' | 'key' | 'nth' | 'sinceMs'>): Taken {
    const { attempts, position } = cursor;
    cursors.set(lane, { attempts: attempts + 1, position: how.by === 'script' ? position + 1 : position });
    return { kind: 'taken', ...how, attempts, position, generation, droppedLanes, exchange: ++exchanges };
  }

  return {
    takeNow,
    take: async (ask) => takeNow(ask),
    book: async () => ({ version: versionNow(), rules: list.rules.map(metRule), spent: list.spent.map(metRule) }),
    inject: async (spec) => {
      const rule = named(spec);
      const added = metRule(list.add(rule.spec, rule.named, rule.later));
      tell();
      return added;
    },
    remove: async (id) => {
      const was = list.remove(id);
      tell();
      return was;
    },
    clear: async () => {
      const count = list.rules.length;
      list.clear();
      tell();
      return count;
    },
    reset: async () => {
      cursors.clear();
      return ++generation;
    },
    watch: (changed) => watchers.push(changed),
    away: undefined,
    close: async () => {},
  };
}

function metRule({ id, spec, hits, left, misses }: Rule): MetRule {
  return { id, spec, hits, left, misses };
}

function byDue({ from, bits, rest }: Due, number: number, or: { again: Took; none: Took }, take: () => Taken): Took {
  const bit = number < from ? undefined : (bits[number - from] ?? rest);
  return bit === undefined ? or.again : bit === '1' ? take() : or.none;
}
