import { describe, expect, it } from 'vitest';
import { type BehaviorName, BUILT_IN, DEFAULT_RANDOM_WEIGHTS, faultOf } from '../../src/fault/catalogue.js';
import { draw } from '../../src/fault/random.js';
import { type Script, scriptOf, select, sharesOf } from '../../src/fault/script.js';

const LANE = 'default';
const SHARES = sharesOf(BUILT_IN, DEFAULT_RANDOM_WEIGHTS);
const WINDOW = faultOf('connection_refused').listen;

function scripted(sequence: readonly (BehaviorName | 'random')[], repeatLast = false): Script {
  const named = sequence.map((name) => (name === 'random' ? undefined : { name, fault: faultOf(name) }));
  return scriptOf(named, { repeatLast, seed: 42, shares: SHARES });
}

/** What the attempts 1 to `count` get: a behavior, with `+n` for n windows of the port behind it, or `exhausted`. */
function walked(script: Script, count: number): string[] {
  return Array.from({ length: count }, (_, n) => {
    const selection = select(script, LANE, n + 1);
    if (selection.kind === 'exhausted') return 'exhausted';
    const { behavior, windows } = selection;
    expect(windows).toEqual(windows.map(() => WINDOW));
    return windows.length > 0 ? `${behavior}+${windows.length}` : behavior;
  });
}

describe('which behavior an attempt gets', () => {
  it('the entries in their order, then nothing', () => {
    expect(walked(scripted(['stall', 'success', 'stall']), 5)).toEqual([
      'stall',
      'success',
      'stall',
      'exhausted',
      'exhausted',
    ]);
  });

  it('with repeatLast the last one for ever', () => {
    expect(walked(scripted(['stall', 'success'], true), 4)).toEqual(['stall', 'success', 'success', 'success']);
    expect(select(scripted(['stall'], true), LANE, 1_000_000)).toMatchObject({ behavior: 'stall', attempt: 1_000_000 });
  });

  it('random is drawn for the attempt, and told apart from what was drawn', () => {
    const script = scripted(['success', 'random'], true);
    for (let attempt = 2; attempt < 50; attempt++) {
      const drawn = draw(42, LANE, attempt, SHARES);
      expect(select(script, LANE, attempt)).toEqual({
        kind: 'behavior',
        lane: LANE,
        attempt,
        scripted: 'random',
        behavior: drawn?.name,
        fault: drawn?.fault,
        source: 'script',
        windows: [],
      });
    }
  });

  it('falls behind the attempt where rules took requests', () => {
    const script = scripted(['stall', 'success', 'random']);
    expect(select(script, LANE, 9, 2)).toMatchObject({ behavior: 'success', attempt: 9 });
    expect(select(script, LANE, 9, 3)).toMatchObject({ behavior: draw(42, LANE, 3, SHARES)?.name, attempt: 9 });
  });

  it('an exhausted script says which attempt it was', () => {
    expect(select(scripted(['success']), LANE, 2)).toEqual({ kind: 'exhausted', lane: LANE, attempt: 2 });
  });
});

it("a fault of one's own is told by its name, and handed on as it is", () => {
  const fault = { cut: { at: 'event:2', teardown: 'rst' } } as const;
  const script = scriptOf([{ name: 'mine', fault }], { repeatLast: false, seed: 1, shares: SHARES });
  const selection = select(script, LANE, 1);
  expect(selection).toMatchObject({ behavior: 'mine', scripted: 'mine' });
  expect(selection.kind === 'behavior' && selection.fault).toBe(fault);
});

describe('connection_refused consumes no request', () => {
  it('first in the sequence: windows before the first request', () => {
    const script = scripted(['connection_refused', 'connection_refused', 'success']);
    expect(script.leading).toEqual([WINDOW, WINDOW]);
    expect(walked(script, 2)).toEqual(['success', 'exhausted']);
  });

  it('between others, and last: windows that open when the exchange before them ends', () => {
    const script = scripted(['success', 'connection_refused', 'connection_refused', 'stall', 'connection_refused']);
    expect(script.leading).toEqual([]);
    expect(walked(script, 3)).toEqual(['success+2', 'stall+1', 'exhausted']);
  });

  it('alone: a window, then nothing is left', () => {
    const script = scripted(['connection_refused']);
    expect(script.leading).toEqual([WINDOW]);
    expect(walked(script, 1)).toEqual(['exhausted']);
  });

  it('behind random', () => {
    expect(select(scripted(['random', 'connection_refused', 'success']), LANE, 1)).toMatchObject({
      scripted: 'random',
      windows: [WINDOW],
    });
  });

  it('a window before the last entry opens once, though the entry is repeated', () => {
    expect(walked(scripted(['stall', 'connection_refused', 'success'], true), 4)).toEqual([
      'stall+1',
      'success',
      'success',
      'success',
    ]);
  });

  it('windows of other kinds come as they are, in their order', () => {
    const script = scripted(['refuse_until', 'success', 'backlog_blackhole', 'connection_refused', 'stall']);
    expect(script.leading).toEqual([{ refuseAttempts: 3 }]);
    expect(select(script, LANE, 1)).toMatchObject({ windows: [{ blackholeMs: 'listenDelayMs' }, WINDOW] });
  });
});
