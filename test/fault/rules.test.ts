import { describe, expect, it } from 'vitest';
import {
  type Facts,
  isUnconditional,
  keyValue,
  mismatch,
  needsBody,
  problemsOfRule,
  type RuleSpec,
  ruleSchema,
} from '../../src/fault/rules.js';

const BODY = { model: 'gpt-5.4', stream: true, tools: [{}], messages: [{ role: 'user', content: 'Title this chat' }] };

const FACTS: Facts = {
  protocol: 'openai-chat',
  path: '/v1/chat/completions',
  headers: { 'user-agent': 'codex/1.2', 'idempotency-key': 'k-1', empty: '' },
  model: 'gpt-5.4',
  lane: 'worker-3',
  text: JSON.stringify(BODY),
  json: BODY,
};

const rule = (conditions: Omit<RuleSpec, 'fault'>): RuleSpec => ({ fault: 'F2', ...conditions });

describe('a rule and a request', () => {
  const matching: readonly Omit<RuleSpec, 'fault'>[] = [
    {},
    { protocol: 'openai-chat' },
    { path: '/chat/' },
    { path: '/v1/chat/completions' },
    { path: '/completions$/' },
    { model: 'gpt' },
    { model: '/^GPT-\\d/i' },
    { lane: 'worker-3' },
    { lane: '/-[1-4]$/' },
    { header: { 'User-Agent': 'codex' } },
    { header: { 'user-agent': '/^codex/', 'Idempotency-Key': 'k-1' } },
    { match: 'Title' },
    { match: ['Title', { json: { 'tools.length': '>0' } }] },
    { avoid: 'summar' },
    { avoid: ['summar', { json: { stream: false } }] },
    // All places of one condition have to be there for it to be avoided.
    { avoid: { json: { stream: true, model: 'other' } } },
    { key: 'header:Idempotency-Key' },
    { key: 'json:messages[-1].content' },
    { protocol: 'openai-chat', path: 'chat', model: 'gpt', lane: 'worker', header: { empty: '/^$/' }, match: 'Title' },
  ];
  for (const conditions of matching) {
    it(`match: ${JSON.stringify(conditions)}`, () => expect(mismatch(rule(conditions), FACTS)).toBeUndefined());
  }

  const differing: readonly (readonly [Omit<RuleSpec, 'fault'>, string])[] = [
    [{ protocol: 'anthropic-messages' }, 'the protocol is openai-chat'],
    [{ path: '/v1/messages' }, 'path "/v1/chat/completions" has no /v1/messages'],
    [{ path: '/messages$/' }, 'path "/v1/chat/completions" has no /messages$/'],
    [{ model: 'claude' }, 'model "gpt-5.4" has no claude'],
    [{ lane: 'worker-4' }, 'lane "worker-3" has no worker-4'],
    [{ header: { 'X-Task': 'a' } }, 'there is no header X-Task'],
    [{ header: { 'User-Agent': 'claude-cli' } }, 'header User-Agent "codex/1.2" has no claude-cli'],
    [{ match: ['Title', 'nothing'] }, 'the body has no nothing'],
    [{ match: { json: { 'tools.length': '>1' } } }, 'tools.length is 1, not ">1"'],
    [{ avoid: 'Title' }, 'the body has Title'],
    [{ avoid: ['other', { json: { stream: true } }] }, 'the body has {"json":{"stream":true}}'],
    [{ key: 'header:X-Key' }, 'there is no header:X-Key'],
    [{ key: 'json:metadata.id' }, 'there is no json:metadata.id'],
    // Every one must hold.
    [{ model: 'gpt', match: 'Title', avoid: 'chat' }, 'the body has chat'],
  ];
  for (const [conditions, why] of differing) {
    it(`no match: ${JSON.stringify(conditions)}`, () => expect(mismatch(rule(conditions), FACTS)).toBe(why));
  }
});

describe('what has to be known before a rule can be tested', () => {
  it('nothing for one without conditions; its limits are none', () => {
    const limits: Omit<RuleSpec, 'fault'> = { once: true, probability: 0.5, ttlMs: 5, label: 'x' };
    expect(isUnconditional(rule(limits))).toBe(true);
    expect(needsBody(rule(limits))).toBe(false);
  });

  it('the head, or the body too', () => {
    const ofHead = [{ path: 'a' }, { protocol: 'openai-chat' }, { header: { a: 'b' } }, { lane: 'a' }] as const;
    for (const conditions of ofHead) {
      expect(isUnconditional(rule(conditions))).toBe(false);
      expect(needsBody(rule(conditions))).toBe(false);
    }
    for (const conditions of [{ match: 'a' }, { avoid: 'a' }, { model: 'a' }, { key: 'json:a' }]) {
      expect(isUnconditional(rule(conditions))).toBe(false);
      expect(needsBody(rule(conditions))).toBe(true);
    }
  });
});

describe('the key of a request', () => {
  it('is a header, by its name in any case, or a place in the body', () => {
    expect(keyValue('header:Idempotency-Key', FACTS)).toBe('k-1');
    expect(keyValue('header:Other', FACTS)).toBeUndefined();
    expect(keyValue('json:model', FACTS)).toBe('gpt-5.4');
    expect(keyValue('json:tools.length', FACTS)).toBe('1');
    expect(keyValue('json:messages[0]', FACTS)).toBe('{"role":"user","content":"Title this chat"}');
    expect(keyValue('json:nothing', FACTS)).toBeUndefined();
    expect(keyValue('cookie:a', FACTS)).toBeUndefined();
  });
});

describe('what is wrong with a rule', () => {
  it('nothing', () => {
    const then = { behavior: 'success', result: 'same' } as const;
    expect(problemsOfRule(rule({ once: true, path: '/v1/messages', header: { a: '/b/' } }))).toEqual([]);
    expect(problemsOfRule(rule({ key: 'header:Idempotency-Key', then, times: 3 }))).toEqual([]);
  });

  it('everything at once, each at its place', () => {
    const problems = problemsOfRule({
      fault: 'F2',
      once: true,
      times: 2,
      key: 'cookie:a',
      match: ['fine', '/(/'],
      avoid: { json: { 'a..b': 1 } },
      path: '/[/',
      header: { 'X-A': '/+/' },
    });
    const places = problems.map(({ path }) => path.join('.'));
    expect(places.toSorted()).toEqual(['avoid', 'header.X-A', 'key', 'key', 'match', 'path', 'times']);
    const text = problems.map(({ message }) => message).join('\n');
    expect(text).toContain('"cookie:a" is no key; use header:NAME or json:PATH');
    expect(text).toContain('key and then need each other');
    expect(text).toContain('give one of once and times');
    expect(text).toContain('"a..b" is no path into JSON');
    expect(text.match(/Invalid regular expression/g)).toHaveLength(3);
  });

  it('then without a key', () => {
    // biome-ignore lint/suspicious/noThenProperty: a rule's key
    const problems = problemsOfRule(rule({ then: { behavior: 'success', result: 'same' } }));
    expect(problems).toEqual([{ path: ['then'], message: 'key and then need each other' }]);
  });
});

describe('the schema', () => {
  const refused: readonly unknown[] = [
    {},
    { fault: 3 },
    { fault: 'F2', once: false },
    { fault: 'F2', times: 0 },
    { fault: 'F2', times: 1.5 },
    { fault: 'F2', probability: 1.1 },
    { fault: 'F2', ttlMs: 0 },
    { fault: 'F2', protocol: 'openai' },
    { fault: 'F2', path: '' },
    { fault: 'F2', header: { a: 1 } },
    { fault: 'F2', mtach: 'a' },
    { fault: { cut: { at: 'event:3' } } },
    Object.fromEntries([...Object.entries({ fault: 'F2', key: 'header:a' }), ['then', { behavior: 'success' }]]),
    [],
    'F2',
  ];
  for (const given of refused) {
    it(`refuses ${JSON.stringify(given)}`, () => expect(ruleSchema.safeParse(given).success).toBe(false));
  }

  it('takes a fault as data', () => {
    expect(ruleSchema.safeParse({ fault: { cut: { at: 'event:3', teardown: 'rst' } }, once: true }).success).toBe(true);
  });
});
