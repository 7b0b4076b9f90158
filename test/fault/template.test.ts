import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONCRETE_BEHAVIOR_NAMES, type ConcreteBehaviorName, faultOf } from '../../src/fault/catalogue.js';
import { compile } from '../../src/fault/plan.js';
import type { FaultSpec } from '../../src/fault/spec.js';
import { type PlanTemplate, stamp, templateOf } from '../../src/fault/template.js';
import type { WirePlan } from '../../src/fault/wire-plan.js';
import type { Content } from '../../src/fault/words.js';
import { DEFAULTS } from '../../src/options.js';
import { FIDELITIES, type Fidelity, type JsonObject, PROTOCOLS, type Protocol } from '../../src/sse/dialect.js';
import { answeringDialect, type ChatVariant, DIALECT_OF } from '../../src/sse/dialects.js';
import { type Stamps, stampsFrom } from '../../src/sse/stamps.js';
import { readAnswer } from '../support/http.js';

interface Asked {
  readonly body?: JsonObject;
  readonly content?: Partial<Content>;
  readonly variant?: ChatVariant;
  readonly fidelity?: Fidelity;
  readonly requestId?: string;
  readonly chunkSize?: number;
}

/** How the server compiles, but for the template. */
function compiler(what: ConcreteBehaviorName | FaultSpec, protocol: Protocol, asked: Asked = {}) {
  const { body = {}, variant = 'auto', fidelity = 'full', chunkSize = 8 } = asked;
  const fault = typeof what === 'string' ? faultOf(what) : what;
  const request = DIALECT_OF[protocol].readRequest({ stream: true, model: 'mock-model', ...body });
  const showsReasoning = what === 'reasoning_success';
  const dialect = answeringDialect(protocol, { model: request.model, showsReasoning, variant });
  const content = { ...DEFAULTS, ...asked.content };
  return (stamps: Stamps): WirePlan => {
    const requestId = asked.requestId ?? dialect.requestId(stamps);
    const context = { request, fidelity, keyOrder: 'sorted', chunkSize, stamps, requestId } as const;
    return compile({
      fault,
      dialect,
      context,
      content,
      keepAlive: true,
      chunkedAllowed: true,
      gzip: false,
      seed: 'seed',
    });
  };
}

const TIMES = ['2001-09-09T01:46:40Z', '2026-08-19T14:34:11.999Z', '2200-02-28T23:59:59Z'].map(
  (time) => new Date(time),
);

/** Compressed answers have no template: they are compiled each time (src/answers.ts). */
const STAMPABLE = CONCRETE_BEHAVIOR_NAMES.filter((name) => faultOf(name).encoding === undefined);

/** The template of an answer that has one. */
function templateFor(compileWith: (stamps: Stamps) => WirePlan): PlanTemplate {
  const template = templateOf(compileWith);
  if (!template) throw new Error('no template');
  return template;
}

/** A template stamped is what compiling gives, for several seeds and times. */
function expectSame(compileWith: (stamps: Stamps) => WirePlan, template = templateFor(compileWith)): void {
  const before = Buffer.from(template.plan.bytes);
  for (const [n, now] of TIMES.entries()) {
    const stamped = stamp(template, `seed ${n}`, now);
    const direct = compileWith(stampsFrom(`seed ${n}`, now));
    // Buffers are compared byte by byte, and that slowly.
    expect({ ...stamped, bytes: stamped.bytes.toString('latin1'), lease: undefined }).toEqual({
      ...direct,
      bytes: direct.bytes.toString('latin1'),
    });
  }
  expect(template.plan.bytes.equals(before)).toBe(true);
}

const BODIES: readonly JsonObject[] = [
  { stream: true },
  { stream: false },
  { stream: true, stream_options: { include_usage: true }, max_tokens: 7, max_output_tokens: 7 },
];

describe.each(PROTOCOLS)('%s', (protocol) => {
  it.each(STAMPABLE)('%s stamped is what compiling gives, where a template can be made', (behavior) => {
    // A stamp with a border of chunks inside it can't be written over.
    const { chunks } = faultOf(behavior).framing ?? {};
    const always = typeof chunks !== 'object';
    const same = (compileWith: (stamps: Stamps) => WirePlan): void => {
      const template = templateOf(compileWith);
      if (always) expect(template).toBeDefined();
      if (template) expectSame(compileWith, template);
    };
    for (const body of BODIES) {
      for (const fidelity of FIDELITIES) same(compiler(behavior, protocol, { body, fidelity }));
      if (protocol === 'openai-chat') same(compiler(behavior, protocol, { body, variant: 'deepseek' }));
    }
  });

  it('whose stamps are in two chunks has no template, and never one with the stamps of another', () => {
    const { length } = compiler('success', protocol)(stampsFrom('seed', new Date(0))).bytes;
    let cut = 0;
    for (let bytes = 5; bytes < length; bytes += 17) {
      const compileWith = compiler({ framing: { chunks: { bytes } } }, protocol);
      const template = templateOf(compileWith);
      if (template) expectSame(compileWith, template);
      else cut++;
    }
    expect(cut).toBeGreaterThan(0);
  });

  it.each(BODIES)('with a request id that is given, %j', (body) => {
    for (const requestId of ['req_x', '1755614051', '0123456789abcdef0123456789abcdef']) {
      expectSame(compiler('success', protocol, { body, requestId }));
      expectSame(compiler('rate_limit', protocol, { body, requestId }));
      const { bytes } = stamp(
        templateFor(compiler('success', protocol, { body, requestId })),
        'seed',
        TIMES[1] ?? new Date(0),
      );
      expect(bytes.toString()).toContain(requestId);
    }
  });

  /** Every text of the template itself that looks like an id or a time. */
  const stampsIn = (plan: WirePlan): string[] => [
    ...new Set(
      plan.bytes.toString('latin1').match(/[A-Za-z0-9]{10,}|\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT|[\d-]{10}T[\d:]{8}Z/g),
    ),
  ];

  it.each([true, false])('with words that look like stamps, stream %s', (stream) => {
    const taken = stampsIn(templateFor(compiler('success', protocol, { body: { stream } })).plan);
    expect(taken.length).toBeGreaterThan(3);
    const looks = [
      'Wed, 19 Aug 2026 14:34:11 GMT',
      '2026-08-19T14:34:11Z',
      '1755614051',
      '1044245106 Mon, 03 Feb 2003 04:05:06 GMT 2003-02-03T04:05:06Z',
      ...taken.reverse(),
    ];
    for (const chunkSize of [8, 1000]) {
      for (const successText of [...looks.slice(0, 6), looks.join(' ')]) {
        const asked = { body: { stream }, content: { successText }, chunkSize };
        expectSame(compiler('success', protocol, asked));
        expectSame(
          compiler('tool_call_success', protocol, {
            ...asked,
            content: { toolName: successText, toolArguments: JSON.stringify({ value: successText }) },
          }),
        );
      }
    }
  });

  it.each([true, false])('leaves such words alone in the stamped answer, stream %s', (stream) => {
    const [id = ''] = stampsIn(templateFor(compiler('success', protocol, { body: { stream } })).plan).slice(-1);
    const successText = `${id} 1044245106`;
    const template = templateFor(
      compiler('success', protocol, { body: { stream }, content: { successText }, chunkSize: 99 }),
    );
    const body = readAnswer(stamp(template, 'seed', TIMES[1] ?? new Date(0)).bytes)?.body.toString();
    expect(body).toContain(`"${successText}"`);
  });

  it('with a model that looks like a stamp', () => {
    for (const model of ['1044245106', 'Mon, 03 Feb 2003 04:05:06 GMT', 'abcdef0123456789', 'ż👧']) {
      for (const stream of [true, false]) expectSame(compiler('success', protocol, { body: { model, stream } }));
    }
  });

  it('whatever the words and the size of pieces are', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.constantFrom(...STAMPABLE.filter((name) => typeof faultOf(name).framing?.chunks !== 'object')),
        fc.integer({ min: 1, max: 20 }),
        fc.boolean(),
        (some, behavior, chunkSize, stream) => {
          const { cut, splice = [] } = faultOf(behavior);
          // A place in the words is nowhere without any.
          const inWords = [cut, ...splice].some((place) => /^(half|text)/.test(place?.at ?? ''));
          const text = inWords ? `${some}mm` : some;
          const content = { successText: text, partialText: text, reasoningText: text };
          expectSame(compiler(behavior, protocol, { body: { stream }, content, chunkSize }));
        },
      ),
      { numRuns: 60, seed: 61 },
    );
  });

  // In smaller pieces the marks are cut, and such an answer is compiled each time (src/answers.ts).
  it.each([true, false])(
    'with content blocks in one piece, whose marks are stamps in the words: stream %s',
    (stream) => {
      const content = { contentBlocks: 3, partialText: undefined };
      expectSame(compiler('success', protocol, { body: { stream }, content, chunkSize: 1000 }));
      expectSame(compiler('content_filter', protocol, { body: { stream }, content, chunkSize: 1000 }));
    },
  );
});

it('a plan whose width depends on its stamps is no template', () => {
  const compileWith = compiler('success', 'openai-chat');
  const uneven = (stamps: Stamps): WirePlan => {
    const plan = compileWith(stamps);
    const filler = Buffer.alloc(Number(stamps.unixSeconds()) % 7);
    return { ...plan, bytes: Buffer.concat([plan.bytes, filler]) };
  };
  expect(() => templateOf(uneven)).toThrow('a stamp changed its width');
});

it('slots are where the stamps stand first, and copies where they stand again', () => {
  const { plan, slots, copies } = templateFor(compiler('success', 'openai-chat'));
  const kinds = new Set(slots.map(({ recipe }) => recipe.kind));
  expect(kinds).toEqual(new Set(['id', 'unix_seconds', 'http_date']));
  expect(slots.every(({ offset }) => offset >= 0)).toBe(true);
  const dates = slots.filter(({ recipe }) => recipe.kind === 'http_date').map(({ offset }) => offset);
  expect(dates.map((at) => plan.bytes.toString('latin1', at - 6, at))).toEqual(['Date: ']);
  const events = plan.marks.filter(({ kind, name }) => kind === 'event' && name !== '[DONE]');
  // Id and time of each event but the first, in one copy.
  expect(copies).toHaveLength(events.length - 1);
  for (const { from, to, length } of copies) {
    const [one, other] = [from, to].map((at) => plan.bytes.toString('latin1', at, at + length));
    expect(other).toBe(one);
    expect(one).toMatch(/^chatcmpl-.*"created":\d{10}|^[A-Za-z0-9]{29}.*\d{10}$/);
  }
});
