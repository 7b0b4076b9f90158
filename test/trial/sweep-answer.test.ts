import { describe, expect, it } from 'vitest';
import { cutsOf, labelOf, placeOf, terminalOf } from '../../src/trial/sweep-answer.js';
import { SWEEP_POSITIONS } from '../../src/trial/sweep-results.js';
import { planner } from '../support/plans.js';

const answer = planner({ fidelity: 'plain' })('success', 'openai-chat');
const { bytes, marks } = answer;
const offsets = (...asked: Parameters<typeof cutsOf>): number[] => cutsOf(...asked).map(({ offset }) => offset);
const at = (text: string): number => bytes.indexOf(text);

describe('cuts', () => {
  it('every byte: before the first, behind each', () => {
    expect(offsets(answer, 'every-byte', 'rst')).toEqual(Array.from({ length: bytes.length + 1 }, (_, n) => n));
    expect(cutsOf(answer, 'every-byte', 'fin')[17]).toEqual({ teardown: 'fin', offset: 17, position: 'byte:17' });
  });

  it('every event: its borders and its middle', () => {
    const done = at('data: [DONE]');
    expect(offsets(answer, 'every-event', 'rst').slice(-3)).toEqual([done, done + 7, done + 14]);
    expect(offsets(answer, 'every-event', 'rst')).toHaveLength(3 * (bytes.toString().match(/^data: /gm)?.length ?? 0));
  });

  it('marks: their borders and the bytes beside them, within the answer', () => {
    const cut = new Set(offsets(answer, 'marks', 'rst'));
    for (const { start, end } of marks) for (const one of [start, end]) expect(cut.has(one)).toBe(true);
    expect([at('data: [DONE]') - 1, at('data: [DONE]') + 1].every((one) => cut.has(one))).toBe(true);
    expect(Math.min(...cut)).toBe(0);
    expect(Math.max(...cut)).toBe(bytes.length);
  });

  it.each(SWEEP_POSITIONS)('%s: each once, by rising offset', (positions) => {
    for (const teardown of ['rst', 'eof'] as const) {
      const cut = offsets(answer, positions, teardown);
      expect(cut).toEqual([...new Set(cut)].toSorted((a, b) => a - b));
    }
  });

  it('a correct end has a place in the body: none in the head, one between two of its bytes', () => {
    const head = at('\r\n\r\n') + 4;
    const cuts = cutsOf(answer, 'every-byte', 'eof');
    expect(cuts[0]).toEqual({ teardown: 'eof', offset: head, position: 'body:0' });
    expect(cuts.at(-1)?.offset).toBe(at('data: [DONE]') + 14);
    expect(cuts.map(({ position }) => position)).toEqual(cuts.map((_, n) => `body:${n}`));
    // The first byte of the body stands behind the size line of its chunk.
    expect(cuts[1]?.offset).toBe(at('data: ') + 1);
  });
});

describe('a place in words', () => {
  const done = at('data: [DONE]');
  const first = at('data: ');
  it.each([
    [0, 'before the answer'],
    [5, '5 bytes into the status line'],
    [17, 'behind the status line'],
    [18, '1 byte into the headers'],
    [at('\r\n\r\n') + 4, 'behind the headers'],
    [first - 1, 'in the framing behind the headers'],
    [first, 'before event:1 (role)'],
    [first + 3, '3 bytes into event:1 (role)'],
    [done, 'before the terminal ([DONE])'],
    [done + 13, '13 bytes into the terminal ([DONE])'],
    [done + 14, 'behind the terminal ([DONE])'],
    [bytes.length - 1, '4 bytes into the last chunk'],
    [bytes.length, 'behind the answer'],
  ])('%i: %s', (offset, words) => {
    expect(placeOf(answer, offset)).toBe(words);
  });

  it('marks are called as positions call them', () => {
    expect(marks.slice(0, 4).map(labelOf)).toEqual(['status_line', 'headers', 'chunk:1', 'chunk_size:1']);
    const terminal = terminalOf(answer);
    expect(terminal && [labelOf(terminal), terminal.start]).toEqual([`event:${terminal?.index}`, done]);
    expect(terminalOf({ bytes, marks: marks.filter(({ role }) => role !== 'terminal') })).toBeUndefined();
  });
});
