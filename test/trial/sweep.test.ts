import { beforeEach, describe, expect, it } from 'vitest';
import { PRESETS } from '../../src/trial/presets.js';
import { sweepSchema } from '../../src/trial/sweep-results.js';
import { BUILT, little, NOT_BUILT } from './support/little.js';
import { bordersOnTheWire, driver, inShort, rangesOf, swept } from './support/sweeping.js';

function preset(name: string) {
  const found = PRESETS.find((client) => client.name === name);
  if (!found) throw new Error(`no client ${name}`);
  return found;
}

describe('a sweep in one process', () => {
  beforeEach(({ skip }) => skip(!BUILT, NOT_BUILT));

  it('a client that takes any end for success: silent from the head to the last byte of the terminal', async () => {
    const { head, behind } = await bordersOnTheWire();
    const result = await swept(driver('bad'), { positions: 'marks' });
    expect(inShort(rangesOf(result, 'eof'))).toEqual([
      ['silent', head, behind - 1],
      ['complete', behind, behind],
    ]);
    const [silent] = rangesOf(result, 'eof');
    expect(silent).toMatchObject({ from: 'behind the headers', to: '13 bytes into the terminal ([DONE])' });
    const { sweep } = result;
    expect(sweepSchema.parse(JSON.parse(JSON.stringify(sweep)))).toEqual(sweep);
  });

  it('the same one under a broken connection, which it does not look at', async () => {
    const { behind, bytes } = await bordersOnTheWire();
    const result = await swept(driver('bad'), { positions: 'marks', teardowns: ['fin', 'rst'] });
    for (const teardown of ['fin', 'rst'] as const) {
      expect(inShort(rangesOf(result, teardown))).toEqual([
        ['silent', 0, behind - 1],
        ['complete', behind, bytes],
      ]);
    }
  });

  it('one that wants the terminal only detects, up to the same byte', async () => {
    const { head, behind, bytes } = await bordersOnTheWire();
    const result = await swept(driver('good'), { positions: 'marks', teardowns: ['fin', 'eof', 'half_close'] });
    for (const teardown of ['fin', 'half_close'] as const) {
      expect(inShort(rangesOf(result, teardown))).toEqual([
        ['detected', 0, behind - 1],
        ['complete', behind, bytes],
      ]);
    }
    expect(inShort(rangesOf(result, 'eof'))).toEqual([
      ['detected', head, behind - 1],
      ['complete', behind, behind],
    ]);
  });

  it('one that asks again recovers', async () => {
    const ranges = rangesOf(await swept(driver('asking'), { teardowns: ['rst'] }), 'rst');
    expect(ranges.map(({ verdict }) => verdict)).toEqual(['recovered', 'complete']);
    expect(ranges[0]?.because).toMatch(/^it asked again, and showed exchange \d+ whole, once$/);
  });

  it('silence is a hang once the limit comes, and the next cut has a process again', async () => {
    const result = await swept(driver('good'), { teardowns: ['stall'], timeoutMs: 300 });
    const ranges = rangesOf(result, 'stall');
    expect(ranges.map(({ verdict }) => verdict)).toEqual(['hang']);
    expect(ranges[0]?.because).toMatch(/^no end within \d+ ms, still connected \(1 main requests\)$/);
  });

  it('what nothing catches is a crash of that cut, and of no other', async () => {
    const ranges = rangesOf(await swept(driver('crashing')), 'eof');
    expect(ranges.map(({ verdict }) => verdict)).toEqual(['crash', 'complete']);
    expect(ranges[0]?.because).toBe('an error that nothing caught');
  });

  it('openai: content with any correct end, and with no broken connection', async () => {
    const { head, behind } = await bordersOnTheWire();
    const { sweep, ...result } = await swept(preset('sdk-openai-chat'), { teardowns: ['rst', 'eof'] });
    const [first, last] = rangesOf({ sweep, ...result }, 'eof');
    expect(first).toMatchObject({ verdict: 'silent', first: head });
    expect(last).toMatchObject({ verdict: 'complete', first: behind, last: behind });
    expect(sweep.teardowns[0]?.verdicts.silent).toBeUndefined();
    expect(sweep).toMatchObject({ way: 'driver', retries: 0, clientVersion: expect.stringMatching(/^openai \d/) });
  });

  it('openai asks again in the head alone, where it may', async () => {
    const { head } = await bordersOnTheWire();
    const sdk = { ...preset('sdk-openai-chat') };
    const [first, second] = rangesOf(await swept(sdk, { teardowns: ['fin'], positions: 'marks', retries: 1 }), 'fin');
    expect(first).toMatchObject({ verdict: 'recovered', first: 0, last: head - 1 });
    expect(second).toMatchObject({ verdict: 'detected', first: head });
  });
});

describe('a sweep with a process for each cut', () => {
  it.each([
    ['naive', 'silent'],
    ['strict', 'detected'],
    ['patient', 'recovered'],
  ] as const)('%s: %s', async (manners, verdict) => {
    const result = await swept(little(manners));
    const ranges = rangesOf(result, 'eof');
    expect(ranges.map((range) => range.verdict)).toEqual([verdict, 'complete']);
    expect(result.sweep).toMatchObject({ way: 'process', retries: null, clientVersion: null });
  });
});

/** Asks for one JSON body, and shows its text. */
const UNSTREAMED = `fetch(process.env.BASE + '/v1/chat/completions', { method: 'POST', body: '{}' })
  .then((response) => response.json())
  .then((body) => console.log(body.choices[0].message.content))`;

describe('what can not be swept', () => {
  it.each([
    [{ command: ['no-such-program-wf'] }, /naive can't be swept: program no-such-program-wf not on PATH/],
    [{ command: ['{{node}}', '-e', 'console.error("no key")'] }, /without a fault, no main request .*: no key$/],
    [{ command: ['{{node}}', '-e', 'null.x'] }, /without a fault, no main request .*: TypeError: Cannot read .* null/],
    [{ command: ['{{node}}', '-e', UNSTREAMED], env: { BASE: '{{baseURL}}' } }, /naive doesn't ask for a stream/],
  ])('%o', async (more, message) => {
    await expect(swept({ ...little('naive'), ...more })).rejects.toThrow(message);
  });
});
