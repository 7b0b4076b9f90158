import { describe, expect, it } from 'vitest';
import { BUILT_IN, faultOf } from '../../src/fault/catalogue.js';
import { catalogueWith } from '../../src/fault/own-behaviors.js';
import { meaningOf, problemWith } from '../../src/fault/word.js';
import type { OwnBehavior } from '../../src/options.js';

type Own = Readonly<Record<string, OwnBehavior>>;

/** What is wrong with them, one line each. */
const problems = (own: Own): string[] =>
  catalogueWith(own).problems.map(({ path, message }) => {
    expect(message).not.toContain('\n');
    return `${path.join('.')}: ${message}`;
  });

function behavior(own: Own, name: string) {
  const { catalogue, problems } = catalogueWith(own);
  expect(problems).toEqual([]);
  return catalogue.get(name);
}

const CUT = { at: 'event:2', teardown: 'rst' } as const;

describe('a behavior of its own', () => {
  it('stands behind the built-in ones, which stay as they are', () => {
    const { catalogue } = catalogueWith({ mine: { fault: { cut: CUT }, meaning: 'mine!' } });
    expect([...catalogue.keys()]).toEqual([...BUILT_IN.keys(), 'mine']);
    expect(catalogue.get('mine')).toEqual({
      name: 'mine',
      layer: 'connection',
      meaning: 'mine!',
      fault: { cut: CUT },
    });
    expect(BUILT_IN.has('mine')).toBe(false);
    for (const [name, built] of BUILT_IN) expect(catalogue.get(name)).toBe(built);
  });

  it('without a fault is a healthy answer', () => {
    expect(behavior({ mine: {} }, 'mine')).toMatchObject({ fault: {}, layer: 'answer', meaning: 'of a scenario' });
  });

  it('has the layers of what it extends, its own instead of those of the same name', () => {
    const own: Own = {
      low: { extends: 'partial_disconnect', fault: { sse: { eol: 'crlf' } } },
      high: { extends: 'low', fault: { cut: CUT, pace: { firstByteMs: 3 } } },
    };
    const base = faultOf('partial_disconnect');
    expect(behavior(own, 'low')?.fault).toEqual({ ...base, sse: { eol: 'crlf' } });
    expect(behavior(own, 'high')).toMatchObject({
      meaning: 'as low, changed',
      fault: { ...base, sse: { eol: 'crlf' }, cut: CUT, pace: { firstByteMs: 3 } },
    });
    // In whatever order they are written.
    const turned = Object.fromEntries(Object.entries(own).reverse());
    expect(behavior(turned, 'high')?.fault).toEqual(behavior(own, 'high')?.fault);
  });

  it('may take the place of a built-in one, and extend it', () => {
    const own: Own = { stall: { extends: 'stall', fault: { head: { reason: 'Fine' } } }, mine: { extends: 'stall' } };
    const fault = { ...faultOf('stall'), head: { reason: 'Fine' } };
    expect(behavior(own, 'stall')?.fault).toEqual(fault);
    expect(behavior(own, 'mine')?.fault).toEqual(fault);
    expect(meaningOf('stall', catalogueWith(own).catalogue)).toEqual({ name: 'stall', fault });
  });

  it('is a word of the script: by name, with its cut moved, and among those that are near', () => {
    const { catalogue } = catalogueWith({ 'my-cut.v2': { fault: { cut: CUT } }, plain: {} });
    expect(meaningOf('my-cut.v2@headers', catalogue)).toEqual({
      name: 'my-cut.v2@headers',
      fault: { cut: { at: 'headers', teardown: 'rst' } },
    });
    expect(problemWith('plain@headers', catalogue)).toMatch(/plain has no cut that could be moved/);
    expect(problemWith('my-cut.v', catalogue)).toMatch(/^unknown behavior "my-cut\.v", did you mean "my-cut\.v2"\?/);
    expect(problemWith('my-cut.v2')).toMatch(/^unknown behavior "my-cut\.v2"/);
  });
});

describe('what is wrong with one', () => {
  it.each<[Own, ...(string | RegExp)[]]>([
    [{ 'a b': {} }, 'a b: is no name for a behavior; use letters, digits and _ + . -'],
    [{ 'a@b': {} }, /^a@b: is no name/],
    [{ '': {} }, /^: is no name/],
    [{ ['x'.repeat(65)]: {} }, /is no name/],
    [{ random: {} }, /^random: is no name/],
    [{ mine: { extends: 'stal' } }, /^mine\.extends: unknown behavior "stal", did you mean "stall"\?/],
    [{ mine: { extends: 'mine' } }, /^mine\.extends: unknown behavior "mine"/],
    [{ mine: { extends: 'toString' } }, /^mine\.extends: unknown behavior "toString"/],
    [{ mine: { extends: 'other2' }, other: {} }, /^mine\.extends: .*did you mean "other"\?/],
    [{ mine: { fault: { segments: {} } } }, /^mine\.fault\.segments: ends no segment/],
    // Only together do they contradict each other.
    [
      { mine: { extends: 'keep_alive_stale', fault: { cut: CUT } } },
      /^mine\.fault\.idle: the connection ends with rst/,
    ],
  ])('%j', (own, ...wanted) => {
    expect(problems(own)).toEqual(wanted.map((one) => (typeof one === 'string' ? one : expect.stringMatching(one))));
  });

  it('is told all at once, with its place', () => {
    const fault = { cutt: 1, sse: { eol: 'LF' } } as object;
    expect(problems({ one: { fault }, two: { extends: 'succes' } })).toEqual([
      expect.stringMatching(/^one\.fault\.sse\.eol: unknown word "LF"/),
      expect.stringMatching(/^one\.fault\.cutt: unknown key "cutt", did you mean "cut"\?/),
      expect.stringMatching(/^two\.extends: unknown behavior "succes", did you mean "success"\?/),
    ]);
  });

  it('is told once, and not of those that extend it', () => {
    const own: Own = { bad: { fault: { segments: {} } }, one: { extends: 'bad' }, two: { extends: 'one' } };
    expect(problems(own)).toEqual([expect.stringMatching(/^bad\.fault\.segments/)]);
    expect(['bad', 'one', 'two'].filter((name) => catalogueWith(own).catalogue.has(name))).toEqual([]);
  });

  it('a circle is told at each behavior that is in it, and at no other', () => {
    const own: Own = { a: { extends: 'b' }, b: { extends: 'c' }, c: { extends: 'a' }, into: { extends: 'b' } };
    expect(problems(own)).toEqual([
      'a.extends: a extends b extends c extends a: a circle',
      'b.extends: b extends c extends a extends b: a circle',
      'c.extends: c extends a extends b extends c: a circle',
    ]);
    expect(catalogueWith(own).catalogue.has('into')).toBe(false);
  });
});
