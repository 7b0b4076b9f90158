import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { patchedJson, stepsOfPath } from '../../src/fault/json-path.js';

describe('a path', () => {
  it.each([
    ['a', ['a']],
    ['choices[0].delta.content', ['choices', 0, 'delta', 'content']],
    ['[1][-1]', [1, -1]],
    ['a["b.c"].d', ['a', 'b.c', 'd']],
    ['["a\\"b\\u017c"]', ['a"bż']],
    ['$x._y.z-1', ['$x', '_y', 'z-1']],
    ['.a', ['a']],
    ['__proto__.x', ['__proto__', 'x']],
  ])('%s is %j', (path, steps) => {
    expect(stepsOfPath(path)).toEqual(steps);
  });

  it.each(['', 'a.', 'a..b', 'a[', 'a[]', 'a[x]', 'a[1', "a['b']", 'a b', '1a', 'a["b]', 'a["\\x"]', 'a[9999999]'])(
    '%j is none',
    (path) => {
      expect(stepsOfPath(path)).toBeUndefined();
      expect(patchedJson('{"a":1}', path, 2)).toBe('{"a":1}');
    },
  );
});

const JSON_TEXT = '{"a":{"b":[1,{"c":"x"},3]},"z":null}';

describe('a patch', () => {
  it.each<[string, unknown, string]>([
    ['z', 7, '{"a":{"b":[1,{"c":"x"},3]},"z":7}'],
    ['a', [], '{"a":[],"z":null}'],
    ['a.b[1].c', { d: 'ż' }, '{"a":{"b":[1,{"c":{"d":"ż"}},3]},"z":null}'],
    ['a.b[-1]', 'last', '{"a":{"b":[1,{"c":"x"},"last"]},"z":null}'],
    ['a.b[-3]', null, '{"a":{"b":[null,{"c":"x"},3]},"z":null}'],
    ['a.b[-4]', 0, JSON_TEXT],
    ['a.b[3]', 4, '{"a":{"b":[1,{"c":"x"},3,4]},"z":null}'],
    ['a.b[5].n', 4, '{"a":{"b":[1,{"c":"x"},3,null,null,{"n":4}]},"z":null}'],
    ['new.list[1]', true, '{"a":{"b":[1,{"c":"x"},3]},"z":null,"new":{"list":[null,true]}}'],
    // What stands in the way gives way.
    ['z.y', 1, '{"a":{"b":[1,{"c":"x"},3]},"z":{"y":1}}'],
    ['a[0]', 1, '{"a":[1],"z":null}'],
    ['["odd key"]', 1, '{"a":{"b":[1,{"c":"x"},3]},"z":null,"odd key":1}'],
  ])('puts at %s %j', (path, value, json) => {
    expect(patchedJson(JSON_TEXT, path, value)).toBe(json);
  });

  it.each([
    ['z', '{"a":{"b":[1,{"c":"x"},3]}}'],
    ['a', '{"z":null}'],
    ['a.b[1].c', '{"a":{"b":[1,{},3]},"z":null}'],
    ['a.b[0]', '{"a":{"b":[{"c":"x"},3]},"z":null}'],
    ['a.b[-1]', '{"a":{"b":[1,{"c":"x"}]},"z":null}'],
    // Taking away what isn't there makes nothing on the way to it.
    ['none', JSON_TEXT],
    ['none.of[3].these', JSON_TEXT],
    ['a.b[7]', JSON_TEXT],
    ['a.b[-7].c', JSON_TEXT],
    ['a.b.c', JSON_TEXT],
    ['a[0]', JSON_TEXT],
    ['z.y', JSON_TEXT],
    ['toString', JSON_TEXT],
  ])('without a value takes away %s', (path, json) => {
    expect(patchedJson(JSON_TEXT, path, undefined)).toBe(json);
  });

  it.each(['[DONE]', '{not-json', 'words', '', '"a"', '7'])('leaves %j alone', (text) => {
    expect(patchedJson(text, 'a', 1)).toBe(text);
  });

  it('keeps keys in their order, and changes nothing but its place', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.jsonValue()), fc.jsonValue(), (object, value) => {
        const keys = Object.keys(object);
        for (const key of keys) {
          const patched: Record<string, unknown> = JSON.parse(patchedJson(JSON.stringify(object), key, value));
          expect(Object.keys(patched)).toEqual(keys);
          expect(JSON.stringify(patched)).toBe(JSON.stringify({ ...object, [key]: value }));
        }
      }),
      { seed: 71 },
    );
  });
});
