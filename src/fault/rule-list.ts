import { LRUCache } from 'lru-cache';
import seedrandom from 'seedrandom';
import { drawSeed } from './random.js';
import { type Facts, isUnconditional, keyValue, mismatch, needsBody, type RuleSpec } from './rules.js';
import type { Named } from './script.js';

/**
 * The rules in force, and how often each was met. A rule is tested, counted and gone in one step, by the request that
 * meets it: nothing outside has to reset it, and no two requests get the same `once`.
 */
export interface Rule {
  /** Counts from 1; never given twice. */
  readonly id: number;
  readonly spec: RuleSpec;
  readonly named: Named;
  readonly hits: number;
  /** Requests that it may still hit; `null`: any number. */
  readonly left: number | null;
  /** What later requests with the same key get. */
  readonly later: Named | undefined;
  /** The requests that did not match last, newest first, and why. */
  readonly misses: readonly Miss[];
}

export interface Miss {
  readonly lane: string;
  readonly attempt: number;
  readonly path: string;
  readonly why: string;
}

/** What is known of a request when rules are tested. */
export interface Met {
  /** `undefined` while there is no request. */
  readonly facts: Facts | undefined;
  /** Whether the body is among the facts. */
  readonly whole: boolean;
  readonly lane: string;
  readonly attempt: number;
}

export interface RuleList {
  readonly rules: readonly Rule[];
  /** Rules that were used up, or whose time was over: the newest, the last one last. */
  readonly spent: readonly Rule[];
  add(spec: RuleSpec, named: Named, later?: Named): Rule;
  /** Whether there was such a rule. */
  remove(id: number): boolean;
  clear(): void;
  /** The rule that a request meets, not yet taken; `unsure`: one before it can't be tested yet. */
  find(met: Met): Found;
  /** Counts a hit, and ends the rule if it was its last. */
  take(found: Pick<FoundRule, 'rule' | 'key'>): void;
  /** The last request with a key that a rule has met, if it has met one. */
  known(id: number, value: string): Pick<KeyUse, 'nth' | 'since'> | undefined;
  /** Keeps why a request did not match. */
  miss(id: number, miss: Miss): void;
}

export interface FoundRule {
  readonly kind: 'rule';
  readonly rule: Rule;
  /** What the request gets. */
  readonly named: Named;
  readonly key?: KeyUse;
}

/** Several requests that are one, by their key. */
export interface KeyUse {
  /** `header:NAME` or `json:PATH`. */
  readonly name: string;
  readonly value: string;
  /** Which request with this key it is, from 1. */
  readonly nth: number;
  /** When the first of them came. */
  readonly since: Date;
}

export type Found = FoundRule | { readonly kind: 'none' } | { readonly kind: 'unsure' };

/** Keys that a rule remembers, the newest. */
const MAX_KEYS = 10_000;

/** Spent rules kept. */
const MAX_SPENT = 100;

/** Misses kept of each rule. */
const MAX_MISSES = 10;

interface State extends Rule {
  hits: number;
  left: number | null;
  readonly misses: Miss[];
  readonly endsAtMs: number;
  readonly keys: LRUCache<string, { nth: number; readonly since: Date }>;
}

/** Why a rule with keys that it has none left for is not met. */
export const USED_UP = 'it was used up by other keys';

export function notBelow(drawn: number, probability: number): string {
  return `drawn ${drawn.toFixed(3)}, not below ${probability}`;
}

/** What a rule with a probability draws for an attempt. */
export function drawnFor(seed: number, id: number, lane: string, attempt: number): number {
  return seedrandom.alea(drawSeed(seed, `rule ${id}/${lane}`, attempt))();
}

/** `nowMs` is a clock that never goes back. */
export function ruleList(seed: number, nowMs: () => number = () => performance.now()): RuleList {
  let rules: State[] = [];
  const spent: State[] = [];
  let ids = 0;

  /** A rule for every request, without an end. There is one at most, and it is tested last. */
  const isDefault = ({ spec, left }: Rule): boolean =>
    left === null && isUnconditional(spec) && spec.probability === undefined;

  function alive(): readonly State[] {
    // Mostly there are none, and each request asks a few times.
    if (rules.length === 0) return rules;
    const now = nowMs();
    for (const rule of rules) if (rule.endsAtMs <= now) end(rule);
    return rules;
  }

  function end(rule: State): void {
    rules = rules.filter((other) => other !== rule);
    spent.push(rule);
    if (spent.length > MAX_SPENT) spent.shift();
  }

  function whyNot(rule: State, { facts, lane, attempt }: Met): string | undefined {
    const why = facts ? mismatch(rule.spec, facts) : undefined;
    const value = rule.spec.key !== undefined && facts ? keyValue(rule.spec.key, facts) : undefined;
    if (why === undefined && value !== undefined) {
      // The first request with a key decided for all of them.
      if (rule.keys.has(value)) return undefined;
      if (rule.left === 0) return USED_UP;
    }
    if (why !== undefined || rule.spec.probability === undefined) return why;
    const drawn = drawnFor(seed, rule.id, lane, attempt);
    return drawn < rule.spec.probability ? undefined : notBelow(drawn, rule.spec.probability);
  }

  function find(met: Met): Found {
    for (const rule of alive()) {
      const testable = met.whole || isUnconditional(rule.spec) || (met.facts && !needsBody(rule.spec));
      if (!testable) return { kind: 'unsure' };
      const why = whyNot(rule, met);
      if (why === undefined) return foundRule(rule, met);
      if (!met.whole) continue;
      keepMiss(rule, { lane: met.lane, attempt: met.attempt, path: met.facts?.path ?? '', why });
    }
    return { kind: 'none' };
  }

  function keepMiss(rule: State, miss: Miss): void {
    rule.misses.unshift(miss);
    rule.misses.length = Math.min(rule.misses.length, MAX_MISSES);
  }

  function foundRule(rule: State, { facts }: Met): FoundRule {
    const { key: name } = rule.spec;
    const value = name !== undefined && facts ? keyValue(name, facts) : undefined;
    if (name === undefined || value === undefined) return { kind: 'rule', rule, named: rule.named };
    const { nth, since } = rule.keys.get(value) ?? { nth: 0, since: new Date() };
    const named = (nth > 0 && rule.later) || rule.named;
    return { kind: 'rule', rule, named, key: { name, value, nth: nth + 1, since } };
  }

  return {
    get rules() {
      return alive();
    },
    spent,
    add: (spec, named, later) => {
      const left = spec.once ? 1 : (spec.times ?? null);
      const endsAtMs = spec.ttlMs === undefined ? Number.POSITIVE_INFINITY : nowMs() + spec.ttlMs;
      const keys = new LRUCache<string, { nth: number; readonly since: Date }>({ max: MAX_KEYS });
      const rule: State = { id: ++ids, spec, named, later, hits: 0, left, misses: [], endsAtMs, keys };
      if (isDefault(rule)) rules = [...rules.filter((other) => !isDefault(other)), rule];
      else rules = [...rules.filter((other) => !isDefault(other)), rule, ...rules.filter(isDefault)];
      return rule;
    },
    remove: (id) => {
      const before = rules.length;
      rules = rules.filter((rule) => rule.id !== id);
      return rules.length < before;
    },
    clear: () => {
      rules = [];
    },
    find,
    take: ({ rule: taken, key }) => {
      const rule = rules.find(({ id }) => id === taken.id);
      if (!rule) return;
      rule.hits++;
      if (key) rule.keys.set(key.value, { nth: key.nth, since: key.since });
      if (rule.left === null || (key && key.nth > 1)) return;
      rule.left--;
      // One with keys still answers those that it knows.
      if (rule.left === 0 && !key) end(rule);
    },
    known: (id, value) => rules.find((rule) => rule.id === id)?.keys.get(value),
    miss: (id, miss) => {
      const rule = rules.find((known) => known.id === id);
      if (rule) keepMiss(rule, miss);
    },
  };
}
