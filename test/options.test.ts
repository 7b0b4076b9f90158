import { describe, expect, it } from 'vitest';
import { WirefaultError } from '../src/errors.js';
import { faultOf } from '../src/fault/catalogue.js';
import { MAX_TIMER_MS, OPTION_ROWS } from '../src/option-rows.js';
import { DEFAULTS, type GivenOptions, type ResolvedOptions } from '../src/options.js';
import { resolveOptions } from '../src/resolve-options.js';

const same = (name: string): string => name;

/** What `resolveOptions` says to values that TypeScript would not let through. */
function refusal(given: Record<string, unknown>, naming = same): WirefaultError {
  try {
    resolveOptions(given as GivenOptions, naming);
  } catch (thrown) {
    if (thrown instanceof WirefaultError) return thrown;
    throw thrown;
  }
  throw new Error(`${JSON.stringify(given)} was accepted`);
}

/** What `random` draws, with the shares. */
const weightsOf = ({ script }: ResolvedOptions): Record<string, number> =>
  Object.fromEntries(script.shares.map(({ value, weight }) => [value.name, weight]));

describe('defaults', () => {
  it('are the published ones', () => {
    expect(resolveOptions({}, same)).toMatchObject({
      host: '127.0.0.1',
      port: 0,
      apiKey: undefined,
      listenDelayMs: 750,
      successText: 'mock response recovered',
      partialText: 'discarded partial response',
      reasoningText: 'mock reasoning',
      chunkSize: 8,
      chunkDelayMs: 25,
      disconnectDelayMs: 10,
      retryAfterMs: 1000,
      requestId: undefined,
      toolName: 'mock_tool',
      toolArguments: '{"value":"mock"}',
    });
  });

  it('the sequence is success, repeated; a given one is not repeated', () => {
    const { script } = resolveOptions({}, same);
    expect(script).toMatchObject({
      entries: [{ named: { name: 'success', fault: faultOf('success') }, windows: [] }],
      leading: [],
      repeatLast: true,
    });
    expect(resolveOptions({ sequence: ['stall'] }, same).script.repeatLast).toBe(false);
    expect(resolveOptions({ sequence: ['stall'], repeatLast: true }, same).script.repeatLast).toBe(true);
  });

  it('the weights of random', () => {
    expect(weightsOf(resolveOptions({ sequence: ['random'] }, same))).toEqual({
      success: 48,
      slow_success: 10,
      max_tokens: 2,
      connection_reset: 5,
      stream_disconnect: 5,
      partial_disconnect: 10,
      empty: 5,
      stall: 2,
      rate_limit: 5,
      server_error: 4,
      service_unavailable: 2,
      partial_eof: 1,
      malformed_json: 1,
    });
  });

  it('a seed is drawn: unsigned, 32 bits, not always the same', () => {
    const seeds = Array.from({ length: 20 }, () => resolveOptions({}, same).script.seed);
    for (const seed of seeds) expect(Number.isInteger(seed) && seed >= 0 && seed <= 0xffff_ffff).toBe(true);
    expect(new Set(seeds).size).toBeGreaterThan(1);
  });

  it('`undefined` means the default', () => {
    expect(resolveOptions({ chunkSize: undefined, host: undefined }, same)).toMatchObject({
      chunkSize: 8,
      host: '127.0.0.1',
    });
  });

  it('each simple option has one, and it is allowed', () => {
    expect(Object.keys(DEFAULTS).sort()).toEqual(Object.keys(OPTION_ROWS).sort());
    for (const [name, row] of Object.entries(OPTION_ROWS)) {
      const value: unknown = Object.entries(DEFAULTS).find(([key]) => key === name)?.[1];
      if (value !== undefined) expect(row.schema.safeParse(value).success, name).toBe(true);
    }
  });
});

/** The numbers, with the least and the greatest that are allowed. */
const RANGES: readonly (readonly [keyof typeof OPTION_ROWS, number, number])[] = [
  ['port', 0, 65_535],
  ['listenDelayMs', 0, MAX_TIMER_MS],
  ['chunkSize', 1, 1_000_000],
  ['chunkDelayMs', 0, MAX_TIMER_MS],
  ['disconnectDelayMs', 0, MAX_TIMER_MS],
  ['retryAfterMs', 1, MAX_TIMER_MS],
  ['maxHeadBytes', 256, 16_777_216],
  ['maxBodyBytes', 0, 1_073_741_824],
  ['requestTimeoutMs', 0, MAX_TIMER_MS],
];

describe('numbers', () => {
  for (const [name, min, max] of RANGES) {
    it(`${name}: ${min} to ${max}, and nothing else`, () => {
      for (const value of [min, max]) expect(resolveOptions({ [name]: value }, same)[name]).toBe(value);
      for (const value of [
        min - 1,
        max + 1,
        min + 0.5,
        Number.NaN,
        Number.POSITIVE_INFINITY,
        String(min),
        null,
        true,
      ]) {
        const { code, message } = refusal({ [name]: value });
        expect(code).toBe('bad_option');
        expect(message).toMatch(
          new RegExp(`^${name}: .+ is not allowed; expected a whole number .*from ${min} to ${max}$`),
        );
        if (Number.isFinite(value)) expect(message).toContain(`${name}: ${value} `);
      }
    });
  }

  it('from the command line: decimal digits; what is something else is left for the schema to refuse', () => {
    const parsed = ['12', ' 12 ', '-3', '1.5', '', '0x10', '1e3', '12ms', '١'].map(OPTION_ROWS.port.parse);
    expect(parsed).toEqual([12, 12, -3, 1.5, '', '0x10', '1e3', '12ms', '١']);
  });
});

describe('texts', () => {
  for (const [name, good, bad] of [
    ['host', ['localhost', '::1'], ['', 7]],
    ['apiKey', ['sk-1', '~!'], ['', 'a b', 'a\tb', 'a\r\nb', 'é', 7]],
    ['requestId', ['req_1'], ['', 'a b', 'a\nb', '\x7f', 'é', 7]],
    ['toolName', ['f'], ['', null]],
    ['toolArguments', ['{}', '{"a":[1]}'], ['', '{', '[]', 'null', '1', '"a"', {}]],
    ['successText', ['', 'a\nb', '😀'], [7, null]],
    ['partialText', ['', 'x'], [7]],
    ['reasoningText', ['', 'x'], [7]],
    ['fidelity', ['full', 'plain'], ['', 'Full', 7]],
    ['keyOrder', ['sorted', 'declared'], ['', 'x']],
  ] as const) {
    it(`${name}: ${JSON.stringify(good)} but not ${JSON.stringify(bad)}`, () => {
      for (const value of good) expect(resolveOptions({ [name]: value }, same)[name]).toBe(value);
      for (const value of bad) {
        const { code, message } = refusal({ [name]: value });
        const shown = name === 'apiKey' ? '"(hidden)"' : JSON.stringify(value);
        expect({ code, message }).toEqual({
          code: 'bad_option',
          message: `${name}: ${shown} is not allowed; expected ${OPTION_ROWS[name].allowed}`,
        });
      }
    });
  }
});

describe('options of the script', () => {
  for (const [given, message] of [
    [{ sequence: [] }, /^sequence: \[\] is not allowed; expected a list of at least one behavior \(success, /],
    [{ sequence: 'success' }, /^sequence: "success" is not allowed; expected a list/],
    [
      { sequence: ['succes'] },
      /unknown behavior "succes", did you mean "success"\? \(\d+ are known, the nearest success, /,
    ],
    [{ sequence: ['random'], repeatLast: 'yes' }, /^repeatLast: "yes" is not allowed; expected true or false$/],
    [
      { sequence: ['stall'], randomWeights: { stall: 1 } },
      /^randomWeights: has no meaning without random in sequence$/,
    ],
    ...[-1, 0x1_0000_0000, 1.5, '1', Number.NaN].map(
      (randomSeed) =>
        [
          { sequence: ['random'], randomSeed },
          /^randomSeed: .+ is not allowed; expected a whole number from 0 to 4294967295$/,
        ] as const,
    ),
    ...[-1, Number.NaN, Number.POSITIVE_INFINITY, '1', null].map(
      (weight) =>
        [
          { sequence: ['random'], randomWeights: { success: 1, stall: weight } },
          /^randomWeights stall: .+ is not allowed; expected a number of at least 0$/,
        ] as const,
    ),
    [
      { sequence: ['random'], randomWeights: { stal: 1 } },
      /^randomWeights: unknown behavior "stal", did you mean "stall"/,
    ],
    [{ sequence: ['random'], randomWeights: { random: 1 } }, /^randomWeights: unknown behavior "random"/],
    [
      { sequence: ['random'], randomWeights: {} },
      /^randomWeights: \{\} is not allowed; expected at least one weight above 0$/,
    ],
    [{ sequence: ['random'], randomWeights: { stall: 0 } }, /expected at least one weight above 0$/],
    [{ sequence: ['success', 'connection_refused'], repeatLast: true }, /connection_refused can't be the last entry/],
    [{ sequence: ['random'], randomWeights: { refuse_until: 1 } }, /^randomWeights: unknown behavior "refuse_until"/],
    [{ sequence: [{ cut: { at: 'evnt:3', teardown: 'rst' } }] }, /^sequence: .*cut\.at: unknown position "evnt:3"/],
    [{ sequence: [{ cutt: {} }] }, /^sequence: .*cutt: unknown key "cutt", did you mean "cut"\?/],
    [{ sequence: [{ segments: {} }] }, /^sequence: .*segments: ends no segment; give at or everyBytes$/],
    [{ behaviors: { mine: { fault: { splice: [{ at: 'text:1' }] } } } }, /^behaviors: mine\.fault\.splice\.0: puts/],
    [{ sequence: ['success@event:1'] }, /^sequence: "success@event:1": success has no cut/],
  ] as const) {
    it(`${JSON.stringify(given)} is refused on one line`, () => {
      const error = refusal(given);
      expect(error.message).toMatch(message);
      expect(error.message).not.toContain('\n');
    });
  }

  it('the ends of their ranges are allowed', () => {
    for (const randomSeed of [0, 0xffff_ffff]) {
      expect(resolveOptions({ sequence: ['random'], randomSeed }, same).script.seed).toBe(randomSeed);
    }
    const randomWeights = { stall: 0, success: 0.001 };
    expect(weightsOf(resolveOptions({ sequence: ['random'], randomWeights }, same))).toEqual({ success: 0.001 });
  });

  it('a seed needs no random: ids and jitter are drawn from it too', () => {
    expect(resolveOptions({ randomSeed: 1 }, same).script.seed).toBe(1);
  });

  it("an entry may be a fault as data, a cut, or a behavior of one's own, which random draws too", () => {
    const fault = { cut: { at: 'event:2', teardown: 'fin' } } as const;
    const options = {
      behaviors: { mine: { extends: 'partial_disconnect', fault: { pace: { firstByteMs: 9 } } } },
      sequence: [fault, 'rst@event:3', 'mine', 'mine@headers', 'random'],
      randomWeights: { mine: 3, success: 1 },
    };
    const { script } = resolveOptions(options, same);
    const mine = { ...faultOf('partial_disconnect'), pace: { firstByteMs: 9 } };
    expect(script.entries.map(({ named }) => named?.fault)).toEqual([
      fault,
      { ...faultOf('success'), cut: { at: 'event:3', teardown: 'rst' } },
      mine,
      { ...mine, cut: { ...mine.cut, at: 'headers' } },
      undefined,
    ]);
    expect(script.shares).toEqual([
      { value: { name: 'success', fault: faultOf('success') }, weight: 1 },
      { value: { name: 'mine', fault: mine }, weight: 3 },
    ]);
  });
});

describe('names', () => {
  it('an unknown option is refused, with the nearest one', () => {
    const { code, message } = refusal({ chunksize: 1 });
    expect(code).toBe('bad_option');
    expect(message).toMatch(
      /^unknown option "chunksize", did you mean "chunkSize"\? \(\d+ are known, the nearest chunkSize, /,
    );
  });

  it('options are called as the caller calls them', () => {
    const flags = (name: string): string => `--${name}!`;
    expect(refusal({ port: -1 }, flags).message).toMatch(/^--port!: -1 is not allowed/);
    expect(refusal({ randomWeights: { stall: 1 } }, flags).message).toBe(
      '--randomWeights!: has no meaning without random in --sequence!',
    );
  });
});
