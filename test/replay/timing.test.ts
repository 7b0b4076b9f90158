import { describe, expect, it } from 'vitest';
import { answersOf } from '../../src/answers.js';
import { onlyAttempt } from '../../src/fault/script.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import { waitMsOf } from '../../src/fault/wire-plan.js';
import { replayOf } from '../../src/replay/replay.js';
import type { Tape } from '../../src/replay/tape.js';
import type { ReplayTiming } from '../../src/replay/timing.js';
import { resolveOptions } from '../../src/resolve-options.js';
import { chunkedAnswer } from '../proxy/support/upstream.js';

/** The steps of what is told again, without a clock. */
const EVENTS = [
  '{"choices":[{"delta":{"role":"assistant"}}]}',
  '{"choices":[{"delta":{"content":"one"}}]}',
  '{"choices":[{"delta":{"content":"two"}}]}',
  '[DONE]',
].map((data) => `data: ${data}\n\n`);
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const LAST = '0\r\n\r\n';
const CHUNKS = EVENTS.map((event) => `${event.length.toString(16)}\r\n${event}\r\n`);
const PIECES = [HEAD, ...CHUNKS, LAST];
/** The head after 100 ms, an event each 50 ms, the end with the last of them. */
const SEGMENTS = PIECES.map((piece, n) => ({ atMs: 100 + 50 * Math.min(n, EVENTS.length), bytes: piece.length }));

const TAPE: Tape = {
  name: '000001',
  dialect: 'openai-chat',
  method: 'POST',
  fingerprint: undefined,
  stream: true,
  answer: Buffer.from(PIECES.join('')),
  segments: SEGMENTS,
  end: 'whole',
  endMs: 300,
};

const HEAD_FACTS = {
  method: 'POST',
  target: '/v1/chat/completions',
  path: '/v1/chat/completions',
  httpVersion: '1.1',
  headers: {},
  keepAlive: true,
  expectsContinue: false,
} as const;

function planned(fault: FaultSpec, tape: Partial<Tape> = {}, replayTiming: ReplayTiming = 'recorded') {
  const options = resolveOptions({ replayTiming, randomSeed: 7 }, (name) => name);
  const material = answersOf(options).material(onlyAttempt({ name: 'x', fault }, 'default'), 'openai-chat', {});
  const replay = replayOf([{ ...TAPE, ...tape }], options);
  const body = { stream: true };
  return replay.plan(
    { head: HEAD_FACTS, protocol: 'openai-chat', request: undefined, body, lane: 'default', generation: 1 },
    { fault, content: options, material },
  );
}

/** The steps as short words: what is written as text, pauses as numbers. */
function told(plan: ReturnType<typeof planned>): unknown[] {
  return plan.steps.map((step) => {
    if (step.op === 'write') return plan.bytes.toString('latin1', step.start, step.end);
    if (step.op === 'wait') return step.ms;
    return step.op === 'teardown' ? step.kind : step.op;
  });
}

const [ROLE = '', ONE = '', TWO = '', DONE = ''] = CHUNKS;

describe('recorded timing', () => {
  it('has a pause before each segment, as long as it was', () => {
    const steps = told(planned({}));
    expect(steps).toEqual([100, HEAD, 50, ROLE, 50, ONE, 50, TWO, 50, DONE, LAST, 'keep_alive']);
  });

  it('is no pause at all where none is wanted', () => {
    expect(told(planned({}, {}, 'none'))).toEqual([PIECES.join(''), 'keep_alive']);
  });

  it('does not wait for what is behind a cut', () => {
    expect(told(planned({ cut: { at: 'event:2', teardown: 'rst' } }))).toEqual([
      100,
      HEAD,
      50,
      ROLE,
      50,
      ONE,
      'settle',
      'rst',
    ]);
  });

  it('comes on top of the pauses of a fault', () => {
    const plan = planned({ pace: { firstByteMs: 7, pauses: [{ at: 'event:1', ms: 9 }] } });
    const healthy = waitMsOf(planned({}));
    expect(waitMsOf(plan)).toBe(healthy + 16);
    expect(told(plan).slice(0, 7)).toEqual([7, 100, HEAD, 50, ROLE, 9, 50]);
  });

  it('belongs to the events where a fault writes the answer anew', () => {
    const plan = planned({ events: [{ op: 'omit', where: { role: 'terminal' } }] });
    expect(plan.bytes.toString()).not.toContain('[DONE]');
    expect(told(plan).slice(2)).toEqual([50, ROLE, 50, ONE, 50, TWO, 50, LAST, 'keep_alive']);
  });

  it('has the silence before an upstream broke off', () => {
    const cut = Buffer.from(PIECES.slice(0, 3).join(''));
    const broken = { answer: cut, segments: SEGMENTS.slice(0, 3), end: 'reset', endMs: 1200 } as const;
    expect(told(planned({}, broken))).toEqual([100, HEAD, 50, ROLE, 50, ONE, 1000, 'settle', 'rst']);
    expect(told(planned({}, broken, 'none'))).toEqual([cut.toString(), 'settle', 'rst']);
    expect(told(planned({ cut: { at: 'event:1', teardown: 'stall' } }, broken))).toEqual([
      100,
      HEAD,
      50,
      ROLE,
      'stall',
    ]);
  });

  it('breaks an answer where its segments ended, even inside an event', () => {
    const answer = chunkedAnswer(Buffer.from(EVENTS.join('')), 50);
    const segments = [
      { atMs: 1, bytes: 120 },
      { atMs: 2.5, bytes: answer.length - 120 },
    ];
    const plan = planned({}, { answer, segments });
    expect(plan.steps).toEqual([
      { op: 'wait', ms: 1 },
      { op: 'write', start: 0, end: 120 },
      { op: 'wait', ms: 1.5 },
      { op: 'write', start: 120, end: answer.length },
      { op: 'teardown', kind: 'keep_alive' },
    ]);
  });
});
