import { describe, expect, it } from 'vitest';
import {
  type Condition,
  conditionsSchema,
  listOf,
  problemWithCondition,
  regexOf,
  unmet,
  valueAt,
} from '../../src/fault/conditions.js';

const JSON_BODY = {
  model: 'gpt-5.4',
  stream: true,
  n: 2,
  tools: [{ name: 'search' }, { name: 'fetch' }],
  metadata: { 'session-id': 'a1', 'x.y': 7, nothing: null },
  messages: [
    { role: 'system', content: 'You title chats.' },
    { role: 'user', content: 'hello' },
    { role: 'tool', tool_call_id: 'call_9' },
  ],
};
const COMPACT = { text: JSON.stringify(JSON_BODY), json: JSON_BODY };
const PRETTY = { text: JSON.stringify(JSON_BODY, null, 2), json: JSON_BODY };

function holds(condition: Condition, body = COMPACT): boolean {
  return unmet(condition, body) === undefined;
}

const at = (path: string, wanted: string | number | boolean | null): Condition => ({ json: { [path]: wanted } });

describe('words of the body', () => {
  it('are found as they stand', () => {
    expect(holds('You title chats')).toBe(true);
    expect(holds('You Title Chats')).toBe(false);
    // Pretty-printed bodies have spaces: why there are conditions on JSON.
    expect(holds('"stream":true')).toBe(true);
    expect(holds('"stream":true', PRETTY)).toBe(false);
    expect(holds(at('stream', true), PRETTY)).toBe(true);
  });

  it('are regular expressions between slashes', () => {
    expect(holds('/you title/i')).toBe(true);
    expect(holds('/you title/')).toBe(false);
    expect(holds('/"stream":\\s*true/', PRETTY)).toBe(true);
    expect(regexOf('/a\\/b/')?.test('a/b')).toBe(true);
    expect(regexOf('//')).toBeUndefined();
  });

  it('are no regular expressions where they are paths', () => {
    for (const path of ['/v1/chat', '/v1/messages', '/v1/responses', '/v1/chat/completions', '/fault/F2/v1/models'])
      expect(regexOf(path)).toBeUndefined();
  });

  it('with the flag g are the same each time', () => {
    for (const _ of [1, 2, 3]) expect(holds('/hello/g')).toBe(true);
  });

  it('tell what was not there', () => {
    expect(unmet('goodbye', COMPACT)).toBe('the body has no goodbye');
    expect(unmet('/bye$/', COMPACT)).toBe('the body has no /bye$/');
  });
});

describe('places in JSON', () => {
  const cases: readonly (readonly [string, string | number | boolean | null, boolean])[] = [
    ['model', 'gpt-5.4', true],
    ['model', '=gpt-5.4', true],
    ['model', '= gpt-5.4', true],
    ['model', 'gpt', false],
    ['model', '!=gpt-5.4', false],
    ['model', '!=other', true],
    ['absent.at.all', '!=other', true],
    ['model', '~/^gpt-\\d/', true],
    ['model', '~/^claude/', false],
    ['n', '~/2/', false],
    ['n', 2, true],
    ['n', '=2', true],
    ['n', '2', false],
    ['stream', true, true],
    ['stream', '=true', true],
    ['stream', false, false],
    ['tools.length', '>0', true],
    ['tools.length', '>2', false],
    ['tools.length', '>=2', true],
    ['tools.length', '<2', false],
    ['tools.length', '<=2', true],
    ['tools.length', '< 3', true],
    ['tools.length', 2, true],
    ['model.length', 7, true],
    ['missing.length', '>0', false],
    ['model', '>0', false],
    ['messages[0].role', 'system', true],
    ['messages[-1].tool_call_id', 'call_9', true],
    ['messages[-1].tool_call_id', 'exists', true],
    ['messages[7].role', 'absent', true],
    ['messages.role', 'absent', true],
    ['metadata.session-id', 'a1', true],
    ['metadata["x.y"]', 7, true],
    ['metadata.nothing', null, true],
    ['metadata.nothing', 'absent', true],
    ['metadata.nothing', 'exists', false],
    ['metadata.none', null, false],
    // What any object has isn't what the request has.
    ['metadata.toString', 'exists', false],
    ['constructor', 'exists', false],
  ];
  for (const [path, wanted, expected] of cases) {
    it(`${path}: ${JSON.stringify(wanted)} ${expected ? 'holds' : "doesn't"}`, () => {
      expect(holds(at(path, wanted))).toBe(expected);
      expect(holds(at(path, wanted), PRETTY)).toBe(expected);
    });
  }

  it('must all hold, and the first that does not is told', () => {
    expect(unmet({ json: { stream: true, 'tools.length': '>0' } }, COMPACT)).toBeUndefined();
    expect(unmet({ json: { stream: true, 'tools.length': '>5', n: 9 } }, COMPACT)).toBe('tools.length is 2, not ">5"');
    expect(unmet(at('nowhere', 'exists'), COMPACT)).toBe('nowhere is absent, not "exists"');
  });

  it('are absent in what is no JSON', () => {
    expect(valueAt(undefined, 'a.b')).toBeUndefined();
    expect(valueAt('text', 'length')).toBe(4);
    expect(valueAt(COMPACT.json, 'not a path')).toEqual(COMPACT.json);
    expect(unmet(at('a', 'absent'), { text: '', json: undefined })).toBeUndefined();
  });
});

describe('what is wrong with a condition', () => {
  const good: readonly Condition[] = ['word', '/re/i', at('a.b[0]["c d"]', '>=1.5'), at('a', '=>x'), at('a', '~/x/i')];
  for (const condition of good) {
    it(`nothing: ${JSON.stringify(condition)}`, () => expect(problemWithCondition(condition)).toBeUndefined());
  }

  const bad: readonly (readonly [Condition, RegExp])[] = [
    ['/(/', /Invalid regular expression/],
    ['/a/ii', /Invalid flags/],
    [at('a..b', 1), /"a\.\.b" is no path into JSON, such as tools\.length/],
    [at('messages.0.role', 'user'), /is no path into JSON/],
    [at('a', '~/(/'), /Invalid regular expression/],
    [at('a', '~word'), /"~word" is no regular expression; use ~\/regex\//],
    [at('a', '>many'), /a: ">many" compares with what is no number; use =>many/],
    [at('a', '<=x'), /compares with what is no number/],
  ];
  for (const [condition, message] of bad) {
    it(`${JSON.stringify(condition)}`, () => expect(problemWithCondition(condition)).toMatch(message));
  }
});

describe('the schema', () => {
  it('takes one condition or several, and no empty ones', () => {
    expect(listOf(undefined)).toEqual([]);
    expect(listOf('a')).toEqual(['a']);
    expect(listOf(['a', at('b', 1)])).toEqual(['a', at('b', 1)]);
    for (const given of ['a', ['a'], at('a', null), [at('a', 1), 'b']])
      expect(conditionsSchema.safeParse(given).success).toBe(true);
    for (const given of ['', [], [''], {}, { json: { a: [1] } }, { jsn: {} }, 3])
      expect(conditionsSchema.safeParse(given).success).toBe(false);
  });
});
