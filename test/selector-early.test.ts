import { describe, expect, it } from 'vitest';
import { type Asking, asking, choose, headOf, type Selecting, selecting } from './support/selecting.js';

describe('faults that act before there is a request', () => {
  const accepted = (selector: Selecting) => selector.at('accept', { connection: 1 });
  const atHead = (selector: Selecting, asked: Asking = {}) =>
    selector.at('head', { connection: 1, head: headOf(asked), protocol: 'openai-chat' });

  it('are chosen and counted at the stage at which they act', () => {
    const selector = selecting({ sequence: ['rst@accept', 'empty'] });
    expect(accepted(selector)).toMatchObject({ behavior: 'rst@accept', attempt: 1 });
    expect(accepted(selector)).toBeUndefined();
    expect(atHead(selector)).toBeUndefined();
    expect(selector.request(asking())).toMatchObject({ behavior: 'empty', attempt: 2 });
  });

  it('are chosen at the head where that says so', () => {
    const selector = selecting();
    const fault = JSON.stringify({ request: { read: 'head' } });
    expect(atHead(selector, { headers: { 'x-wirefault': fault } })).toMatchObject({ source: 'header' });
    selector.inject({ fault: { request: { read: 'head' } }, path: '/chat/', once: true });
    expect(accepted(selector)).toBeUndefined();
    expect(atHead(selector, { target: '/v1/responses' })).toBeUndefined();
    expect(atHead(selector)).toMatchObject({ source: 'rule' });
    expect(atHead(selector)).toBeUndefined();
  });

  it('wait for the body where a rule before them needs it', () => {
    const selector = selecting({ sequence: ['rst@accept'] });
    selector.inject({ fault: 'F2', match: 'x' });
    expect(accepted(selector)).toBeUndefined();
    expect(atHead(selector)).toBeUndefined();
    // Met by a request that is there already.
    expect(choose(selector)).toBe('script: rst@accept');
  });

  it('wait for the lane where it is not known, unless a rule is for everybody', () => {
    const selector = selecting({ laneBy: 'body', sequence: ['rst@accept'] });
    expect(accepted(selector)).toBeUndefined();
    selector.inject({ fault: 'fin@accept', once: true });
    expect(accepted(selector)).toMatchObject({ behavior: 'fin@accept', source: 'rule', lane: 'default' });
    expect(accepted(selector)).toBeUndefined();
  });

  it('an unknown word in the head is left for the whole request to be told of', () => {
    const selector = selecting({ sequence: ['empty'] });
    expect(atHead(selector, { headers: { 'x-wirefault': 'nothing' } })).toBeUndefined();
    expect(choose(selector, { headers: { 'x-wirefault': 'nothing' } })).toBe('unknown');
    expect(choose(selector)).toBe('script: empty');
  });

  const HEAD = { request: { read: 'head' } } as const;

  it.each([
    ['a word behind others', { sequence: ['empty', 'rst@accept'] }, ['none', 'none', 'request', 'rst@accept']],
    [
      'random',
      { sequence: ['random'], behaviors: { own: { fault: HEAD } }, randomWeights: { own: 1 } },
      ['none', 'own'],
    ],
    [
      'the script of another lane',
      { lanes: { other: { sequence: ['rst@accept'] } }, sequence: [HEAD] },
      ['none', 'fault'],
    ],
    [
      'the last word, repeated',
      { sequence: ['empty', HEAD], repeatLast: true },
      ['none', 'none', 'request', 'none', 'fault'],
    ],
    ['no word', { sequence: ['empty'] }, ['none', 'none', 'request', 'none', 'none']],
  ] as const)('are looked for where %s may be one', (_, options, expected) => {
    const selector = selecting(options);
    const told: string[] = [];
    const take = (look: () => ReturnType<typeof accepted>): boolean => {
      const found = look();
      told.push(found?.behavior ?? 'none');
      return found !== undefined;
    };
    while (told.length < expected.length) {
      if (take(() => accepted(selector)) || take(() => atHead(selector))) continue;
      selector.request(asking());
      told.push('request');
    }
    expect(told.slice(0, expected.length)).toEqual(expected);
  });
});

describe('a lane that is walked on and on', () => {
  it('keeps its place among others, and its count', () => {
    const options = { laneBy: 'header:x-lane', maxLanes: 3, sequence: ['empty'], repeatLast: true } as const;
    const selector = selecting(options);
    // What a list of the lanes in the order of their last use gives.
    let used: { lane: string; attempts: number }[] = [];
    const lanes = [...'aabacaaddbbbaecccaab'];
    for (const lane of [...lanes, ...lanes.toReversed()]) {
      const attempts = (used.find((one) => one.lane === lane)?.attempts ?? 0) + 1;
      used = [...used.filter((one) => one.lane !== lane), { lane, attempts }].slice(-3);
      expect(selector.request(asking({ headers: { 'x-lane': lane } }))).toMatchObject({ lane, attempt: attempts });
    }
  });

  it('begins anew with the scripts', () => {
    const selector = selecting({ sequence: ['empty', 'refusal'] });
    expect([choose(selector), choose(selector)]).toEqual(['script: empty', 'script: refusal']);
    selector.reset();
    expect([choose(selector), choose(selector), choose(selector)]).toEqual([
      'script: empty',
      'script: refusal',
      'exhausted',
    ]);
  });
});
