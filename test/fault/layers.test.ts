import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WirefaultError } from '../../src/errors.js';
import { CONCRETE_BEHAVIOR_NAMES, faultOf } from '../../src/fault/catalogue.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import { type AskedPlan, compiled } from '../support/compiled.js';
import { type ReadEvent, readStream } from '../support/event-stream.js';
import { answers, asked, chunkings, segments, sseForms, uncutFaults } from '../support/faults.js';
import { readAnswer } from '../support/http.js';

/** The layers of an answer are independent: a fault touches one, and the others don't move. */

const bodyOf = (plan: WirePlan): Buffer => readAnswer(plan.bytes)?.body ?? Buffer.alloc(0);
const writesOf = ({ steps }: WirePlan) => steps.filter((step) => step.op === 'write');
const waitsOf = ({ steps }: WirePlan): number[] => steps.flatMap((step) => (step.op === 'wait' ? [step.ms] : []));

/** The plan, or `undefined` where the answer doesn't reach a position. */
function compiledIfPossible(fault: FaultSpec, given: AskedPlan): WirePlan | undefined {
  try {
    return compiled(fault, given);
  } catch (thrown) {
    if (thrown instanceof WirefaultError && thrown.code === 'plan_impossible') return undefined;
    throw thrown;
  }
}

describe('segments', () => {
  it('change no byte and no mark: the same bytes are written, in other pieces', () => {
    fc.assert(
      fc.property(uncutFaults, segments, asked, (fault, given, how) => {
        const { segments: _, ...rest } = fault;
        const [without, within] = [compiled(rest, how), compiled({ ...rest, segments: given }, how)];
        expect(within.bytes.equals(without.bytes)).toBe(true);
        expect(within.marks).toEqual(without.marks);
        const pieces = writesOf(within).map(({ start, end }) => within.bytes.subarray(start, end));
        expect(Buffer.concat(pieces).equals(without.bytes)).toBe(true);
        if (given.everyBytes !== undefined) {
          const size = given.everyBytes;
          expect(pieces.slice(0, -1).every(({ length }) => length === size)).toBe(true);
          expect(pieces.at(-1)?.length).toBeLessThanOrEqual(size);
        }
        const gap = given.gapMs ?? (given.at ? 20 : 0);
        if (gap > 0) expect(new Set(waitsOf(within))).toEqual(new Set(pieces.length > 1 ? [gap] : []));
      }),
      { seed: 101, numRuns: 300 },
    );
  });
});

describe('the form of the event stream', () => {
  const JSON_LIKE = /^[{[]/;
  /** Data as it is understood: white space between the tokens of JSON means nothing. */
  function understood({ type, data }: ReadEvent): unknown {
    if (!JSON_LIKE.test(data)) return { type, data };
    try {
      return { type, json: JSON.parse(data) };
    } catch {
      return { type, data };
    }
  }

  it('changes no event, whatever the line ends, spaces, ids and data lines are', () => {
    fc.assert(
      fc.property(answers, sseForms, asked, (answer, sse, how) => {
        const given = { ...how, stream: true };
        const plain = readStream(bodyOf(compiled({ answer }, given)));
        const formed = readStream(bodyOf(compiled({ answer, sse }, given)));
        expect(formed.events.map(understood)).toEqual(plain.events.map(understood));
        if ((sse.dataLines ?? 1) === 1) {
          expect(formed.events.map(({ data }) => data)).toEqual(plain.events.map(({ data }) => data));
        }
        expect(formed.pending).toBe(false);
        const ids = formed.events.map(({ lastEventId }) => lastEventId);
        // Each event counts, those that only say that the server lives too.
        if (sse.ids) expect(ids).toEqual(ids.toSorted((a, b) => Number(a) - Number(b)));
        else expect(new Set(ids)).toEqual(new Set(['']));
      }),
      { seed: 102, numRuns: 300 },
    );
  });

  it('changes no byte of a JSON body, and that is told', () => {
    fc.assert(
      fc.property(answers, sseForms, asked, (answer, sse, how) => {
        const given = { ...how, stream: false };
        const formed = compiled({ answer, sse }, given);
        expect(formed.bytes.equals(compiled({ answer }, given).bytes)).toBe(true);
        expect(formed.unapplied).toEqual(['sse']);
      }),
      { seed: 103, numRuns: 30 },
    );
  });
});

describe('the framing', () => {
  it('changes no byte of the body, nor of the head, wherever its chunks end', () => {
    fc.assert(
      fc.property(uncutFaults, chunkings, asked, (fault, chunks, how) => {
        const plain = { ...fault, framing: {} };
        const [without, within] = [compiled(plain, how), compiled({ ...plain, framing: { chunks } }, how)];
        expect(bodyOf(within).equals(bodyOf(without))).toBe(true);
        expect(readAnswer(within.bytes)).toMatchObject({ rest: Buffer.alloc(0), complete: !without.closes });
        const headOf = ({ bytes }: WirePlan): string => bytes.toString('latin1', 0, bytes.indexOf('\r\n\r\n'));
        expect(headOf(within)).toBe(headOf(without));
        const chunked = readAnswer(without.bytes)?.headers.some(([name]) => name === 'transfer-encoding');
        expect(within.unapplied.includes('framing')).toBe(!chunked);
      }),
      { seed: 104, numRuns: 300 },
    );
  });
});

describe('a behavior that leaves the words and their form alone', () => {
  // Of these layers nothing is in the body.
  const outside = ['segments', 'pace', 'idle', 'cut', 'head', 'request'];
  const names = CONCRETE_BEHAVIOR_NAMES.filter((name) => {
    const { framing = {}, answer, ...rest } = faultOf(name);
    const whole = answer === undefined || JSON.stringify(answer) === JSON.stringify(faultOf('success').answer);
    const honest = Object.keys(framing).every((key) => key === 'chunks' || key === 'kind');
    const { at = 'end' } = rest.cut ?? {};
    return whole && honest && Object.keys(rest).every((key) => outside.includes(key)) && /^(end|events)$/.test(at);
  });

  it.each(names)('%s has the body of a success', (name) => {
    for (const protocol of ['openai-chat', 'openai-responses', 'anthropic-messages'] as const) {
      for (const stream of [true, false]) {
        const plan = compiled(faultOf(name), { protocol, stream });
        const success = compiled(faultOf('success'), { protocol, stream });
        const final = plan.marks.find(({ kind }) => kind === 'status_line')?.start ?? 0;
        const head = plan.marks.find(({ kind }) => kind === 'headers')?.end ?? 0;
        const wellBegun = Buffer.concat([
          success.bytes.subarray(0, success.bytes.indexOf('\r\n\r\n') + 4),
          plan.bytes.subarray(head),
        ]);
        expect(head).toBeGreaterThan(final);
        const framed = readAnswer(faultOf(name).framing ? plan.bytes : wellBegun);
        expect(framed?.body.equals(bodyOf(success))).toBe(true);
      }
    }
  });

  it('there are some', () => {
    expect(names).toEqual(expect.arrayContaining(['drip', 'coalesce', 'chunk_misaligned', 'informational_storm']));
  });
});

describe('a plan', () => {
  it('is a pure function of its inputs', () => {
    fc.assert(
      fc.property(uncutFaults, asked, (fault, how) => {
        const [one, other] = [compiledIfPossible(fault, how), compiledIfPossible(structuredClone(fault), { ...how })];
        expect(JSON.stringify(one)).toBe(JSON.stringify(other));
      }),
      { seed: 105, numRuns: 100 },
    );
  });

  it('has steps that write each byte once, in order', () => {
    fc.assert(
      fc.property(uncutFaults, asked, (fault, how) => {
        const plan = compiled(fault, how);
        let at = 0;
        for (const { start, end } of writesOf(plan)) {
          expect(start).toBe(at);
          expect(end).toBeGreaterThan(start);
          at = end;
        }
        expect(at).toBe(plan.bytes.length);
      }),
      { seed: 106, numRuns: 100 },
    );
  });

  it('has marks that lie in its bytes', () => {
    fc.assert(
      fc.property(uncutFaults, asked, (fault, how) => {
        const { bytes, marks } = compiled(fault, how);
        for (const { start, end } of marks) {
          expect(start).toBeLessThanOrEqual(end);
          expect(end).toBeLessThanOrEqual(bytes.length);
        }
      }),
      { seed: 107, numRuns: 100 },
    );
  });
});
