import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { faultOf } from '../../src/fault/catalogue.js';
import { problemsOf } from '../../src/fault/contradictions.js';
import { offsetOf, POSITIONS, type Position } from '../../src/fault/position.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import type { Mark } from '../../src/sse/mark.js';
import { type AskedPlan, compiled } from '../support/compiled.js';
import { asked, uncutFaults } from '../support/faults.js';
import { type Answer, readAnswer } from '../support/http.js';

/**
 * Any position of any plan cuts exactly there. What a position means is told here once more, in other words: by what a
 * plain reader of HTTP makes of the bytes before the cut.
 */
interface Cut {
  /** The whole answer, and its body. */
  readonly whole: WirePlan;
  readonly body: Buffer;
  readonly offset: number;
  /** What is delivered, and what a reader makes of it and of a byte less. */
  readonly sent: Buffer;
  readonly read: Answer | undefined;
  readonly less: Answer | undefined;
  /** Body bytes that are delivered. */
  readonly got: number;
}

type Meaning = (cut: Cut, n: number, k: number) => unknown;

const CRLF = '\r\n';
const headEnd = ({ bytes }: WirePlan): number => bytes.indexOf('\r\n\r\n') + 4;
const lineEnd = ({ bytes }: WirePlan): number => bytes.indexOf(CRLF) + 2;
const next = ({ whole, offset }: Cut, count: number): string => whole.bytes.toString('latin1', offset, offset + count);
const chunksIn = (answer: Answer | undefined): number => answer?.chunks.length ?? 0;
const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

function sizesOf(whole: WirePlan): readonly number[] {
  return readAnswer(whole.bytes)?.chunks ?? [];
}

const eventsOf = ({ marks }: WirePlan): Mark[] => marks.filter(({ kind }) => kind === 'event' || kind === 'part');

/** Body bytes before a place of the wire. */
const bodyBefore = ({ bytes }: WirePlan, offset: number): number =>
  readAnswer(bytes.subarray(0, offset))?.body.length ?? 0;

/** That all bytes of the first `count` events are there, with the end of a chunk that ends with the last of them. */
function expectEvents({ whole, offset, got }: Cut, last: Mark | undefined): void {
  const end = last?.end ?? 0;
  expect(got).toBe(bodyBefore(whole, end));
  const ended = whole.marks.some(({ kind, end: dataEnd }) => kind === 'chunk_data' && dataEnd === end);
  expect(offset).toBe(ended ? end + 2 : end);
}

/** The characters of a kind of content that are delivered, and that a byte less would not have. */
function contentIn({ whole, offset }: Cut, kind: Mark['kind']): { now: string; before: string } {
  const upTo = (end: number): string => {
    const marks = whole.marks.filter((mark) => mark.kind === kind && mark.start < end);
    const parts = marks.map((mark) => whole.bytes.subarray(mark.start, Math.min(mark.end, end)));
    const text = Buffer.concat(parts).toString(kind === 'text' ? 'utf8' : 'latin1');
    if (marks.some(({ raw }) => raw)) return text;
    try {
      return JSON.parse(`"${text}"`);
    } catch {
      return `${text} (in an escape)`;
    }
  };
  return { now: upTo(offset), before: upTo(offset - 1) };
}

/** Where the characters of several bytes begin in the body, with their lengths. */
function wideIn(body: Buffer): { at: number; length: number }[] {
  return Array.from(body.entries()).flatMap(([at, byte]) =>
    byte >= 0xc0 ? [{ at, length: byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2 }] : [],
  );
}

function lastOf(events: readonly Mark[], role: Mark['role']): Mark | undefined {
  return events.findLast((event) => event.role === role);
}

const MEANINGS: Readonly<Record<string, Meaning>> = {
  accept: ({ offset }) => expect(offset).toBe(0),
  'request:K': ({ offset }) => expect(offset).toBe(0),
  request: ({ offset }) => expect(offset).toBe(0),
  'status_line:K': ({ offset, whole }, k) => {
    expect(offset).toBe(k);
    expect(k).toBeLessThanOrEqual(lineEnd(whole));
  },
  headers: ({ offset, whole }) => expect(offset).toBe(headEnd(whole)),
  'headers:K': ({ offset, whole }, k) => {
    expect(offset).toBe(lineEnd(whole) + k);
    expect(offset).toBeLessThanOrEqual(headEnd(whole));
  },
  'body:K': ({ got, less, offset, whole }, k) => {
    expect(got).toBe(k);
    if (k === 0) expect(offset).toBe(headEnd(whole));
    else expect(less?.body.length).toBe(k - 1);
  },
  'byte:K': ({ offset }, k) => expect(offset).toBe(k),
  'chunk:N': ({ read, less }, n) => expect([chunksIn(read), chunksIn(less)]).toEqual([n, n - 1]),
  'chunk:N.size': (cut, n) => {
    expect(chunksIn(cut.read)).toBe(n - 1);
    expect(cut.sent.toString('latin1').split(CRLF).at(-1)).toMatch(/^[0-9a-f]+(;x=1)?$/);
    expect(next(cut, 2)).toBe(CRLF);
  },
  'chunk:N.data+K': ({ read, got, whole }, n, k) => {
    expect(chunksIn(read)).toBe(n - 1);
    expect(got).toBe(sum(sizesOf(whole).slice(0, n - 1)) + k);
  },
  'chunk:N.end': (cut, n) => {
    expect(chunksIn(cut.read)).toBe(n - 1);
    expect(cut.got).toBe(sum(sizesOf(cut.whole).slice(0, n)));
    expect(next(cut, 2)).toBe(CRLF);
  },
  last_chunk: (cut) => {
    const { whole, read, offset, got, body } = cut;
    expect(got).toBe(body.length);
    if (!whole.marks.some(({ kind }) => kind === 'last_chunk')) return expect(offset).toBe(whole.bytes.length);
    expect(next(cut, 1)).toBe('0');
    return expect(chunksIn(read)).toBe(sizesOf(whole).length);
  },
  'last_chunk.end': (cut) => {
    expect(cut.offset).toBe(cut.whole.bytes.length - 2);
    expect(cut.read?.complete).toBe(false);
    expect(next(cut, 9)).toBe(CRLF);
  },
  'last_chunk+K': ({ sent, got, body }, k) => {
    expect(got).toBe(body.length);
    expect('0;x=1\r\nx-t: v\r\n\r\n0\r\nx-t: v\r\n\r\n0;x=1\r\n\r\n0\r\n\r\n').toContain(
      sent.toString('latin1', sent.length - k),
    );
  },
  'event:N': (cut, n) => expectEvents(cut, eventsOf(cut.whole)[n - 1]),
  'event:N+K': ({ whole, got, offset, less }, n, k) => {
    const { start = -1, end = -1 } = eventsOf(whole)[n] ?? {};
    expect(got).toBe(bodyBefore(whole, start) + k);
    expect(got).toBeLessThanOrEqual(bodyBefore(whole, end));
    if (k === 0) expect(offset).toBe(start);
    else expect(less?.body.length).toBe(got - 1);
  },
  'event:N.mid': ({ whole, got, less }, n) => {
    const { start = 0, end = 0 } = eventsOf(whole)[n - 1] ?? {};
    const [before, behind] = [bodyBefore(whole, start), bodyBefore(whole, end)];
    expect(got).toBe(before + Math.floor((behind - before) / 2));
    if (got > before) expect(less?.body.length).toBe(got - 1);
  },
  'text:N': (cut, n) => {
    const { now, before } = contentIn(cut, 'text');
    expect(Array.from(now)).toHaveLength(n);
    expect(before).not.toBe(now);
  },
  'char:N.mid': ({ got, body }, n) => {
    const { at = 0, length = 0 } = wideIn(body)[n - 1] ?? {};
    expect(got).toBe(at + Math.floor(length / 2));
  },
  'char:N+K': ({ got, body }, n, k) => {
    const { at = 0, length = 0 } = wideIn(body)[n - 1] ?? {};
    expect(got).toBe(at + k);
    expect(k).toBeLessThan(length);
  },
  'eol:N.mid': ({ got, body }, n) => {
    expect(body.toString('latin1', got - 1, got + 1)).toBe(CRLF);
    expect(body.toString('latin1', 0, got + 1).split(CRLF)).toHaveLength(n + 1);
  },
  'tool_args:N': (cut, n) => {
    const { now, before } = contentIn(cut, 'tool_args');
    expect(now).toHaveLength(n);
    expect(before).not.toBe(now);
  },
  half: (cut) => {
    const deltas = eventsOf(cut.whole).filter(({ role, kind }) => role === 'delta' && kind === 'event');
    if (deltas.length > 0) return expectEvents(cut, deltas[Math.ceil(deltas.length / 2) - 1]);
    const all = Array.from(contentIn({ ...cut, offset: cut.whole.bytes.length }, 'text').now);
    return expect(Array.from(contentIn(cut, 'text').now)).toEqual(all.slice(0, Math.ceil(all.length / 2)));
  },
  deltas: (cut) => {
    const events = eventsOf(cut.whole);
    expectEvents(cut, lastOf(events, 'delta') ?? lastOf(events, 'start') ?? lastOf(events, 'open'));
  },
  terminator: ({ whole, got, offset }) => {
    const terminal = eventsOf(whole).find(({ role }) => role === 'terminal');
    expect(got).toBe(bodyBefore(whole, terminal?.start ?? -1));
    expect(offset).toBeLessThanOrEqual(terminal?.start ?? -1);
  },
  events: (cut) => expectEvents(cut, eventsOf(cut.whole).at(-1)),
  end: ({ offset, whole }) => expect(offset).toBe(whole.bytes.length),
};

/** A position of a form, with numbers that many answers reach. */
const numbers = fc.oneof({ weight: 3, arbitrary: fc.nat(12) }, { weight: 1, arbitrary: fc.nat(400) });
const placed = (form: string, n: number, k: number): Position =>
  form.replace(/\bN\b/, String(n)).replace(/\bK\b/, String(k)) as Position;

function cutAt(whole: WirePlan, offset: number): Cut {
  const sent = whole.bytes.subarray(0, offset);
  const read = readAnswer(sent);
  const less = readAnswer(sent.subarray(0, -1));
  const body = readAnswer(whole.bytes)?.body ?? Buffer.alloc(0);
  return { whole, body, offset, sent, read, less, got: read?.body.length ?? 0 };
}

describe('each form of position', () => {
  it('has its meaning told here', () => {
    expect(Object.keys(MEANINGS).toSorted()).toEqual(POSITIONS.map(({ form }) => form).toSorted());
  });

  it.each(POSITIONS.map(({ form }, n) => [form, n] as const))('%s', (form, seed) => {
    let reached = 0;
    // Line ends and calls, so that each form has a place in some of the answers.
    const given = uncutFaults.map((fault): FaultSpec => {
      if (form.startsWith('eol')) return { ...fault, sse: { eol: 'crlf' } };
      return form.startsWith('tool') ? { ...fault, answer: faultOf('parallel_tool_calls').answer } : fault;
    });
    // No character is longer than four bytes.
    const offsets = form.startsWith('char') ? fc.integer({ min: 1, max: 3 }) : numbers;
    fc.assert(
      fc.property(given, asked, numbers, offsets, (fault, how: AskedPlan, n, k) => {
        const at = placed(form, n, k);
        const whole = compiled(fault, how);
        const offset = offsetOf(at, whole);
        const cutting = { ...fault, cut: { at, teardown: 'rst' } } as const;
        if (offset === undefined) {
          expect(() => compiled(cutting, how)).toThrow(expect.objectContaining({ code: 'plan_impossible' }));
          return;
        }
        reached++;
        const plan = compiled(cutting, how);
        expect(plan.bytes.equals(whole.bytes)).toBe(true);
        expect(plan.cut).toEqual({ position: at, offset });
        const ends = plan.steps.flatMap((step) => (step.op === 'write' ? [step.end] : []));
        expect(Math.max(0, ...ends)).toBe(offset);
        const cut = cutAt(whole, offset);
        const first = form.includes('N') ? n : k;
        MEANINGS[form]?.(cut, first, k);
        // A correct end at the same place has the same body.
        const ended = { ...fault, cut: { at, teardown: 'eof' } } as const;
        if (problemsOf(ended).length > 0) return;
        const answer = readAnswer(compiled(ended, how).bytes);
        expect(answer?.body.equals(cut.read?.body ?? Buffer.alloc(0))).toBe(true);
        expect(answer?.complete).toBe(!whole.closes);
      }),
      { seed, numRuns: 120 },
    );
    expect(reached).toBeGreaterThan(9);
  });
});
