import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkScenario } from '../../src/scenario/check.js';

/** `line:column: message` of everything that is wrong. */
function wrongWith(text: string): string[] {
  const { problems, options } = checkScenario(text);
  expect(options === undefined).toBe(problems.length > 0);
  return problems.map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

/** The problems without what is known instead, and without their tails. */
const short = (text: string): string[] => wrongWith(text).map((line) => line.replace(/ \([^()]*\)$|; it has .*/, ''));

const lines = (...all: string[]): string => `${all.join('\n')}\n`;

const EVERYTHING = lines(
  'about: wrong in every way', // 1
  'options:',
  '  chunkSize: 0',
  '  chunkDelayMss: 3',
  '  successText: short', // 5
  'behaviors:',
  '  typo: { fault: { cutt: { at: event:3, teardown: rst } } }',
  '  on_typo: { extends: typo }',
  '  lost: { extends: succes }',
  '  far: { fault: { cut: { at: "event:900", teardown: rst } } }', // 10
  '  both: { fault: { cut: { at: "byte:3", teardown: eof } } }',
  'sequence:',
  '  - sucess',
  '  - rst@evnt:3',
  '  - stall@event:700', // 15
  '  - typo@event:3',
  '  - on_typo',
  '  - { pace: { firstByteMs: -1 } }',
  '  - { segments: {} }',
  'laneBy: bodyy', // 20
  'laneIgnore: [metadata.id, messages.0.id]',
  'lanes:',
  '  a: { sequence: [stal], repeatlast: true }',
  'rules:',
  '  - fault: F22', // 25
  '    onec: true',
  '    times: 0',
  '    match: /(/',
  '  - { fault: random, key: cookie:a }',
  '  - { fault: connection_refused, once: true, times: 2 }', // 30
  '  - { fault: F1, key: header:a, then: { behavior: refuse, result: same } }',
  '  - { once: true }',
  'weights: { F1: 2, nothing: 3 }',
  'seed: -1',
);

describe('everything that is wrong', () => {
  it('is told at once, in the order of the lines', () => {
    expect(short(EVERYTHING)).toEqual([
      '3:14: options.chunkSize: expected a whole number from 1 to 1000000',
      '4:3: options.chunkDelayMss: unknown key "chunkDelayMss", did you mean "chunkDelayMs"?',
      '7:20: behaviors.typo.fault.cutt: unknown key "cutt", did you mean "cut"?',
      '9:20: behaviors.lost.extends: unknown behavior "succes", did you mean "success"?',
      "10:8: behaviors.far: position event:900: the answer doesn't reach it",
      '11:31: behaviors.both.fault.cut.at: eof ends the body correctly, so it needs a place in the body; byte:3 is one of the wire',
      '13:5: sequence[0]: unknown behavior "sucess", did you mean "success"?',
      '14:5: sequence[1]: unknown position "evnt:3", did you mean "event:N"?',
      "15:5: sequence[2]: position event:700: the answer doesn't reach it",
      '18:28: sequence[5].pace.firstByteMs: too small: expected number to be >=0',
      '19:17: sequence[6].segments: ends no segment; give at or everyBytes',
      '20:9: laneBy: unknown lane "bodyy", did you mean "body"?',
      '21:27: laneIgnore[1]: "messages.0.id" is no path into JSON, such as metadata.id or messages[-1].id',
      '23:19: lanes.a.sequence[0]: unknown behavior "stal", did you mean "stall"?',
      '23:26: lanes.a.repeatlast: unknown key "repeatlast", did you mean "repeatLast"?',
      '25:12: rules[0].fault: unknown behavior "F22", did you mean "F2"?',
      '26:5: rules[0].onec: unknown key "onec", did you mean "once"?',
      '27:12: rules[0].times: too small: expected number to be >=1',
      '28:12: rules[0].match: "/(/": Invalid regular expression: /(/: Unterminated group',
      "29:14: rules[1].fault: random can't be a rule's fault; use probability",
      '29:27: rules[1].key: "cookie:a" is no key; use header:NAME or json:PATH',
      '29:27: rules[1].key: key and then need each other',
      '30:14: rules[2].fault: connection_refused is a fault of the port, which no request can meet',
      '30:53: rules[2].times: once means one time; give one of once and times',
      '31:51: rules[3].then.behavior: refuse is a fault of the port, which no request can meet',
      '32:5: rules[4].fault: expected a string, or an object',
      '33:28: weights.nothing: unknown behavior "nothing"',
      '34:7: seed: too small: expected number to be >=0',
    ]);
  });

  it('of behaviors that lean on a wrong one, only the wrong one is told', () => {
    const text = lines(
      'behaviors:',
      '  a: { fault: { cut: { at: nowhere, teardown: rst } } }',
      '  b: { extends: a }',
      '  c: { extends: b, fault: { pace: { gates: [{ at: "event:900", name: go }] } } }',
      'sequence: [a, b, c, a@event:3, c@event:1, success]',
      'rules: [{ fault: c }]',
      'weights: { b: 1, random: 1 }',
    );
    expect(short(text)).toEqual([
      '2:28: behaviors.a.fault.cut.at: unknown position "nowhere"',
      '7:26: weights.random: unknown behavior "random"',
    ]);
  });
});

describe('what a scenario means', () => {
  it('options, scripts, lanes and rules of the library', () => {
    const text = lines(
      '$schema: ../scenario.schema.json',
      'about: all of it',
      'options: { successText: hi, maxLanes: 5 }',
      'behaviors: { mine: { extends: F1, fault: { pace: { jitter: 1 } } } }',
      'sequence: [mine, random, { cut: { at: headers, teardown: stall } }]',
      'repeatLast: false',
      'seed: 42',
      'weights: { mine: 1, success: 2 }',
      'laneBy: body',
      'laneIgnore: [metadata.id]',
      'lanes: { a: { sequence: [F2], repeatLast: true } }',
      'rules: [{ fault: rate_limit, once: true, match: { json: { tools.length: ">0" } } }]',
    );
    expect(wrongWith(text)).toEqual([]);
    expect(checkScenario(text).options).toEqual({
      successText: 'hi',
      maxLanes: 5,
      behaviors: { mine: { extends: 'F1', fault: { pace: { jitter: 1 } } } },
      sequence: ['mine', 'random', { cut: { at: 'headers', teardown: 'stall' } }],
      repeatLast: false,
      randomSeed: 42,
      randomWeights: { mine: 1, success: 2 },
      laneBy: 'body',
      laneIgnore: ['metadata.id'],
      lanes: { a: { sequence: ['F2'], repeatLast: true } },
      rules: [{ fault: 'rate_limit', once: true, match: { json: { 'tools.length': '>0' } } }],
    });
  });

  it('nothing, where nothing is said', () => {
    for (const text of ['', '# only a comment\n', '{}', '---\n...\n'])
      expect(checkScenario(text)).toEqual({ problems: [], options: {} });
  });

  it('every scenario that is shipped is one', () => {
    const folder = fileURLToPath(new URL('../../scenarios/', import.meta.url));
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'));
    expect(files).toContain('cut-then-reconcile.yaml');
    for (const name of files) expect([name, ...wrongWith(readFileSync(`${folder}${name}`, 'utf8'))]).toEqual([name]);
  });

  it('JSON is read as well, with the same places', () => {
    const good = {
      sequence: ['F2', 'success'],
      rules: [{ fault: { cut: { at: 'event:3', teardown: 'rst' } }, once: true }],
    };
    expect(checkScenario(JSON.stringify(good)).options).toEqual(good);
    const bad = JSON.stringify({ sequence: ['F22'], ruls: [], options: { port: 70_000 } }, null, 2);
    expect(short(bad)).toEqual([
      '3:5: sequence[0]: unknown behavior "F22", did you mean "F2"?',
      '5:3: ruls: unknown key "ruls", did you mean "rules"?',
      '7:13: options.port: expected a whole number from 0 to 65535',
    ]);
  });
});

describe('what is no YAML', () => {
  const cases: readonly (readonly [string, readonly RegExp[]])[] = [
    ['sequence: [success\nseed: 1\n', [/^2:1: Flow sequence in block collection/]],
    ['sequence: [success]\nsequence: [F1]\n', [/^2:1: Map keys must be unique$/]],
    ['a: 1\n  b: 2\n', [/^1:4: Nested mappings are not allowed|^2:3: /]],
    ['a: 1\n---\nb: 2\n', [/^2:1: a second document begins; a scenario is one$/]],
    ['sequence: *mine\n', [/^1:11: there is no anchor &mine before this alias$/]],
    ['about: "open\n', [/Missing closing "quote/]],
    ['{"sequence": ["success"', [/Flow/, /./]],
  ];
  for (const [text, expected] of cases) {
    it(JSON.stringify(text), () => {
      const wrong = wrongWith(text);
      expect(wrong.length).toBeGreaterThan(0);
      for (const [n, pattern] of expected.entries()) expect(wrong[n]).toMatch(pattern);
    });
  }

  it('several errors are told at once', () => {
    expect(wrongWith('a: [1\nb: }\nsequence: *none\n').length).toBeGreaterThan(1);
  });

  it('aliases that would grow beyond all bounds', () => {
    const level = (n: number): string => `a${n}: &a${n} [${Array.from({ length: 10 }, () => `*a${n - 1}`).join(', ')}]`;
    const bomb = lines('a0: &a0 [x]', ...Array.from({ length: 9 }, (_, n) => level(n + 1)));
    expect(wrongWith(bomb)).toEqual([expect.stringMatching(/^1:1: Excessive alias count/)]);
  });

  it('a list that holds itself', () => {
    expect(wrongWith('sequence: &s [*s]\n')).toEqual([expect.stringMatching(/^1:1\d: sequence\[0\]: /)]);
  });
});

describe('single problems', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['[]', '1:1: invalid input: expected object, received array'],
    ['just text', '1:1: invalid input: expected object, received string'],
    ['options: [a]', '1:10: options: invalid input: expected object, received array'],
    ['sequence: []', '1:11: sequence: too small: expected array to have >=1 items'],
    ['sequence: success', '1:11: sequence: invalid input: expected array, received string'],
    ['sequence: [3]', '1:12: sequence[0]: expected a string, or an object'],
    [
      'options: { contentBlocks: 3, successText: a }',
      "1:27: options.contentBlocks: contentBlocks: can't be set together with successText; both are the text of an answer",
    ],
    ['sequence: [F1]\nweights: { F1: 1 }', '2:10: weights: randomWeights: has no meaning without random in sequence'],
    [
      'sequence: [success, refuse]\nrepeatLast: true',
      "1:21: sequence[1]: refuse can't be the last entry with repeatLast, since no request could ever use it up",
    ],
    ['sequence: [constructor]\nbehaviors: {}', '1:12: sequence[0]: unknown behavior "constructor"'],
    ['behaviors: { "a b": {} }', '1:21: behaviors.a b: is no name for a behavior; use letters, digits and _ + . -'],
    [
      'behaviors: { a: { extends: b }, b: { extends: a } }',
      '1:28: behaviors.a.extends: a extends b extends a: a circle',
    ],
    ['laneBy: header', '1:9: laneBy: unknown lane "header"'],
    [
      'rules: [{ fault: F1, match: { json: { a..b: 1 } } }]',
      '1:29: rules[0].match: "a..b" is no path into JSON, such as tools.length or messages[0].role',
    ],
    ['options: { apiKey: "with space" }', '1:20: options.apiKey: expected visible ASCII characters without spaces'],
    [
      'rules: [{ fault: F1, protocol: openai_chat }]',
      '1:32: rules[0].protocol: unknown word "openai_chat", did you mean "openai-chat"?',
    ],
    // A place that depends on the options: this text has so many deltas.
    [
      'options: { successText: abcdef, chunkSize: 1 }\nsequence: [rst@text:7]',
      "2:12: sequence[0]: position text:7: the answer doesn't reach it",
    ],
  ];
  for (const [text, problem] of cases) {
    it(text, () => expect(short(text)[0]).toBe(problem));
  }

  it('a place that an option lets the answer reach is none', () => {
    expect(wrongWith('options: { successText: abcdefg, chunkSize: 1 }\nsequence: [rst@text:7]')).toEqual([]);
    expect(wrongWith('options: { chunkSize: 1 }\nsequence: ["rst@event:20"]')).toEqual([]);
  });
});

describe('any text', () => {
  it('is judged without an error of ours, at places that it has', () => {
    const piece = fc.constantFrom(
      ...EVERYTHING.split(/(?<=[\s:,[\]{}])/),
      '&a ',
      '*a',
      '- ',
      '? ',
      '!x ',
      '"',
      "'",
      '<<: ',
      '\t',
      '\0',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join('');
        const { problems } = checkScenario(text);
        const count = text.split('\n').length;
        for (const { line, column } of problems) {
          expect(line).toBeLessThanOrEqual(count);
          expect(Math.min(line, column)).toBeGreaterThanOrEqual(1);
        }
      }),
      { numRuns: 500 },
    );
  });
});
