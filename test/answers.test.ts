import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answersOf } from '../src/answers.js';
import { faultOf } from '../src/fault/catalogue.js';
import { onlyAttempt } from '../src/fault/script.js';
import { resolveOptions } from '../src/resolve-options.js';
import type { JsonObject, Protocol } from '../src/sse/dialect.js';

const TIME = new Date('2026-08-19T14:34:11Z');
const OPTIONS = resolveOptions({ randomSeed: 7, fidelity: 'full' }, (name) => name);

const FAULTS = ['success', 'partial_disconnect', 'malformed_json', 'rate_limit'] as const;
const NAMED = FAULTS.map((name) => ({ name, fault: faultOf(name) }));
const PROTOCOLS: readonly Protocol[] = ['openai-chat', 'openai-responses', 'anthropic-messages'];
const BODIES: readonly JsonObject[] = [
  { model: 'a', stream: true },
  { model: 'b', stream: true },
  { model: 'a', stream: false },
  { model: 'a', stream: true, stream_options: { include_usage: true } },
].map((body) => Object.freeze(body));
const HEADERS = [{}, { 'accept-encoding': 'gzip' }];

describe('an answer', () => {
  it('is the one that is made afresh, whatever was asked before with the same objects', () => {
    const asking = fc.record({
      named: fc.constantFrom(...NAMED),
      protocol: fc.constantFrom(...PROTOCOLS),
      body: fc.constantFrom(...BODIES),
      headers: fc.constantFrom(...HEADERS),
      keepAlive: fc.boolean(),
      httpVersion: fc.constantFrom('1.0' as const, '1.1' as const),
      lane: fc.constantFrom('a', 'b'),
    });
    const answers = answersOf(OPTIONS, () => TIME);
    fc.assert(
      fc.property(fc.array(asking, { minLength: 2, maxLength: 12 }), (all) => {
        // Each twice: the second time it is known by its objects.
        for (const { named, protocol, body, headers, keepAlive, httpVersion, lane } of [...all, ...all]) {
          const how = [onlyAttempt(named, lane), protocol, body, { headers, keepAlive, httpVersion }] as const;
          const fresh = answersOf(OPTIONS, () => TIME).plan(...how);
          const { bytes, marks, steps, closes } = answers.plan(...how);
          expect(bytes.toString('latin1')).toBe(fresh.bytes.toString('latin1'));
          expect({ marks, steps, closes }).toEqual({ marks: fresh.marks, steps: fresh.steps, closes: fresh.closes });
        }
      }),
      { numRuns: 30 },
    );
  });

  it('has ids of its own for each attempt', () => {
    const answers = answersOf(OPTIONS, () => TIME);
    const [success] = NAMED;
    const [body] = BODIES;
    if (!success || !body) throw new Error('nothing to ask for');
    const request = { headers: {}, keepAlive: true, httpVersion: '1.1' } as const;
    const texts = [1, 2, 3, 4].map((attempt) => {
      const chosen = { ...onlyAttempt(success, 'default'), attempt };
      return answers.plan(chosen, 'openai-chat', body, request).bytes.toString('latin1');
    });
    expect(new Set(texts).size).toBe(4);
  });

  it('follows a body that is changed', () => {
    const answers = answersOf(OPTIONS, () => TIME);
    const [success] = NAMED;
    if (!success) throw new Error('nothing to ask for');
    const request = { headers: {}, keepAlive: true, httpVersion: '1.1' } as const;
    const body = { model: 'one', stream: true };
    for (const model of ['one', 'one', 'two', 'six']) {
      body.model = model;
      const { bytes } = answers.plan(onlyAttempt(success, 'default'), 'openai-chat', body, request);
      expect(bytes.toString('latin1')).toContain(`"model":"${model}"`);
    }
  });
});
