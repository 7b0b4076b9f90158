import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FaultSpec } from '../../src/fault/spec.js';
import { spliced } from '../../src/fault/splice.js';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import { PROTOCOLS } from '../../src/sse/dialect.js';
import type { Mark, Marked } from '../../src/sse/mark.js';
import { compiled } from '../support/compiled.js';
import { readAnswer } from '../support/http.js';

const mark = (start: number, end: number): Mark => ({ kind: 'text', index: 1, start, end });

/** Ten bytes, with marks given by `[start, end)`, after a change. */
function changed(ranges: readonly (readonly [number, number])[], at: number, remove: number, insert: string) {
  const whole: Marked = { bytes: Buffer.from('0123456789'), marks: ranges.map(([start, end]) => mark(start, end)) };
  const { bytes, marks } = spliced(whole, { at, remove, insert: Buffer.from(insert) });
  return [bytes.toString(), ...marks.map(({ start, end }) => bytes.toString('latin1', start, end))];
}

describe('bytes that are put in', () => {
  it('inside a mark belong to it', () => {
    expect(changed([[2, 6]], 4, 0, 'ab')).toEqual(['0123ab456789', '23ab45']);
  });

  it('at a border belong to no mark: those behind move, those before stay', () => {
    expect(
      changed(
        [
          [2, 4],
          [4, 6],
          [0, 10],
        ],
        4,
        0,
        'ab',
      ),
    ).toEqual(['0123ab456789', '23', '45', '0123ab456789']);
    expect(changed([[0, 10]], 0, 0, 'ab')).toEqual(['ab0123456789', '0123456789']);
    expect(changed([[0, 10]], 10, 0, 'ab')).toEqual(['0123456789ab', '0123456789']);
  });
});

describe('bytes that are taken out', () => {
  it('are missing from the marks that had them', () => {
    expect(
      changed(
        [
          [0, 3],
          [2, 8],
          [4, 5],
          [6, 10],
        ],
        3,
        4,
        '',
      ),
    ).toEqual(['012789', '012', '27', '', '789']);
  });

  it('are no more than there are', () => {
    expect(changed([[8, 10]], 9, 99, '')).toEqual(['012345678', '8']);
    expect(changed([[8, 10]], 10, 5, 'x')).toEqual(['0123456789x', '89']);
  });

  it('make room for others', () => {
    expect(
      changed(
        [
          [0, 4],
          [4, 6],
          [6, 9],
        ],
        4,
        2,
        'abc',
      ),
    ).toEqual(['0123abc6789', '0123', 'abc', '678']);
  });
});

it('marks stay in the bytes, in their order, whatever is done', () => {
  const range = fc.tuple(fc.nat(10), fc.nat(10)).map(([a, b]): [number, number] => [Math.min(a, b), Math.max(a, b)]);
  fc.assert(
    fc.property(fc.array(range), fc.nat(10), fc.nat(12), fc.string({ maxLength: 4 }), (ranges, at, remove, insert) => {
      const marks = ranges.map(([start, end]) => mark(start, end));
      const whole = { bytes: Buffer.from('0123456789'), marks };
      const after = spliced(whole, { at, remove, insert: Buffer.from(insert) });
      const text = after.bytes.toString();
      expect(text).toBe(`${'0123456789'.slice(0, at)}${insert}${'0123456789'.slice(at + remove)}`);
      after.marks.forEach(({ start, end }, n) => {
        expect(start).toBeGreaterThanOrEqual(0);
        expect(end).toBeGreaterThanOrEqual(start);
        expect(end).toBeLessThanOrEqual(after.bytes.length);
        // What of a mark is outside of the change is still under it.
        const [from = 0, to = 0] = ranges[n] ?? [];
        if (to <= at && from < at) expect([start, end]).toEqual([from, to]);
        if (from >= at + remove && from > at) expect(text.slice(start, end)).toBe('0123456789'.slice(from, to));
      });
    }),
    { seed: 72, numRuns: 500 },
  );
});

describe.each(PROTOCOLS)('splices of %s', (protocol) => {
  const plan = (fault: FaultSpec, asked = {}): WirePlan => compiled(fault, { protocol, ...asked });
  const bodyOf = ({ bytes }: WirePlan): string => readAnswer(bytes)?.body.toString('latin1') ?? '';
  const healthy = plan({});
  const whole = bodyOf(healthy);
  /** Where event 2 begins in the body. */
  const second = whole.split(/(?<=\n\n)/)[0]?.length ?? 0;

  it('of the body come before the framing, which is right again', () => {
    const { bytes } = plan({ splice: [{ at: 'event:1', text: 'ż' }] });
    const answer = readAnswer(bytes);
    expect(answer).toMatchObject({ complete: true, rest: Buffer.alloc(0) });
    expect(answer?.body.toString()).toBe(`${whole.slice(0, second)}ż${whole.slice(second)}`);
  });

  it('take bytes out wherever events and chunks end', () => {
    for (const remove of [1, 7, second, second * 2]) {
      for (const at of [0, 1, second - 1, second, second + 1]) {
        const cut = bodyOf(plan({ splice: [{ at: `body:${at}`, remove, hex: '21' }] }));
        expect(cut).toBe(`${whole.slice(0, at)}!${whole.slice(at + remove)}`);
      }
    }
    expect(bodyOf(plan({ splice: [{ at: 'event:1', remove: 5 }] }))).toBe(
      whole.slice(0, second) + whole.slice(second + 5),
    );
    expect(bodyOf(plan({ splice: [{ at: 'body:3', remove: 1_000_000 }] }))).toBe(whole.slice(0, 3));
  });

  it('come one after the other', () => {
    const splice: FaultSpec['splice'] = [
      { at: 'body:0', text: 'ab' },
      { at: 'body:1', remove: 1, text: 'c' },
      { at: 'end', text: 'z' },
    ];
    expect(bodyOf(plan({ splice }))).toBe(`ac${whole}z`);
  });

  it('of the wire come behind the framing, which is wrong then', () => {
    const text = healthy.bytes.toString('latin1');
    const { bytes } = plan({ splice: [{ at: 'chunk:1', layer: 'wire', text: 'stray', remove: 2 }] });
    const at = healthy.marks.find(({ kind }) => kind === 'chunk')?.end ?? 0;
    expect(bytes.toString('latin1')).toBe(`${text.slice(0, at)}stray${text.slice(at + 2)}`);
    expect(plan({ splice: [{ at: 'byte:0', layer: 'wire', text: 'x' }] }).bytes.toString('latin1')).toBe(`x${text}`);
  });

  it('cuts find their place in what is left', () => {
    const fault: FaultSpec = {
      splice: [{ at: 'event:1', text: 'four' }],
      cut: { at: 'event:2', teardown: 'rst' },
    };
    const { bytes, cut } = plan(fault);
    const delivered = readAnswer(bytes.subarray(0, cut?.offset))?.body.toString('latin1');
    const third = whole.indexOf('\n\n', second) + 2;
    expect(delivered).toBe(`${whole.slice(0, second)}four${whole.slice(second, third)}`);
  });

  it('of a JSON body are bytes of it, and its length is right', () => {
    const asJson = { stream: false };
    const json = bodyOf(plan({}, asJson));
    const spliced = plan({ splice: [{ at: 'text:2', hex: 'ff', remove: 3 }] }, asJson);
    expect(readAnswer(spliced.bytes)).toMatchObject({ complete: true, rest: Buffer.alloc(0) });
    const at = json.indexOf('mock response') + 2;
    expect(bodyOf(spliced)).toBe(`${json.slice(0, at)}\xff${json.slice(at + 3)}`);
  });

  it('at a place that the answer has not are refused', () => {
    expect(() => plan({ splice: [{ at: 'event:999', text: 'x' }] })).toThrow(/^position event:999: /);
  });
});
