import { describe, expect, it } from 'vitest';
import { offsetOf, offsetsOf, type Position } from '../../src/fault/position.js';
import { PROTOCOLS } from '../../src/sse/dialect.js';
import { planner } from '../support/plans.js';

/** Places inside of characters: `char:N+K` and `char:N.mid`. */
const planOf = planner({ fidelity: 'plain', successText: 'aż中b👧c', chunkSize: 100 });

describe.each(PROTOCOLS)('%s', (protocol) => {
  const { bytes, marks } = planOf({}, protocol);
  const at = (position: Position): number | undefined => offsetOf(position, { bytes, marks });

  it.each([
    [1, 'ż'],
    [2, '中'],
    [3, '👧'],
  ])('char:%i+K is K bytes into %s, and nowhere at or behind its end', (n, character) => {
    const start = bytes.indexOf(character);
    const length = Buffer.byteLength(character);
    for (let k = 1; k < length; k++) expect(at(`char:${n}+${k}`)).toBe(start + k);
    expect(at(`char:${n}+0`)).toBeUndefined();
    expect(at(`char:${n}+${length}`)).toBeUndefined();
    expect(at(`char:${n}.mid`)).toBe(start + Math.floor(length / 2));
  });

  it('a body in chunks that end in the characters has the same places in them', () => {
    const chunked = planOf({ framing: { chunks: { at: ['char:*+1'] } } }, protocol);
    const places = offsetsOf('char:*+1', chunked);
    expect(places.length).toBeGreaterThanOrEqual(3);
    // Behind the first byte of a character the chunk ends.
    for (const place of places) expect(chunked.bytes.toString('latin1', place, place + 2)).toBe('\r\n');
  });
});
