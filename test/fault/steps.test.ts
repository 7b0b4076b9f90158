import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FaultSpec } from '../../src/fault/spec.js';
import { type Step, type WirePlan, waitMsOf } from '../../src/fault/wire-plan.js';
import { PROTOCOLS } from '../../src/sse/dialect.js';
import { compiled } from '../support/compiled.js';
import { segments, uncutFaults } from '../support/faults.js';
import { planner } from '../support/plans.js';

/** When an answer is written: pauses, gates, speed, segments, and what becomes of the connection behind it. */
const CHAT = { protocol: 'openai-chat' } as const;
const plan = (fault: FaultSpec, seed?: string): WirePlan => compiled(fault, seed ? { ...CHAT, seed } : CHAT);

/** Steps as words: `12` for a write of that many bytes. */
const told = ({ steps }: WirePlan): string[] =>
  steps.map((step) => {
    switch (step.op) {
      case 'write':
        return String(step.end - step.start);
      case 'wait':
        return `wait ${step.ms}`;
      case 'gate':
        return `gate ${step.name}`;
      case 'pulse':
        return `pulse ${step.everyMs} ${step.times}`;
      case 'settle':
        return `settle ${step.until}`;
      default:
        return step.kind;
    }
  });

const whole = plan({});
const length = whole.bytes.length;
const head = whole.marks.find(({ kind }) => kind === 'headers')?.end ?? 0;
const [first, second] = whole.marks.flatMap(({ kind, end }) => (kind === 'chunk' ? [end] : []));
const one = first ?? 0;
const two = second ?? 0;

describe('pauses', () => {
  it.each<[string, FaultSpec, string[]]>([
    ['before the first byte', { pace: { firstByteMs: 7 } }, ['wait 7', `${length}`, 'keep_alive']],
    [
      'at positions, in the order of the wire',
      {
        pace: {
          pauses: [
            { at: 'event:1', ms: 3 },
            { at: 'headers', ms: 'chunkDelayMs' },
          ],
        },
      },
      [`${head}`, 'wait 25', `${one - head}`, 'wait 3', `${length - one}`, 'keep_alive'],
    ],
    ['at the end', { pace: { pauses: [{ at: 'end', ms: 3 }] } }, [`${length}`, 'wait 3', 'keep_alive']],
    ['before a teardown', { cut: { at: 'event:1', teardown: 'fin', delayMs: 9 } }, [`${one}`, 'wait 9', 'fin']],
    [
      'before the proof that a reset waits for',
      { cut: { at: 'event:1', teardown: 'rst', delayMs: 'disconnectDelayMs' } },
      [`${one}`, 'wait 10', 'settle read', 'rst'],
    ],
    [
      'of no length',
      { pace: { firstByteMs: 0, pauses: [{ at: 'event:1', ms: 0 }] } },
      [`${one}`, `${length - one}`, 'keep_alive'],
    ],
  ])('%s', (_, fault, steps) => {
    expect(told(plan(fault))).toEqual(steps);
  });

  it('after each event of a role, or after each event', () => {
    const pausesAfter = (role: 'event' | 'delta'): number[] =>
      plan({ pace: { after: { role, ms: 4 } } }).steps.flatMap((step) => (step.op === 'wait' ? [step.ms] : []));
    const roles = whole.marks.filter(({ kind }) => kind === 'event').map(({ role }) => role);
    expect(pausesAfter('event')).toHaveLength(roles.length);
    expect(pausesAfter('delta')).toHaveLength(roles.filter((role) => role === 'delta').length);
  });

  it('behind the cut are refused, with where it is', () => {
    const cut = { at: 'event:1', teardown: 'stall' } as const;
    expect(() => plan({ cut, pace: { pauses: [{ at: 'event:2', ms: 1 }] } })).toThrow(
      `position event:2: it is at byte ${two}, behind the cut at ${one}`,
    );
    expect(() => plan({ pace: { pauses: [{ at: 'event:99', ms: 1 }] } })).toThrow(
      /event:99: the answer doesn't reach it/,
    );
  });
});

it('gates wait for their release, where they stand', () => {
  const fault: FaultSpec = {
    pace: {
      gates: [
        { at: 'event:2', name: 'b' },
        { at: 'request', name: 'a' },
      ],
    },
  };
  expect(told(plan(fault))).toEqual(['gate a', `${two}`, 'gate b', `${length - two}`, 'keep_alive']);
});

describe('speed', () => {
  it.each([100, 999, 10_000, 1_000_000, 10])(
    'of %i bytes a second is kept over all and in each stretch',
    (bytesPerSecond) => {
      const paced = plan({ pace: { bytesPerSecond } });
      const pieces = paced.steps.flatMap((step) => (step.op === 'write' ? [step.end - step.start] : []));
      expect(pieces.reduce((sum, piece) => sum + piece, 0)).toBe(length);
      // What is written at once is what one twentieth of a second has room for; the rest waits.
      const slice = Math.max(1, bytesPerSecond / 20);
      for (const piece of pieces) expect(piece).toBeLessThanOrEqual(slice);
      const ms = waitMsOf(paced);
      const wanted = (length * 1000) / bytesPerSecond;
      expect(ms).toBeLessThanOrEqual(wanted);
      expect(ms).toBeGreaterThan(wanted - Math.max(50, 1000 / bytesPerSecond) - 0.001);
    },
  );
});

describe('jitter', () => {
  const pace = { after: { role: 'event', ms: 100 }, jitter: 0.3 } as const;
  const waits = (given: WirePlan): number[] => given.steps.flatMap((step) => (step.op === 'wait' ? [step.ms] : []));

  it('stretches and shrinks each pause by its part at most, and nothing else', () => {
    const jittered = plan({ pace });
    expect(waits(jittered).every((ms) => ms >= 70 && ms <= 130)).toBe(true);
    expect(new Set(waits(jittered)).size).toBeGreaterThan(waits(jittered).length / 2);
    const still = (steps: readonly Step[]): Step[] =>
      steps.map((step) => (step.op === 'wait' ? { ...step, ms: 0 } : step));
    expect(still(jittered.steps)).toEqual(still(plan({ pace: { ...pace, jitter: 0 } }).steps));
    expect(jittered.bytes.equals(whole.bytes)).toBe(true);
  });

  it('is drawn from the seed alone', () => {
    expect(waits(plan({ pace }, 'a'))).toEqual(waits(plan({ pace }, 'a')));
    expect(waits(plan({ pace }, 'a'))).not.toEqual(waits(plan({ pace }, 'b')));
  });

  it("is another one in each of the server's answers", () => {
    const [one, two] = [1, 2].map((attempt) => planner()({ pace }, 'openai-chat', { attempt }));
    expect(one && two && waits(one)).not.toEqual(two && waits(two));
  });
});

it('a pulse comes so many times, then the cut', () => {
  const fault: FaultSpec = {
    pace: { pulse: { everyMs: 6, times: 3 } },
    cut: { at: 'event:1', teardown: 'rst' },
  };
  expect(told(plan(fault))).toEqual([`${one}`, 'pulse 6 3', 'settle read', 'rst']);
  expect(waitMsOf(plan(fault))).toBe(18);
});

describe('segments', () => {
  it('end where positions are, some time apart so that they are read one by one', () => {
    expect(told(plan({ segments: { at: ['event:1', 'headers', 'char:*.mid'] } }))).toEqual([
      ...[`${head}`, 'wait 20', `${one - head}`, 'wait 20', `${length - one}`, 'keep_alive'],
    ]);
  });

  it('can end nowhere where there are none of a kind, but not at a place that the answer lacks', () => {
    expect(() => plan({ segments: { at: ['event:99'] } })).toThrow("position event:99: the answer doesn't reach it");
    expect(() => plan({ framing: { chunks: { at: ['event:99'] } } })).toThrow("event:99: the answer doesn't reach it");
  });

  it('are no more than their size, without a pause if none is asked for', () => {
    const steps = told(plan({ segments: { everyBytes: 300 } }));
    expect(steps.slice(0, -2).every((step) => step === '300')).toBe(true);
    expect(steps).toHaveLength(Math.ceil(length / 300) + 1);
  });

  it('end once at a place that two positions mean', () => {
    const steps = told(plan({ segments: { at: ['chunk:1', 'event:1', 'event:1'], gapMs: 5 } }));
    expect(steps).toEqual([`${one}`, 'wait 5', `${length - one}`, 'keep_alive']);
  });

  it('lie before the cut, whatever they are', () => {
    fc.assert(
      fc.property(uncutFaults, segments, fc.nat(400), (fault, given, k) => {
        const cutting: FaultSpec = { ...fault, segments: given, cut: { at: `byte:${k}`, teardown: 'fin' } };
        const { steps } = plan(cutting);
        const ends = steps.flatMap((step) => (step.op === 'write' ? [step.end] : []));
        expect(ends.at(-1) ?? 0).toBe(k);
        // Nothing is waited for behind the last byte.
        expect(steps.at(-2)?.op ?? 'write').toBe('write');
      }),
      { seed: 111, numRuns: 60 },
    );
  });
});

describe('an idle connection', () => {
  it('is what the fault says, in milliseconds', () => {
    const idle = { teardown: 'rst', afterMs: 'keepaliveMs', stray: 'żx', strayAfterMs: 3 } as const;
    expect(plan({ idle }).idle).toEqual({
      teardown: 'rst',
      afterMs: 1000,
      stray: { bytes: Buffer.from('żx'), afterMs: 3 },
    });
    expect(plan({ idle: { stray: 'x' } }).idle).toEqual({ stray: { bytes: Buffer.from('x'), afterMs: 0 } });
    expect(plan({ idle: { teardown: 'fin', onRequest: 2 } }).idle).toEqual({ teardown: 'fin', onRequest: 2 });
    expect(plan({}).idle).toBeUndefined();
  });

  it('begins behind a whole answer', () => {
    expect(told(plan({ idle: { stray: 'x' } }))).toEqual([`${length}`, 'keep_alive']);
  });
});

describe('what an answer has no place for is told', () => {
  const unapplied = (fault: FaultSpec, body: object = {}, httpVersion: '1.0' | '1.1' = '1.1') =>
    PROTOCOLS.map((protocol) => planner()(fault, protocol, { body: { ...body }, httpVersion }).unapplied.join());
  const all = (layers: string): string[] => PROTOCOLS.map(() => layers);

  it.each<[string, FaultSpec, object, string]>([
    [
      'events and form of a page',
      { answer: { kind: 'html' }, events: [{ op: 'end_after_deltas' }], sse: { eol: 'cr' } },
      {},
      'events,sse',
    ],
    [
      'nothing of a stream',
      { events: [{ op: 'end_after_deltas' }], sse: { eol: 'cr' }, framing: { last: 'none' } },
      {},
      '',
    ],
    [
      'an event of its own in a JSON body',
      { events: [{ op: 'insert', event: { data: 'x' } }] },
      { stream: false },
      'events',
    ],
    ['a role in a JSON body', { events: [{ op: 'omit', where: { role: 'terminal' } }] }, { stream: false }, ''],
    ['chunks of a JSON body', { framing: { chunks: 'whole' } }, { stream: false }, 'framing'],
    [
      'edits of a list of events',
      { answer: { kind: 'events', events: [] }, events: [{ op: 'end_after_deltas' }] },
      {},
      'events',
    ],
  ])('%s', (_, fault, body, layers) => {
    expect(unapplied(fault, body)).toEqual(all(layers));
  });

  it('chunks of HTTP/1.0', () => {
    const fault: FaultSpec = { framing: { kind: 'chunked', sizes: [{ chunk: 1, size: 'x' }] } };
    expect(unapplied(fault, {}, '1.0')).toEqual(all('framing'));
    expect(unapplied(fault)).toEqual(all(''));
    expect(unapplied({ framing: { kind: 'chunked' } }, {}, '1.0')).toEqual(all(''));
  });
});
