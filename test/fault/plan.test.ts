import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { BEHAVIORS, CONCRETE_BEHAVIOR_NAMES, type ConcreteBehaviorName, faultOf } from '../../src/fault/catalogue.js';
import { compile, type PlanInput } from '../../src/fault/plan.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import type { Step, WirePlan } from '../../src/fault/wire-plan.js';
import { DEFAULTS } from '../../src/options.js';
import { isObject, PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { DIALECT_OF } from '../../src/sse/dialects.js';
import { stampsFrom } from '../../src/sse/stamps.js';
import { headerOf, readAnswer } from '../support/http.js';
import { type Asked, planner } from '../support/plans.js';

const GZIP = { 'accept-encoding': 'gzip' };
const ASKED: readonly Asked[] = [
  {},
  { body: { stream: false } },
  { httpVersion: '1.0' },
  { body: { stream: false }, httpVersion: '1.0' },
  { headers: GZIP },
];

/** HTTP/1.0 has no chunks, so an answer has no place in one. */
const needsChunks = ({ cut }: FaultSpec): boolean => /^chunk:/.test(cut?.at ?? '');
/** It acts before there is a request to answer, and has no answer. */
const isEarly = ({ cut }: FaultSpec): boolean => /^(accept$|request:)/.test(cut?.at ?? '');

const askedFor = (behavior: ConcreteBehaviorName): Asked[] =>
  ASKED.filter(({ httpVersion }) => httpVersion !== '1.0' || !needsChunks(faultOf(behavior)));

/** Plans that differ in how they are asked for. */
const each = (behavior: ConcreteBehaviorName, protocol: Protocol): WirePlan[] =>
  askedFor(behavior).map((asked) => planner()(behavior, protocol, asked));

/** Whether what is said about the framing is true, and the head is one that a plain reader takes. */
function isTrulyFramed(fault: FaultSpec): boolean {
  const { head = {}, framing = {} } = fault;
  const honest = ['kind', 'chunks'];
  const plain = ['contentType', 'set', 'add', 'padToBytes', 'connection', 'statusLine'];
  // A CR in a header, say, is not what the reader has to understand.
  const clean = head.add?.every(([, value]) => !/[\r\n]/.test(value)) ?? true;
  return (
    !isEarly(fault) &&
    Object.keys(framing).every((key) => honest.includes(key)) &&
    Object.keys(head).every((key) => plain.includes(key)) &&
    clean
  );
}

const writesOf = (plan: WirePlan) => plan.steps.filter((step) => step.op === 'write');
const marksOf = (plan: WirePlan): string => JSON.stringify(plan.marks);

function inputOf(behavior: ConcreteBehaviorName, protocol: Protocol, rest: Partial<PlanInput> = {}): PlanInput {
  const dialect = DIALECT_OF[protocol];
  const stamps = stampsFrom('seed', new Date('2026-08-19T14:34:11Z'));
  const context = {
    request: dialect.readRequest({ stream: true, model: 'm' }),
    fidelity: 'full',
    keyOrder: 'sorted',
    chunkSize: 8,
    stamps,
    requestId: dialect.requestId(stamps),
  } as const;
  const fault = faultOf(behavior);
  const asked = { keepAlive: true, chunkedAllowed: true, gzip: false, seed: 'seed' };
  return { fault, dialect, context, content: DEFAULTS, ...asked, ...rest };
}

describe.each(PROTOCOLS)('%s', (protocol) => {
  it.each(CONCRETE_BEHAVIOR_NAMES)('%s is a pure function of its inputs', (behavior) => {
    for (const gzip of [false, true]) {
      const [one, other] = [1, 2].map(() => compile(inputOf(behavior, protocol, { gzip })));
      expect(one?.bytes.equals(other?.bytes ?? Buffer.alloc(0))).toBe(true);
      expect(JSON.stringify({ ...one, bytes: [] })).toBe(JSON.stringify({ ...other, bytes: [] }));
    }
  });

  it.each(CONCRETE_BEHAVIOR_NAMES)('%s writes what is before the cut, once and in order', (behavior) => {
    for (const plan of each(behavior, protocol)) {
      let at = 0;
      for (const { start, end } of writesOf(plan)) {
        expect(start).toBe(at);
        expect(end).toBeGreaterThan(start);
        at = end;
      }
      expect(at).toBe(plan.cut?.offset ?? plan.bytes.length);
      expect(at).toBeLessThanOrEqual(plan.bytes.length);
    }
  });

  it.each(CONCRETE_BEHAVIOR_NAMES)('%s has a second write only if it is paced or in segments', (behavior) => {
    const { pace, segments } = faultOf(behavior);
    const paced = pace !== undefined || segments !== undefined;
    for (const plan of each(behavior, protocol)) {
      if (!paced) expect(writesOf(plan).length).toBeLessThanOrEqual(1);
      // Between two writes there is one pause, or they would be one write.
      const ops = plan.steps.map(({ op }) => op).join(' ');
      expect(ops).toMatch(/^(wait )?(write (wait write )*)?(pulse )?(wait )?(settle )?teardown$/);
      expect(plan.steps.filter(({ op }) => op === 'teardown')).toEqual([plan.steps.at(-1)]);
    }
  });

  it.each(CONCRETE_BEHAVIOR_NAMES)('%s ends as the catalogue says', (behavior) => {
    const fault = faultOf(behavior);
    const { cut } = fault;
    const unread = fault.request?.read === 'head' || isEarly(fault);
    for (const plan of each(behavior, protocol)) {
      const kind = cut?.teardown ?? 'keep_alive';
      expect(plan.steps.at(-1)).toEqual({ op: 'teardown', kind, ...(unread ? { unread } : {}) });
      expect(plan.cut?.position).toBe(cut?.at);
      const settles = plan.steps.some(({ op }) => op === 'settle');
      expect(settles).toBe(cut?.teardown === 'rst' && writesOf(plan).length > 0);
    }
  });

  const framed = CONCRETE_BEHAVIOR_NAMES.filter((name) => isTrulyFramed(faultOf(name)));
  it.each(framed)('%s is framed so that a reader knows where it ends', (behavior) => {
    const { head, framing, encoding } = faultOf(behavior);
    for (const asked of askedFor(behavior)) {
      const plan = planner()(behavior, protocol, asked);
      const answer = readAnswer(plan.bytes);
      const unsized = answer && !headerOf(answer, 'content-length');
      const untilClose = unsized && (asked.httpVersion === '1.0' || framing?.kind === 'until_close');
      expect(answer?.complete).toBe(!untilClose);
      expect(plan.closes).toBe(untilClose);
      expect(answer?.rest).toHaveLength(0);
      expect(answer && headerOf(answer, 'connection')).toBe(head?.connection ?? (untilClose ? 'close' : 'keep-alive'));
      if (asked.httpVersion === '1.0') expect(answer && headerOf(answer, 'transfer-encoding')).toBeUndefined();
      if (answer && headerOf(answer, 'content-encoding') === 'gzip' && encoding === undefined) {
        const plain = readAnswer(planner()(behavior, protocol).bytes)?.body;
        expect(gunzipSync(answer.body).toString().replace(/ +}$/gm, '}')).toBe(
          plain?.toString().replace(/ +}$/gm, '}'),
        );
      }
    }
  });

  it.each(CONCRETE_BEHAVIOR_NAMES.filter((name) => needsChunks(faultOf(name))))(
    '%s has no place in an answer without chunks, and says so',
    (behavior) => {
      expect(() => planner()(behavior, protocol, { httpVersion: '1.0' })).toThrow(
        expect.objectContaining({ code: 'plan_impossible' }),
      );
    },
  );

  // Compressed bytes differ in more than that.
  const readable = CONCRETE_BEHAVIOR_NAMES.filter((name) => [undefined, 'gzip_lie'].includes(faultOf(name).encoding));
  it.each(readable)('%s differs from attempt to attempt in its stamps alone', (behavior) => {
    const fault = faultOf(behavior);
    /** An id in two chunks is found in the body alone. */
    const inPieces = typeof fault.framing?.chunks === 'object';
    const stamped = !isEarly(fault) && fault.answer?.kind !== 'html' && fault.answer?.kind !== 'http';
    for (const asked of askedFor(behavior).filter(({ headers }) => headers !== GZIP)) {
      const make = planner();
      const [first, second] = [1, 2].map((attempt) => make(behavior, protocol, { ...asked, attempt }));
      if (!first || !second) throw new Error('no plan');
      expect(second.bytes).toHaveLength(first.bytes.length);
      expect(marksOf(second)).toBe(marksOf(first));
      expect(second.steps).toEqual(first.steps);
      // What is left when ids and times are blotted out is the same.
      const blotted = (plan: WirePlan): string =>
        (inPieces ? (readAnswer(plan.bytes)?.body ?? plan.bytes) : plan.bytes)
          .toString('latin1')
          .replace(/\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT|[\d-]{10}T[\d:]{8}Z/g, 'time')
          .replace(/"(created\w*|completed_at)":( ?)\d{10}(\.0)?/g, '"$1":$2time')
          .replace(/(wrkspc_01|gAAAAAB|chatcmpl-|call_|req_|msg_|resp_|toolu_|fc_|rs_|=)[A-Za-z0-9]{16,}/g, '$1id')
          .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}|call_\d\d_\w{20}|\w{54}==/g, 'id')
          .replace(/(?<="signature":\s?")[A-Za-z0-9+/=]+/g, 'id');
      expect(blotted(second)).toBe(blotted(first));
      if (stamped) expect(second.bytes.equals(first.bytes)).toBe(false);
    }
  });
});

describe('pace', () => {
  const waits = (steps: readonly Step[]): number[] => steps.flatMap((step) => (step.op === 'wait' ? [step.ms] : []));
  /** The pauses up to the last write, and those behind it. */
  function pauses({ steps }: WirePlan): { between: number[]; after: number[] } {
    const last = steps.findLastIndex(({ op }) => op === 'write');
    return { between: waits(steps.slice(0, last)), after: waits(steps.slice(last)) };
  }
  const options = { successText: 'four pieces of this text', partialText: 'two pieces', chunkSize: 6, chunkDelayMs: 9 };

  it.each(PROTOCOLS)('of deltas is a pause after each but before the end, %s', (protocol) => {
    const make = planner({ ...options, disconnectDelayMs: 0 });
    const slow = make('slow_success', protocol);
    expect(waits(slow.steps)).toEqual([9, 9, 9, 9]);
    const ends = writesOf(slow).map(({ end }) => slow.bytes.toString('latin1', end - 4, end));
    expect(ends.every((end) => end === '\n\n\r\n' || end === '\r\n\r\n')).toBe(true);
    // One pause stands between the two deltas, and that before the reset is another.
    expect(pauses(make('partial_disconnect', protocol)).between).toEqual([9]);
    const delayed = planner({ ...options, disconnectDelayMs: 77 })('partial_disconnect', protocol);
    expect(pauses(delayed)).toEqual({ between: [9], after: [77] });
  });

  it.each(PROTOCOLS)('of a JSON body is all of it before, %s', (protocol) => {
    const { steps, bytes } = planner(options)('slow_success', protocol, { body: { stream: false } });
    expect(steps).toEqual([
      { op: 'wait', ms: 4 * 9 },
      { op: 'write', start: 0, end: bytes.length },
      { op: 'teardown', kind: 'keep_alive' },
    ]);
  });

  it.each(PROTOCOLS)('of keep-alives is a pause after each, %s', (protocol) => {
    for (const asked of ASKED) {
      const plan = planner({ keepaliveCount: 4, keepaliveMs: 70 })('keepalive_then_success', protocol, asked);
      expect(pauses(plan).between.slice(0, 4)).toEqual([70, 70, 70, 70]);
      expect(writesOf(plan).length).toBeGreaterThan(4);
    }
  });

  it.each(PROTOCOLS)(
    "of keep-alives has no pause inside the whole answer, for a healthy answer's own ping: %s",
    (protocol) => {
      const plan = planner({ keepaliveCount: 4, keepaliveMs: 70 })('keepalive_then_success', protocol);
      expect(pauses(plan)).toEqual({ between: [70, 70, 70, 70], after: [] });
    },
  );

  it('is told of no other behavior', () => {
    const paced = BEHAVIORS.flatMap(({ name, fault }) => (fault.pace ? [[name, Object.keys(fault.pace)]] : []));
    expect(Object.fromEntries(paced)).toEqual({
      slow_success: ['after'],
      keepalive_then_success: ['after'],
      partial_disconnect: ['after'],
      ping_flood: ['pulse'],
      stall_resume: ['pauses'],
      throttle: ['bytesPerSecond'],
    });
  });
});

describe('max_tokens', () => {
  /** The number of output tokens of an answer, wherever it stands. */
  function tokensIn(plan: WirePlan): unknown {
    const body = readAnswer(plan.bytes)?.body.toString() ?? '';
    const objects = body.startsWith('{')
      ? [body]
      : [...body.matchAll(/^data: (\{.*\})$/gm)].map(([, json = '']) => json);
    let found: unknown;
    const walk = (value: unknown): void => {
      if (!isObject(value)) return;
      found = value.completion_tokens ?? value.output_tokens ?? found;
      Object.values(value).forEach(walk);
    };
    for (const json of objects) walk(JSON.parse(json));
    return found;
  }
  const LIMITS: readonly (readonly [Protocol, string])[] = [
    ['openai-chat', 'max_completion_tokens'],
    ['openai-chat', 'max_tokens'],
    ['openai-responses', 'max_output_tokens'],
    ['anthropic-messages', 'max_tokens'],
  ];
  const shapes = [true, false].map((stream) => ({ stream, stream_options: { include_usage: true } }));

  it.each(LIMITS)("usage is the request's limit: %s, %s", (protocol, name) => {
    for (const chatVariant of ['openai', 'deepseek'] as const) {
      const make = planner({ chatVariant });
      for (const shape of shapes) {
        for (const limit of [1, 16, 4096]) {
          expect(tokensIn(make('max_tokens', protocol, { body: { ...shape, [name]: limit } }))).toBe(limit);
          expect(tokensIn(make('tool_call_truncated', protocol, { body: { ...shape, [name]: limit } }))).toBe(limit);
          // Only a length stop is of the limit's length.
          expect(tokensIn(make('success', protocol, { body: { ...shape, [name]: limit } }))).toBe(6);
        }
        expect(tokensIn(make('max_tokens', protocol, { body: shape }))).toBe(6);
      }
    }
  });
});
