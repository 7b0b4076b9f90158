import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONCRETE_BEHAVIOR_NAMES, type ConcreteBehaviorName } from '../../src/fault/catalogue.js';
import { planSha256 } from '../../src/fault/explain.js';
import { explainSvg } from '../../src/fault/explain-svg.js';
import { byteAxis, spread } from '../../src/fault/explain-svg-axis.js';
import { clipped, visible, visibleBytes, wrapped, xml } from '../../src/fault/explain-svg-text.js';
import { type Step, type WirePlan, writtenUpTo } from '../../src/fault/wire-plan.js';
import { PROTOCOLS } from '../../src/sse/dialect.js';
import type { Mark } from '../../src/sse/mark.js';
import { planner } from '../support/plans.js';
import { type Element, elementsOf, parsed } from '../support/xml.js';

const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');

const NUMERIC = ['x', 'y', 'width', 'height', 'rx', 'opacity'];

/** Parses a picture and checks what holds for all of them. */
function checked(plan: WirePlan, title = 'a word'): { svg: string; elements: Element[]; titles: string[] } {
  const svg = explainSvg({ title, plan });
  const elements = elementsOf(parsed(svg));
  const [root] = elements;
  const [, , width = 0, height = 0] = root?.attributes.get('viewBox')?.split(' ').map(Number) ?? [];
  for (const { name, attributes } of elements) {
    for (const [key, value] of attributes) {
      if (key !== 'class' && key !== 'xmlns') expect(value).not.toMatch(/NaN|Infinity|undefined|null|e[+-]\d/);
      if (NUMERIC.includes(key)) expect(value).toMatch(/^\d+(\.\d)?$/);
    }
    const number = (key: string): number => Number(attributes.get(key) ?? 0);
    if (name !== 'rect') continue;
    expect(number('x') + number('width')).toBeLessThanOrEqual(width);
    expect(number('y') + number('height')).toBeLessThanOrEqual(height);
  }
  expect(/<script|href|url\(|@import|@font-face|\son\w+=/.test(svg)).toBe(false);
  expect(svg.length).toBeLessThan(1_000_000);
  expect(svg.includes(planSha256(plan))).toBe(true);
  return { svg, elements, titles: elements.filter(({ name }) => name === 'title').map(({ text }) => unescaped(text)) };
}

function has(titles: readonly string[], words: string): boolean {
  return titles.some((title) => title.includes(words));
}

describe.each(PROTOCOLS)('a picture of %s', (protocol) => {
  for (const stream of [true, false]) {
    it(`is whole and shows all there is, for every behavior, stream ${stream}`, () => {
      const planOf = planner();
      for (const behavior of CONCRETE_BEHAVIOR_NAMES) {
        const plan = planOf(behavior, protocol, { body: { stream } });
        const { svg, titles } = checked(plan, `${behavior}, ${protocol}`);
        expect(explainSvg({ title: `${behavior}, ${protocol}`, plan })).toBe(svg);
        for (const mark of plan.marks) {
          if (mark.name === undefined) continue;
          // Many are joined, where their names are still told.
          const few = plan.marks.length < 150;
          expect(has(titles, few ? `${mark.kind} ${mark.index} ${mark.name}` : mark.name)).toBe(true);
        }
        expect(has(titles, 'the cut: ')).toBe(plan.cut !== undefined);
        if (plan.cut) expect(has(titles, `${plan.cut.position}, byte ${plan.cut.offset}`)).toBe(true);
        expect(svg.includes(`${plan.bytes.length.toLocaleString('en-US')} bytes`)).toBe(true);
      }
    });
  }
});

/** What a word without a behavior of its own would be: plans are plain data. */
function cutAt(plan: WirePlan, offset: number): WirePlan {
  const writes: Step[] = offset > 0 ? [{ op: 'write', start: 0, end: offset }] : [];
  return {
    ...plan,
    cut: { position: `byte:${offset}`, offset },
    steps: [...writes, { op: 'settle', until: 'read', timeoutMs: 2000 }, { op: 'teardown', kind: 'rst' }],
  };
}

const EMPTY: WirePlan = { bytes: Buffer.alloc(0), marks: [], steps: [], closes: false, unapplied: [] };

describe('the cut', () => {
  const plan = planner()('success', 'openai-chat');

  it('stands where its byte is, and gray begins there, wherever that is', () => {
    for (let offset = 0; offset < plan.bytes.length; offset += 23) {
      const cut = cutAt(plan, offset);
      const { elements, titles } = checked(cut);
      const group = elements.find(({ attributes }) => attributes.get('class') === 'cut');
      const line = Number(group?.children.find(({ name }) => name === 'rect')?.attributes.get('x')) + 1;
      const veil = elements.find(({ attributes }) => attributes.get('class') === 'veil');
      expect(Math.abs(Number(veil?.attributes.get('x')) - line)).toBeLessThan(0.2);
      expect(has(titles, `the cut: rst at byte:${offset}, byte ${offset}`)).toBe(true);
    }
  });

  it('says of a mark how much of it is sent', () => {
    const event = plan.marks.find(({ kind, index }) => kind === 'event' && index === 3);
    if (!event) throw new Error('no third event');
    const { titles } = checked(cutAt(plan, event.start + 17));
    expect(has(titles, `event 3 content (delta): bytes ${event.start} to ${event.end} (`)).toBe(true);
    expect(has(titles, 'bytes, 17 of them sent)\ndata: {"id":"chatcmpl-')).toBe(true);
    expect(has(titles, 'event 4 content (delta)')).toBe(true);
    expect(titles.filter((title) => title.startsWith('event 4')).join()).toContain(', not sent)');
  });

  it('is not there where all is sent', () => {
    const { svg } = checked(plan);
    expect(/class="(cut|veil|unsent)"/.test(svg)).toBe(false);
    expect(svg.includes('all sent')).toBe(true);
  });
});

describe('the time line', () => {
  const whole = planner()('success', 'openai-chat');
  const timed = (...steps: Step[]) => checked({ ...whole, steps });
  const write: Step = { op: 'write', start: 0, end: 17 };

  it('says how often a pulse comes, also where it has no end', () => {
    const pulse = { op: 'pulse', start: 0, end: 17, everyMs: 250, times: 3 } as const;
    const finite = timed(write, pulse, { op: 'teardown', kind: 'stall' });
    expect(has(finite.titles, 'every 250 ms, 3 times')).toBe(true);
    expect(has(finite.titles, '750 ms: stall')).toBe(true);
    expect(finite.svg.includes(' never"')).toBe(false);
    const endless = timed(write, { ...pulse, times: Number.POSITIVE_INFINITY }, { op: 'teardown', kind: 'stall' });
    expect(endless.svg.includes('>every 250 ms, for ever<')).toBe(true);
    expect(endless.svg.includes('class="end-stall never"')).toBe(true);
  });

  it('knows between which moments a step comes', () => {
    const { svg, titles } = timed(
      write,
      { op: 'wait', ms: 40 },
      { op: 'settle', until: 'acked', timeoutMs: 500 },
      { op: 'wait', ms: 10 },
      { op: 'gate', name: 'tea & <cake>' },
      { op: 'teardown', kind: 'half_close' },
    );
    for (const words of [
      '0 ms: write 1: bytes 0 to 17',
      '40 ms: settle',
      '40 to 540 ms: wait 10 ms',
      '50 to 550 ms: gate tea & <cake>',
      'from 50 ms on: half_close',
    ]) {
      expect(titles.filter((title) => title.startsWith(words))).toHaveLength(1);
    }
    for (const words of ['>0 ms<', '>settle: acked<', '>≤ 500 ms<', '>gate tea &amp; &lt;cake&gt;<']) {
      expect(svg.includes(words)).toBe(true);
    }
  });

  it('shows what becomes of the connection behind the answer', () => {
    const stray = { bytes: Buffer.from('HTTP/1.1 408\r\n'), afterMs: 5 };
    const { svg, titles } = checked({ ...whole, idle: { stray, teardown: 'fin', afterMs: 300 } });
    expect(svg.includes('idle: FIN')).toBe(true);
    expect(has(titles, 'stray bytes 5 ms after the answer: HTTP/1.1 408\\r\\n')).toBe(true);
  });
});

describe('answers that are no stream of events', () => {
  it('nothing at all', () => {
    const { svg } = checked(EMPTY);
    expect(svg.includes('0 bytes')).toBe(true);
    checked({ ...EMPTY, cut: { position: 'request', offset: 0 }, steps: [{ op: 'teardown', kind: 'rst' }] });
  });

  it('a body without marks', () => {
    const { titles } = checked(planner()('html_200', 'openai-responses'));
    expect(has(titles, 'body: bytes ')).toBe(true);
    expect(has(titles, '<title>Welcome</title>')).toBe(true);
  });

  it('a compressed stream, whose bytes are no text', () => {
    const asked = { headers: { 'accept-encoding': 'gzip' } };
    const { titles, svg } = checked(planner()('success', 'anthropic-messages', asked));
    expect(has(titles, '\\x1f\\x8b')).toBe(true);
    expect(svg.includes('none marked')).toBe(true);
  });

  it('interim answers, strange line ends and stray bytes', () => {
    const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n';
    const text = `?${interim.repeat(3000)}HTTP/1.1 200 OK\nA: 1\nB: 2\n\nbody`;
    const start = 1 + 3000 * interim.length;
    const marks: Mark[] = [
      ...Array.from({ length: 3000 }, (_, n): Mark => {
        const at = 1 + n * interim.length;
        return { kind: 'informational', index: n + 1, start: at, end: at + interim.length };
      }),
      { kind: 'status_line', index: 1, start, end: start + 16 },
      { kind: 'headers', index: 1, start: start + 16, end: start + 27 },
    ];
    const steps: Step[] = [{ op: 'write', start: 0, end: text.length }];
    const { titles } = checked({ ...EMPTY, bytes: Buffer.from(text), marks, steps });
    expect(has(titles, 'stray bytes: bytes 0 to 1 (1 byte)')).toBe(true);
    expect(titles.some((title) => /^2,9\d\d × interim answer\n/.test(title))).toBe(true);
    expect(has(titles, `2 headers: bytes ${start + 16} to ${start + 27}`)).toBe(true);
    expect(has(titles, 'body: bytes')).toBe(true);
  });

  it('an event that reaches over several chunks', () => {
    const text = 'HTTP/1.1 200 OK\r\n\r\n4\r\ndata\r\n3\r\n:1\n\r\n1\r\n\n\r\n0\r\n\r\n';
    const chunks = [19, 28, 36].flatMap((start, n): Mark[] => {
      const end = [28, 36, 42][n] ?? 0;
      return [
        { kind: 'chunk', index: n + 1, start, end },
        { kind: 'chunk_size', index: n + 1, start, end: start + 3 },
        { kind: 'chunk_data', index: n + 1, start: start + 3, end: end - 2 },
      ];
    });
    const marks: Mark[] = [
      { kind: 'status_line', index: 1, start: 0, end: 17 },
      { kind: 'headers', index: 1, start: 17, end: 19 },
      ...chunks,
      { kind: 'event', index: 1, name: 'one', role: 'delta', start: 22, end: 40 },
      { kind: 'last_chunk', index: 1, start: 42, end: 47 },
    ];
    const { titles } = checked({
      ...EMPTY,
      bytes: Buffer.from(text),
      marks,
      steps: [{ op: 'write', start: 0, end: 47 }],
    });
    expect(has(titles, 'event 1 one (delta): bytes 22 to 40 (18 bytes)\ndata\\r\\n3\\r\\n:1\\n')).toBe(true);
    expect(has(titles, 'chunk 3, CRLF: bytes 40 to 42')).toBe(true);
  });
});

describe('a long answer', () => {
  const planOf = planner({ successText: 'word '.repeat(8000), chunkDelayMs: 5 });

  it.each(PROTOCOLS)('of 5,000 events and more is thinned out: %s', (protocol) => {
    for (const behavior of ['success', 'slow_success'] satisfies ConcreteBehaviorName[]) {
      const plan = planOf(behavior, protocol);
      const events = plan.marks.filter(({ kind }) => kind === 'event');
      expect(events.length).toBeGreaterThan(5000);
      const { svg, elements, titles } = checked(plan);
      expect(svg.length).toBeLessThan(200_000);
      expect(elements.length).toBeLessThan(2000);
      for (const name of new Set(events.map((event) => event.name))) expect(has(titles, name ?? '')).toBe(true);
      expect(titles.some((title) => /^[45],\d{3} × [\w.]+\nfirst: event \d/.test(title))).toBe(true);
    }
  });

  it('keeps the events around the cut wide', () => {
    const plan = planOf('success', 'openai-chat');
    const event = plan.marks.find(({ kind, index }) => kind === 'event' && index === 2501);
    if (!event) throw new Error('no such event');
    const { titles } = checked(cutAt(plan, event.start + 17));
    for (const n of [2500, 2501, 2502]) expect(has(titles, `event ${n} content`)).toBe(true);
  });
});

describe('the byte axis', () => {
  it('never goes back, and each border has its place', () => {
    for (const behavior of ['success', 'partial_disconnect', 'rate_limit'] satisfies ConcreteBehaviorName[]) {
      const plan = planner()(behavior, 'openai-responses');
      const axis = byteAxis(plan, 100, { min: 800, max: 1400 });
      let last = axis.at(0);
      expect(last).toBe(100);
      for (let offset = 1; offset <= plan.bytes.length; offset++) {
        const x = axis.at(offset);
        expect(x).toBeGreaterThan(last);
        last = x;
      }
      expect(last).toBe(axis.right);
      expect(axis.right - axis.left).toBeGreaterThanOrEqual(799.9);
      expect(axis.right - axis.left).toBeLessThanOrEqual(1400.1);
    }
  });

  it('gives what there is room for, then the least, then what is kept', () => {
    const wishes = [10, 20, 30].map((width, n) => ({ width, least: width / 2, kept: n === 0 }));
    const within = (min: number, max: number, stretch = 10): number[] =>
      spread(wishes, { min, max, stretch }).map((width) => Math.round(width * 10) / 10);
    expect(within(0, 100)).toEqual([10, 20, 30]);
    expect(within(120, 200)).toEqual([20, 40, 60]);
    expect(within(600, 900, 2)).toEqual([20, 40, 60]);
    expect(within(0, 45)).toEqual([7.5, 15, 22.5]);
    expect(within(0, 24)).toEqual([4, 8, 12]);
    expect(within(0, 15)).toEqual([5, 4, 6]);
    expect(spread([], { min: 10, max: 20, stretch: 2 })).toEqual([]);
  });
});

describe('text', () => {
  it('of any bytes is XML, and can be told from what is escaped', () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
    expect(xml(visibleBytes(all.subarray(0, 128), 300))).toMatch(
      /^\\x00\\x01.*\\t\\n\\x0b\\x0c\\r.* !&quot;#\$%&amp;.*&lt;=&gt;/,
    );
    expect(visibleBytes(all, 300)).toMatch(/\\x7f\\x80.*\\xff$/);
    expect(visibleBytes(Buffer.from('\\n\n'), 9)).toBe('\\\\n\\n');
    expect(visibleBytes(Buffer.from('Grüße ✂ 👋🏽'), 99)).toBe('Grüße ✂ 👋🏽');
  });

  it('is cut between characters', () => {
    expect(visibleBytes(Buffer.from('a👋b'), 3)).toBe('a…');
    expect(visibleBytes(Buffer.from('a👋b'), 5)).toBe('a👋…');
    expect(clipped('👋👋👋', 4)).toBe('👋…');
    expect(clipped('abc', 3)).toBe('abc');
    expect(clipped('abcd', 3)).toBe('ab…');
    expect(clipped('abcd', 0)).toBe('');
  });

  it('has none of the characters that XML forbids or that turn it around', () => {
    expect(visible('a\ud800b\ufffe\u202ec\u0000')).toBe('a\\u{d800}b\\u{fffe}\\u{202e}c\\x00');
  });

  it('is broken where a name has its joints', () => {
    expect(wrapped('7 response.output_text.delta', 12)).toEqual(['7 response.', 'output_text.', 'delta']);
    expect(wrapped('7 ping', 12)).toEqual(['7 ping']);
  });

  it('comes from anywhere: titles, names and bytes never break the picture', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(']]>', '</svg>', '&amp;', '"<&>\'', '\u0000\n', '\ud800'),
    );
    const plans = fc.record({
      title: text,
      bytes: fc.uint8Array({ maxLength: 400 }),
      name: text,
      places: fc.array(
        fc.tuple(fc.nat(400), fc.nat(400), fc.constantFrom<Mark['kind']>('event', 'text', 'chunk', 'headers')),
        {
          maxLength: 12,
        },
      ),
      offset: fc.nat(400),
    });
    fc.assert(
      fc.property(plans, ({ title, bytes, name, places, offset }) => {
        const within = (at: number): number => Math.min(at, bytes.length);
        const marks = places.map(([start, length, kind], n): Mark => {
          return { kind, index: n + 1, name, role: 'delta', start: within(start), end: within(start + length) };
        });
        const plan = cutAt({ ...EMPTY, bytes: Buffer.from(bytes), marks }, within(offset));
        checked(plan, title);
        expect(writtenUpTo(plan)).toBe(within(offset));
      }),
      { numRuns: 300 },
    );
  });
});
