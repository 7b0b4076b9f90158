import { describe, expect, it } from 'vitest';
import { faultOf } from '../../src/fault/catalogue.js';
import { type Found, type FoundRule, type Met, type RuleList, ruleList } from '../../src/fault/rule-list.js';
import type { Facts, RuleSpec } from '../../src/fault/rules.js';

const named = (name: 'F2' | 'rate_limit' | 'success') => ({ name, fault: faultOf(name) });

function facts(more: Partial<Facts> = {}): Facts {
  const plain = { protocol: 'openai-chat', path: '/v1/chat/completions', headers: {}, model: 'm', lane: 'default' };
  return { ...plain, text: '{}', json: {}, ...more };
}

/** A whole request. */
function met(more: Partial<Facts> = {}, attempt = 1): Met {
  const known = facts(more);
  return { facts: known, whole: true, lane: known.lane, attempt };
}

const withKey = (value: string): Met => met({ headers: { 'idempotency-key': value } });

function add(list: RuleList, spec: Omit<RuleSpec, 'fault'> = {}) {
  return list.add({ fault: 'F2', ...spec }, named('F2'));
}

function addKeyed(list: RuleList, spec: Omit<RuleSpec, 'fault'> = {}) {
  const then = { behavior: 'success', result: 'same' } as const;
  return list.add({ fault: 'F2', key: 'header:Idempotency-Key', then, ...spec }, named('F2'), named('success'));
}

/** What a request meets, taken. */
function hit(list: RuleList, request: Met = met()): FoundRule | undefined {
  const found: Found = list.find(request);
  if (found.kind !== 'rule') return undefined;
  list.take(found);
  return found;
}

const ids = (list: RuleList): number[] => list.rules.map(({ id }) => id);

describe('the order of rules', () => {
  it('is that in which they came, and the first that matches is met', () => {
    const list = ruleList(1);
    add(list, { match: 'a' });
    add(list, { match: 'b' });
    expect(hit(list, met({ text: 'ab' }))?.rule.id).toBe(1);
    expect(hit(list, met({ text: 'b' }))?.rule.id).toBe(2);
    expect(hit(list, met({ text: 'c' }))).toBeUndefined();
    expect(list.rules.map(({ hits }) => hits)).toEqual([1, 1]);
  });

  it('has the default last, of which there is one', () => {
    const list = ruleList(1);
    add(list);
    add(list, { match: 'a' });
    expect(ids(list)).toEqual([2, 1]);
    add(list, { label: 'a newer default' });
    expect(ids(list)).toEqual([2, 3]);
    // These have an end, so they are no defaults, and come before it.
    add(list, { once: true });
    add(list, { probability: 0.5 });
    expect(ids(list)).toEqual([2, 4, 5, 3]);
    for (let n = 0; n < 3; n++) hit(list);
    expect(list.rules.at(-1)?.hits).toBeGreaterThan(0);
    expect(list.rules.at(-1)?.left).toBeNull();
  });

  it('never gives an id twice', () => {
    const list = ruleList(1);
    add(list, { match: 'a' });
    add(list, { match: 'b' });
    expect(list.remove(2)).toBe(true);
    expect(list.remove(2)).toBe(false);
    list.clear();
    expect(list.rules).toEqual([]);
    expect(add(list).id).toBe(3);
  });
});

describe('once and times', () => {
  it('end in the step of the last hit, and the rule is told among the spent', () => {
    const list = ruleList(1);
    add(list, { once: true, label: 'first' });
    add(list, { times: 2, label: 'second' });
    const labels = Array.from({ length: 4 }, () => hit(list)?.rule.spec.label);
    expect(labels).toEqual(['first', 'second', 'second', undefined]);
    expect(list.rules).toEqual([]);
    expect(list.spent.map(({ spec, hits, left }) => [spec.label, hits, left])).toEqual([
      ['first', 1, 0],
      ['second', 2, 0],
    ]);
  });

  it('are not used up by looking', () => {
    const list = ruleList(1);
    add(list, { once: true });
    for (let n = 0; n < 5; n++) expect(list.find(met()).kind).toBe('rule');
    expect(list.rules[0]?.hits).toBe(0);
    hit(list);
    expect(list.find(met()).kind).toBe('none');
  });

  it('leave a rule alone that was removed between', () => {
    const list = ruleList(1);
    const rule = add(list, { once: true });
    const found = list.find(met());
    list.clear();
    if (found.kind === 'rule') list.take(found);
    expect(rule.hits).toBe(0);
    expect(list.spent).toEqual([]);
  });

  it('keep the newest hundred of the spent', () => {
    const list = ruleList(1);
    for (let n = 0; n < 130; n++) {
      add(list, { once: true });
      hit(list);
    }
    expect(list.spent).toHaveLength(100);
    expect([list.spent[0]?.id, list.spent.at(-1)?.id]).toEqual([31, 130]);
  });
});

describe('ttlMs', () => {
  it('ends a rule by a clock that never goes back', () => {
    let nowMs = 1000;
    const list = ruleList(1, () => nowMs);
    add(list, { ttlMs: 50 });
    nowMs = 1049;
    expect(hit(list)?.rule.id).toBe(1);
    nowMs = 1050;
    expect(hit(list)).toBeUndefined();
    expect(list.rules).toEqual([]);
    expect(list.spent.map(({ id, hits }) => [id, hits])).toEqual([[1, 1]]);
  });
});

describe('misses', () => {
  it('are the newest ten with their reasons, newest first', () => {
    const list = ruleList(1);
    add(list, { model: 'other' });
    for (let attempt = 1; attempt <= 12; attempt++) hit(list, met({ lane: 'a' }, attempt));
    const [rule] = list.rules;
    expect(rule?.misses).toHaveLength(10);
    expect(rule?.misses[0]).toEqual({
      lane: 'a',
      attempt: 12,
      path: '/v1/chat/completions',
      why: 'model "m" has no other',
    });
    expect(rule?.misses.at(-1)?.attempt).toBe(3);
  });

  it('are only of whole requests, and of rules that were tested', () => {
    const list = ruleList(1);
    add(list, { path: '/other' });
    add(list, { once: true });
    add(list, { match: 'never tested' });
    list.find({ facts: facts(), whole: false, lane: 'default', attempt: 1 });
    expect(list.rules.map(({ misses }) => misses.length)).toEqual([0, 0, 0]);
    hit(list);
    expect(list.rules.map(({ misses }) => misses.length)).toEqual([1, 0]);
  });
});

describe('what is not known yet', () => {
  const early: Met = { facts: undefined, whole: false, lane: 'default', attempt: 1 };
  const headOnly: Met = { ...early, facts: facts({ text: '', json: undefined }) };

  it('makes the choice unsure, unless a rule before it is met', () => {
    const list = ruleList(1);
    expect(list.find(early).kind).toBe('none');
    add(list, { path: '/chat' });
    expect(list.find(early).kind).toBe('unsure');
    expect(list.find(headOnly).kind).toBe('rule');
    list.clear();
    add(list, { match: 'a' });
    add(list);
    expect(list.find(early).kind).toBe('unsure');
    expect(list.find(headOnly).kind).toBe('unsure');
    expect(list.find(met()).kind).toBe('rule');
    list.clear();
    add(list, { once: true });
    add(list, { match: 'a' });
    expect(list.find(early).kind).toBe('rule');
  });

  it('lets a rule pass by that the head refutes', () => {
    const list = ruleList(1);
    add(list, { path: '/other' });
    add(list, { once: true });
    const found = list.find(headOnly);
    expect(found.kind === 'rule' && found.rule.id).toBe(2);
  });
});

describe('probability', () => {
  const drawn = (list: RuleList, lane: string, attempt: number): boolean =>
    list.find(met({ lane }, attempt)).kind === 'rule';

  it('is drawn by seed, rule, lane and attempt, in whatever order they come', () => {
    const asked = Array.from({ length: 400 }, (_, n) => [`lane-${n % 20}`, 1 + Math.floor(n / 20)] as const);
    const run = (seed: number, order: typeof asked): Map<string, boolean> => {
      const list = ruleList(seed);
      add(list, { probability: 0.25 });
      return new Map(order.map(([lane, attempt]) => [`${lane}/${attempt}`, drawn(list, lane, attempt)]));
    };
    const first = run(42, asked);
    const reversed = run(42, asked.toReversed());
    for (const [key, value] of first) expect(reversed.get(key)).toBe(value);
    const hits = [...first.values()].filter(Boolean).length;
    // 100 are to be expected, with a standard deviation of 8.7.
    expect(hits).toBeGreaterThan(70);
    expect(hits).toBeLessThan(130);
    expect([...run(43, asked).values()]).not.toEqual([...first.values()]);
  });

  it('is another draw for each rule, never for 0 and always for 1', () => {
    const list = ruleList(42);
    add(list, { probability: 0 });
    add(list, { probability: 1, match: 'x' });
    add(list, { probability: 1 });
    for (let attempt = 1; attempt <= 100; attempt++) {
      const found = list.find(met({}, attempt));
      expect(found.kind === 'rule' && found.rule.id).toBe(3);
    }
    expect(list.rules[0]?.misses[0]?.why).toMatch(/^drawn 0\.\d{3}, not below 0$/);
  });
});

describe('rules with a key', () => {
  it('give the fault to the first request, and what then says to all others', () => {
    const list = ruleList(1);
    addKeyed(list);
    const told = ['a', 'b', 'a', 'a', 'b'].map((value) => {
      const found = hit(list, withKey(value));
      return [found?.named.name, found?.key?.value, found?.key?.nth];
    });
    expect(told).toEqual([
      ['F2', 'a', 1],
      ['F2', 'b', 1],
      ['success', 'a', 2],
      ['success', 'a', 3],
      ['success', 'b', 2],
    ]);
    expect(hit(list)).toBeUndefined();
  });

  it('keep the moment of the first request', () => {
    const list = ruleList(1);
    addKeyed(list);
    const first = hit(list, withKey('a'));
    const second = hit(list, withKey('a'));
    expect(second?.key?.since).toBe(first?.key?.since);
  });

  it('count only first requests for once and times, and still answer the keys that they know', () => {
    const list = ruleList(1);
    const rule = addKeyed(list, { times: 2 });
    const names = ['a', 'a', 'b', 'c', 'b', 'a'].map((value) => hit(list, withKey(value))?.named.name);
    expect(names).toEqual(['F2', 'success', 'F2', undefined, 'success', 'success']);
    expect([rule.hits, rule.left]).toEqual([5, 0]);
    expect(ids(list)).toEqual([rule.id]);
    expect(rule.misses[0]?.why).toBe('it was used up by other keys');
  });

  it('with once are of one key', () => {
    const list = ruleList(1);
    addKeyed(list, { once: true });
    const names = ['a', 'b', 'a', 'b'].map((value) => hit(list, withKey(value))?.named.name);
    expect(names).toEqual(['F2', undefined, 'success', undefined]);
  });

  it('draw a probability for first requests only', () => {
    const list = ruleList(3);
    addKeyed(list, { probability: 0.5 });
    const attempts = Array.from({ length: 40 }, (_, n) => n + 1);
    const first = attempts.map((n) => hit(list, { ...withKey(`k${n}`), attempt: n }) !== undefined);
    expect(new Set(first)).toEqual(new Set([true, false]));
    // Known keys are answered whatever would be drawn now.
    const again = attempts.map(
      (n) => first[n - 1] && hit(list, { ...withKey(`k${n}`), attempt: n + 1000 })?.named.name,
    );
    expect(again).toEqual(first.map((was) => was && 'success'));
  });

  it('remember the newest ten thousand keys', () => {
    const list = ruleList(1);
    addKeyed(list);
    for (let n = 0; n <= 10_000; n++) hit(list, withKey(`k${n}`));
    expect(hit(list, withKey('k10000'))?.named.name).toBe('success');
    expect(hit(list, withKey('k1'))?.named.name).toBe('success');
    expect(hit(list, withKey('k0'))?.named.name).toBe('F2');
  });
});
