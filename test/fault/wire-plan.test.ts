import { constants, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { pulseBytes, type Step, type WirePlan, writtenPart } from '../../src/fault/wire-plan.js';
import { PROTOCOLS } from '../../src/sse/dialect.js';
import { readAnswer } from '../support/http.js';
import { type Asked, planner } from '../support/plans.js';

type Pulse = Step & { readonly op: 'pulse' };

function pulseOf(plan: WirePlan): Pulse {
  const pulse = plan.steps.find((step) => step.op === 'pulse');
  if (!pulse) throw new Error('nothing pulses');
  return pulse;
}

/** What a client has after `count` pulses. */
function played(plan: WirePlan, count: number): Buffer {
  const written = plan.steps.flatMap((step) =>
    step.op === 'write' ? [plan.bytes.subarray(step.start, step.end)] : [],
  );
  const pulses = Array.from({ length: count }, (_, n) => pulseBytes(plan, pulseOf(plan), n + 1));
  return Buffer.concat([...written, ...pulses]);
}

describe('the bytes of a pulse', () => {
  const event = (sequence: number): string => `event: keepalive\ndata: {"sequence_number":${sequence},"x":"ż"}\n\n`;
  const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  const planWith = (text: string): WirePlan => ({
    bytes: Buffer.from(`head${text}tail`),
    marks: [],
    steps: [],
    closes: false,
    unapplied: [],
  });
  const step = (text: string, sequence?: number): Pulse => ({
    op: 'pulse',
    start: 4,
    end: 4 + Buffer.byteLength(text),
    everyMs: 1,
    times: Number.POSITIVE_INFINITY,
    ...(sequence === undefined ? {} : { sequence }),
  });
  const nth = (text: string, n: number, sequence?: number): string =>
    pulseBytes(planWith(text), step(text, sequence), n).toString();

  it('are those of the plan where nothing counts', () => {
    for (const n of [1, 7, 1000]) expect(nth(': keep-alive\n\n', n)).toBe(': keep-alive\n\n');
    expect(nth(chunk(event(2)), 3)).toBe(chunk(event(2)));
  });

  it.each([1, 7, 8, 97, 98, 998, 123_456])('have the number moved on by %i', (n) => {
    expect(nth(event(2), n, 2)).toBe(event(2 + n));
    expect(nth(chunk(event(2)), n, 2)).toBe(chunk(event(2 + n)));
  });

  it('have a size line of more digits where the chunk grew beyond 15 bytes', () => {
    const data = '"sequence_number":9'.padEnd(255, '.');
    expect(nth(chunk(data), 1, 9)).toBe(chunk(data.replace('9', '10')));
    expect(nth(chunk(data), 1, 9)).toMatch(/^100\r\n/);
  });
});

const ASKED: readonly Asked[] = [
  {},
  { httpVersion: '1.0' },
  { body: { stream: false } },
  { body: { stream: false }, httpVersion: '1.0' },
];

describe.each(PROTOCOLS)('ping_flood of %s', (protocol) => {
  it.each(ASKED)('is well framed however long it goes on, %j', (asked) => {
    const plan = planner()('ping_flood', protocol, asked);
    expect(pulseOf(plan)).toMatchObject({ everyMs: 1000, times: Number.POSITIVE_INFINITY });
    const [before, after] = [played(plan, 0), played(plan, 120)].map(readAnswer);
    expect(before?.complete).toBe(false);
    expect(after?.complete).toBe(false);
    const head = before?.body ?? Buffer.alloc(0);
    const rest = after?.body.subarray(head.length).toString() ?? '';
    expect(after?.body.subarray(0, head.length).equals(head)).toBe(true);
    if (after && after.chunks.length > 0) expect(after.chunks).toHaveLength((before?.chunks.length ?? 0) + 120);
    if (asked.body?.stream === false) expect(rest).toBe('\n'.repeat(120));
    else expect(rest.match(/^: keep-alive$|^event: keepalive$|^event: ping$/gm)).toHaveLength(120);
  });
});

it("Responses' numbers go on without a gap", () => {
  for (const httpVersion of ['1.1', '1.0'] as const) {
    const body = readAnswer(played(planner()('ping_flood', 'openai-responses', { httpVersion }), 150))?.body.toString();
    const numbers = [...(body ?? '').matchAll(/^data: .*"sequence_number":(\d+)/gm)].map(([, number]) =>
      Number(number),
    );
    expect(numbers.length).toBeGreaterThan(150);
    expect(numbers).toEqual(numbers.map((_, n) => n));
  }
});

it('pulses of a gzip stream can be read: the stream has not ended before them', () => {
  const plan = planner()('ping_flood', 'anthropic-messages', { headers: { 'accept-encoding': 'gzip' } });
  const read = (count: number): string => {
    const body = readAnswer(played(plan, count))?.body ?? Buffer.alloc(0);
    return gunzipSync(body, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
  };
  const pings = (text: string): number => text.match(/^event: ping$/gm)?.length ?? 0;
  expect(pings(read(0))).toBe(1);
  expect(pings(read(3))).toBe(4);
});

describe('the written part', () => {
  it.each(PROTOCOLS)('of %s plays as the plan does, and has no byte more', (protocol) => {
    for (const behavior of [
      'stall',
      'connection_reset',
      'partial_disconnect',
      'terminal_no_close',
      'success',
    ] as const) {
      const plan = planner()(behavior, protocol);
      const part = writtenPart(plan);
      const end = plan.cut?.offset ?? plan.bytes.length;
      expect(part.bytes.equals(plan.bytes.subarray(0, end))).toBe(true);
      expect([part.marks, part.steps, part.cut]).toEqual([plan.marks, plan.steps, plan.cut]);
    }
    const flood = planner()('ping_flood', protocol);
    expect(played(writtenPart(flood), 5).equals(played(flood, 5))).toBe(true);
  });

  it('lets go of the rest: its bytes are not a view of the whole', () => {
    const plan = planner({ successText: 'x'.repeat(100_000) })('stall', 'openai-chat');
    expect(writtenPart(plan).bytes.buffer.byteLength).toBeLessThan(plan.bytes.length / 10);
    const whole = planner()('success', 'openai-chat');
    expect(writtenPart(whole)).toBe(whole);
  });
});
