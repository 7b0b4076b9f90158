import { beforeEach, describe, expect, it } from 'vitest';
import { isDriver } from '../../src/trial/presets/sdk.js';
import { PRESETS } from '../../src/trial/presets.js';
import { BUILT, NOT_BUILT } from '../trial/support/little.js';
import { bordersOnTheWire, driver, inShort, rangesOf, swept } from '../trial/support/sweeping.js';

/** Thousands of cuts for clients within one process. */
const SDKS = PRESETS.filter(isDriver);

describe('every byte', () => {
  beforeEach(({ skip }) => skip(!BUILT, NOT_BUILT));

  it('a client that takes any end for success', async () => {
    const { head, behind, bytes } = await bordersOnTheWire();
    const result = await swept(driver('bad'), { positions: 'every-byte', teardowns: ['rst', 'fin', 'eof'] });
    for (const teardown of ['rst', 'fin'] as const) {
      expect(inShort(rangesOf(result, teardown))).toEqual([
        ['silent', 0, behind - 1],
        ['complete', behind, bytes],
      ]);
    }
    expect(inShort(rangesOf(result, 'eof'))).toEqual([
      ['silent', head, behind - 1],
      ['complete', behind, behind],
    ]);
    const { sweep } = result;
    // Every byte of the wire, or of the body without its framing.
    const body = sweep.answer.marks.filter(({ kind }) => kind === 'chunk_data');
    const length = body.reduce((sum, { start, end }) => sum + end - start, 0);
    expect(sweep.teardowns.map(({ cuts }) => cuts)).toEqual([bytes + 1, bytes + 1, length + 1]);
    console.info(`${sweep.cutsPerMinute} cuts a minute`);
    expect(sweep.cutsPerMinute).toBeGreaterThan(1000);
  });

  it('openai: silent in no byte of a broken connection, and in every one of an ended body', async () => {
    const { head, behind } = await bordersOnTheWire();
    const openai = SDKS.find(({ name }) => name === 'sdk-openai-chat');
    if (!openai) throw new Error('no such client');
    const result = await swept(openai, { positions: 'every-byte', teardowns: ['rst', 'eof'] });
    expect(rangesOf(result, 'rst').map(({ verdict }) => verdict)).toEqual(['detected', 'complete']);
    expect(inShort(rangesOf(result, 'eof'))).toEqual([
      ['silent', head, behind - 1],
      ['complete', behind, behind],
    ]);
  });
});

describe('at every mark', () => {
  beforeEach(({ skip }) => skip(!BUILT, NOT_BUILT));

  it.each(SDKS)('$name: every cut is proved, no reset is silent, and the whole answer is complete', async (client) => {
    const { sweep } = await swept(client, { positions: 'marks', teardowns: ['rst', 'eof'] });
    for (const { teardown, verdicts, ranges } of sweep.teardowns) {
      expect(verdicts.invalid).toBeUndefined();
      const silent = ranges.filter(({ verdict }) => verdict === 'silent');
      if (teardown === 'rst') expect(silent).toEqual([]);
      for (const { last } of silent) expect(last).toBeLessThan(sweep.answer.terminal.end);
      expect(ranges.at(-1)).toMatchObject({ verdict: 'complete' });
    }
  });
});
