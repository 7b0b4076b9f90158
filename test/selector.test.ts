import { describe, expect, it } from 'vitest';
import { type Asking, asking, choose, headOf, type Selecting, selecting, told } from './support/selecting.js';

/** What was used up: the rule's hits, and which word the script tells next. */
function used(selector: Selecting): { readonly hits: number; readonly next: string } {
  const hits = [...selector.rules.spent, ...selector.rules.rules].reduce((sum, rule) => sum + rule.hits, 0);
  selector.rules.clear();
  return { hits, next: choose(selector) };
}

const BITS = [false, true];
const SOURCES = BITS.flatMap((query) =>
  BITS.flatMap((header) => BITS.flatMap((rule) => BITS.map((script) => ({ query, header, rule, script })))),
);

/** In each cell the sources ask for different faults. */
const FAULTS = { query: 'rate_limit', header: 'F2', rule: 'F3' } as const;

describe('query > header > rule > script, cell by cell', () => {
  for (const place of ['?fault=', '/fault/…/'] as const) {
    for (const cell of SOURCES) {
      const present = Object.entries(cell).flatMap(([source, there]) => (there ? [source] : []));
      const winner = (['query', 'header', 'rule', 'script'] as const).find((source) => cell[source]);
      it(`${place} ${present.join(' + ') || 'nothing'}: ${winner ?? 'exhausted'}`, () => {
        // Without a script: the one that there is was used up.
        const selector = selecting({ sequence: cell.script ? ['empty', 'refusal'] : ['success'] });
        if (!cell.script) choose(selector);
        if (cell.rule) selector.inject({ fault: FAULTS.rule, once: true });
        const path = '/v1/chat/completions';
        const asked = place === '?fault=' ? `${path}?fault=${FAULTS.query}` : `/fault/${FAULTS.query}${path}`;
        const chosen = choose(selector, {
          target: cell.query ? asked : path,
          headers: cell.header ? { 'x-wirefault': FAULTS.header } : {},
        });
        const names = { ...FAULTS, script: 'empty' } as const;
        expect(chosen).toBe(winner ? `${winner}: ${names[winner]}` : 'exhausted');
        // Only the source that won has lost something.
        const next = !cell.script ? 'exhausted' : `script: ${winner === 'script' ? 'refusal' : 'empty'}`;
        expect(used(selector)).toEqual({ hits: winner === 'rule' ? 1 : 0, next });
      });
    }
  }

  for (const cell of SOURCES.filter(({ query, header }) => query || header)) {
    for (const wrong of ['query', 'header'] as const) {
      if (!cell[wrong]) continue;
      const present = Object.entries(cell).flatMap(([source, there]) => (there ? [source] : []));
      const refused = wrong === 'query' || !cell.query;
      it(`an unknown word in the ${wrong} of ${present.join(' + ')}: ${refused ? 'refused, nothing is used up' : 'not looked at'}`, () => {
        const selector = selecting({ sequence: cell.script ? ['empty', 'refusal'] : ['success'] });
        if (!cell.script) choose(selector);
        if (cell.rule) selector.inject({ fault: FAULTS.rule, once: true });
        const query = wrong === 'query' ? 'rate_limmit' : FAULTS.query;
        const selection = selector.request(
          asking({
            target: `/v1/chat/completions${cell.query ? `?fault=${query}` : ''}`,
            headers: cell.header ? { 'x-wirefault': wrong === 'header' ? 'rate_limmit' : FAULTS.header } : {},
          }),
        );
        if (refused)
          expect(selection).toMatchObject({ kind: 'unknown', message: expect.stringContaining('"rate_limit"') });
        else expect(told(selection)).toBe('query: rate_limit');
        expect(used(selector)).toEqual({ hits: 0, next: cell.script ? 'script: empty' : 'exhausted' });
      });
    }
  }
});

describe('what a request may ask for', () => {
  const by = (text: string, selector = selecting()) => selector.request(asking({ headers: { 'x-wirefault': text } }));

  it('any behavior, teardown@position, behavior@position, random, or a fault as JSON', () => {
    expect(told(by('F1+'))).toBe('header: F1+');
    expect(told(by('rst@event:3+17'))).toBe('header: rst@event:3+17');
    expect(told(by('partial_disconnect@event:2'))).toBe('header: partial_disconnect@event:2');
    expect(by('random')).toMatchObject({ scripted: 'random', source: 'header' });
    expect(by('{"cut":{"at":"event:3","teardown":"rst"}}')).toMatchObject({
      behavior: 'fault',
      fault: { cut: { at: 'event:3', teardown: 'rst' } },
    });
  });

  it('a behavior of the scenario, which may have the name of a built-in one', () => {
    const behaviors = {
      mine: { extends: 'rate_limit' },
      F2: { fault: { cut: { at: 'event:1', teardown: 'fin' } } },
    } as const;
    const selector = selecting({ behaviors });
    expect(told(by('mine', selector))).toBe('header: mine');
    expect(by('F2', selector)).toMatchObject({ fault: behaviors.F2.fault });
  });

  it('the same fault is one object each time, so that its plan is compiled once', () => {
    const selector = selecting();
    const [first, second] = [1, 2].map(() => by('{"cut":{"at":"event:3","teardown":"rst"}}', selector));
    expect(first).toHaveProperty('fault');
    if (first?.kind === 'behavior' && second?.kind === 'behavior') expect(first.fault).toBe(second.fault);
  });

  const refused: readonly (readonly [string, RegExp])[] = [
    ['sucess', /unknown behavior "sucess", did you mean "success"\?/],
    ['', /unknown behavior ""/],
    ['zzz', /known, the nearest /],
    ['rsst@event:3', /unknown teardown or behavior "rsst", did you mean "rst"\?/],
    ['rst@evnt:3', /unknown position "evnt:3", did you mean "event:N"\?/],
    ['{"cut":', /the fault is not JSON: /],
    ['{"cutt":{}}', /unknown key "cutt", did you mean "cut"\?/],
    ['{"cut":{"at":"byte:3","teardown":"eof"}}', /eof ends the body correctly/],
    ['connection_refused', /connection_refused is a fault of the port, which no request can ask for/],
    ['{"listen":{"refuseMs":5}}', /is a fault of the port/],
    ['toString', /unknown behavior "toString"/],
  ];
  for (const [text, message] of refused) {
    it(`not ${text || 'nothing'}`, () => {
      expect(by(text)).toMatchObject({ kind: 'unknown', message: expect.stringMatching(message) });
    });
  }
});

describe('what rules take from the script', () => {
  it('is nothing: the next request gets the next word', () => {
    const selector = selecting({ sequence: ['empty', 'refusal'] });
    selector.inject({ fault: 'F2', once: true, label: 'mine' });
    const selections = [1, 2, 3, 4].map(() => selector.request(asking()));
    expect(selections.map(told)).toEqual(['rule: F2', 'script: empty', 'script: refusal', 'exhausted']);
    expect(selections.map(({ kind, ...rest }) => kind !== 'unknown' && 'attempt' in rest && rest.attempt)).toEqual([
      1, 2, 3, 4,
    ]);
    expect(selections[0]).toMatchObject({ rule: 'mine' });
  });

  it('so a rule with a number tells its number', () => {
    const selector = selecting();
    selector.inject({ fault: 'F2' });
    expect(selector.request(asking())).toMatchObject({ source: 'rule', rule: '1' });
  });

  it('rules look at what the request is', () => {
    const selector = selecting();
    selector.inject({
      fault: 'F2',
      match: { json: { 'tools.length': '>0' } },
      avoid: 'title',
      model: 'gpt',
      once: true,
    });
    const agent = { model: 'gpt-5.4', tools: [{}], messages: [{ content: 'work' }] };
    expect(choose(selector, { body: { model: 'gpt-5.4', messages: [] } })).toBe('script: success');
    expect(choose(selector, { body: { ...agent, messages: [{ content: 'title' }] } })).toBe('script: success');
    expect(choose(selector, { body: { ...agent, model: 'claude' } })).toBe('script: success');
    expect(selector.rules.rules[0]?.misses.map(({ why }) => why)).toEqual([
      'model "claude" has no gpt',
      'the body has title',
      'tools.length is absent, not ">0"',
    ]);
    expect(choose(selector, { body: agent })).toBe('rule: F2');
    expect(choose(selector, { body: agent })).toBe('script: success');
  });
});

describe('lanes', () => {
  const inLane = (lane: string): Asking => ({ headers: { 'x-lane': lane } });

  it('walk the script each by itself, those with one of their own that', () => {
    const selector = selecting({
      laneBy: 'header:x-lane',
      sequence: ['empty', 'refusal'],
      lanes: { b: { sequence: ['F2', 'F3'], repeatLast: true }, default: { sequence: ['F4'] } },
    });
    const asked = ['a', 'b', 'a', 'c', 'b', 'a', 'b'].map((lane) => choose(selector, inLane(lane)));
    expect(asked).toEqual([
      'script: empty',
      'script: F2',
      'script: refusal',
      'script: empty',
      'script: F3',
      'exhausted',
      'script: F3',
    ]);
    // Without the header it is the lane that is called default.
    expect([choose(selector), choose(selector)]).toEqual(['script: F4', 'exhausted']);
  });

  it('start anew as a new generation', () => {
    const selector = selecting({ laneBy: 'header:x-lane', sequence: ['empty', 'refusal'] });
    selector.inject({ fault: 'F2', match: 'never' });
    for (const lane of ['a', 'b', 'a']) choose(selector, inLane(lane));
    expect(selector.generation).toBe(1);
    expect([selector.reset(), selector.generation]).toEqual([2, 2]);
    expect(selector.request(asking(inLane('a')))).toMatchObject({ behavior: 'empty', attempt: 1 });
    expect(selector.rules.rules).toHaveLength(1);
    expect(selector.droppedLanes).toBe(0);
  });

  it('are kept up to a bound; the least recently used go first, and are counted', () => {
    const selector = selecting({ laneBy: 'header:x-lane', maxLanes: 2, sequence: ['empty', 'refusal', 'F2'] });
    expect(['a', 'b', 'a', 'c', 'a', 'b'].map((lane) => choose(selector, inLane(lane)))).toEqual([
      'script: empty',
      'script: empty',
      'script: refusal',
      // b goes.
      'script: empty',
      'script: F2',
      // c goes, and b begins anew.
      'script: empty',
    ]);
    expect(selector.droppedLanes).toBe(2);
  });

  it('are not pushed out by what takes nothing from a lane', () => {
    const selector = selecting({ laneBy: 'header:x-lane', maxLanes: 1, sequence: ['empty', 'refusal', 'F2'] });
    choose(selector, inLane('a'));
    // Looks before the lane is known, and a request that is refused.
    expect(selector.at('accept', { connection: 2 })).toBeUndefined();
    expect(selector.at('head', { connection: 2, head: headOf(inLane('b')), protocol: 'openai-chat' })).toBeUndefined();
    choose(selector, { headers: { 'x-lane': 'b', 'x-wirefault': 'nothing' } });
    expect(choose(selector, inLane('a'))).toBe('script: refusal');
    expect(selector.droppedLanes).toBe(0);
  });
});
