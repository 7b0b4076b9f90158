import { describe, expect, it } from 'vitest';
import { type BehaviorName, DEFAULT_RANDOM_WEIGHTS } from '../../src/fault/catalogue.js';
import { draw } from '../../src/fault/random.js';
import { type Script, scriptOf, select } from '../../src/fault/script.js';

const LANE = 'default';

function scripted(sequence: readonly BehaviorName[], repeatLast = false): Script {
  return scriptOf(sequence, { repeatLast, seed: 42, weights: DEFAULT_RANDOM_WEIGHTS });
}

/** What the attempts 1 to `count` get: a behavior, with `+n` for n refusal windows behind it, or `exhausted`. */
function walked(script: Script, count: number): string[] {
  return Array.from({ length: count }, (_, n) => {
    const selection = select(script, LANE, n + 1);
    if (selection.kind === 'exhausted') return 'exhausted';
    return selection.refusals > 0 ? `${selection.behavior}+${selection.refusals}` : selection.behavior;
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
      expect(select(script, LANE, attempt)).toEqual({
        kind: 'behavior',
        lane: LANE,
        attempt,
        scripted: 'random',
        behavior: draw(42, LANE, attempt, DEFAULT_RANDOM_WEIGHTS),
        refusals: 0,
      });
    }
  });

  it('an exhausted script says which attempt it was', () => {
    expect(select(scripted(['success']), LANE, 2)).toEqual({ kind: 'exhausted', lane: LANE, attempt: 2 });
  });
});

describe('connection_refused consumes no request', () => {
  it('first in the sequence: windows before the first request', () => {
    const script = scripted(['connection_refused', 'connection_refused', 'success']);
    expect(script.leadingRefusals).toBe(2);
    expect(walked(script, 2)).toEqual(['success', 'exhausted']);
  });

  it('between others, and last: windows that open when the exchange before them ends', () => {
    const script = scripted(['success', 'connection_refused', 'connection_refused', 'stall', 'connection_refused']);
    expect(script.leadingRefusals).toBe(0);
    expect(walked(script, 3)).toEqual(['success+2', 'stall+1', 'exhausted']);
  });

  it('alone: a window, then nothing is left', () => {
    const script = scripted(['connection_refused']);
    expect(script.leadingRefusals).toBe(1);
    expect(walked(script, 1)).toEqual(['exhausted']);
  });

  it('behind random', () => {
    expect(select(scripted(['random', 'connection_refused', 'success']), LANE, 1)).toMatchObject({
      scripted: 'random',
      refusals: 1,
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
});
