import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { BEHAVIORS } from '../../src/fault/catalogue.js';
import { POSITION_FORMS } from '../../src/fault/position.js';
import { faultJsonSchema, faultSchema } from '../../src/fault/spec.js';
import { isObject } from '../../src/sse/dialect.js';

/** The published schema as an editor reads it: by a validator that knows nothing of zod. */
const published: unknown = JSON.parse(JSON.stringify(faultJsonSchema()));
// Strict: a keyword that means nothing, or twice the same, is an error.
const validate = new Ajv2020({ strict: true, validateFormats: false }).compile(isObject(published) ? published : {});

const accepts = (fault: unknown): boolean => validate(fault);

type Path = readonly (string | number)[];

/** Every place in a value, itself first. */
function placesIn(value: unknown, path: Path = []): Path[] {
  const children: (readonly [string | number, unknown])[] = Array.isArray(value)
    ? Array.from(value, (one: unknown, n) => [n, one] as const)
    : isObject(value)
      ? Object.entries(value)
      : [];
  return [path, ...children.flatMap(([key, child]) => placesIn(child, [...path, key]))];
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (inner === undefined ? inner : Reflect.get(Object(inner), key)), value);
}

/** A copy with another value at a place, or without it. */
function changed(value: unknown, path: Path, to: { readonly value: unknown } | 'absent'): unknown {
  const copy: unknown = structuredClone(value);
  const key = path.at(-1);
  const owner = at(copy, path.slice(0, -1));
  if (key === undefined || !(isObject(owner) || Array.isArray(owner))) return to === 'absent' ? {} : to.value;
  if (to === 'absent') Reflect.deleteProperty(owner, key);
  else Reflect.set(owner, key, to.value);
  return copy;
}

const ODD_VALUES = [null, true, 0, -1, 1.5, 1e15, '', 'zzz', 'event:1', 'rst', [], [null], {}, { zzz: 1 }] as const;

/** A whole number, but not 0: zod says that by a function, which no schema has. */
const UNSAID = /\bnth: 0$/;

describe('the published JSON Schema of faults', () => {
  it('is of the 2020-12 dialect, and has no notes of the program to itself', () => {
    expect(published).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      additionalProperties: false,
    });
    // Whoever writes a fault sets all of it.
    expect(JSON.stringify(published)).not.toContain('readOnly');
  });

  for (const { name, fault } of BEHAVIORS) {
    it(`${name} is accepted, and refused with an unknown key anywhere`, () => {
      expect(validate(fault), JSON.stringify(validate.errors)).toBe(true);
      const objects = placesIn(fault).filter((path) => isObject(at(fault, path)));
      expect(objects.length).toBeGreaterThan(0);
      const taken = objects.filter((path) => accepts(changed(fault, [...path, 'zzz'], { value: 1 })));
      expect(taken).toEqual([]);
    });
  }

  it('says of every change to the catalogue what the program says', () => {
    const disagreed = BEHAVIORS.flatMap(({ name, fault }) =>
      placesIn(fault).flatMap((path) =>
        [...ODD_VALUES.map((value) => ({ value })), 'absent' as const].flatMap((to) => {
          const other = changed(fault, path, to);
          if (accepts(other) === faultSchema.safeParse(other).success) return [];
          return [`${name}: ${path.join('.')}: ${to === 'absent' ? to : JSON.stringify(to.value)}`];
        }),
      ),
    );
    expect(disagreed.filter((line) => !UNSAID.test(line))).toEqual([]);
  });

  it('knows every form of position, and no other', () => {
    const filled = POSITION_FORMS.map((form) => form.replaceAll(/\b[NK]\b/g, '12'));
    const cutAt = (position: string) => ({ cut: { at: position, teardown: 'rst' } });
    for (const position of filled) {
      expect(accepts(cutAt(position)), position).toBe(true);
      for (const wrong of [`${position} `, ` ${position}`, `${position}x`, `${position}\n`, position.toUpperCase()]) {
        expect(accepts(cutAt(wrong)), JSON.stringify(wrong)).toBe(false);
      }
    }
    for (const wrong of ['', 'event:', 'event:*', 'event:-1', 'event:1.5', 'chunk:1.data', 'byte:1e3', 'middle']) {
      expect(accepts(cutAt(wrong)), wrong).toBe(false);
    }
  });

  it('takes * for N where there may be many places', () => {
    const segmentAt = (place: string) => ({ segments: { at: [place] } });
    expect(accepts(segmentAt('event:*.mid'))).toBe(true);
    expect(accepts(segmentAt('eol:*.mid'))).toBe(true);
    expect(accepts(segmentAt('byte:*'))).toBe(false);
    expect(accepts(segmentAt('event:**'))).toBe(false);
    expect(accepts({ segments: { at: [] } })).toBe(false);
  });

  it('leaves JSON of the user alone', () => {
    const data = { type: 'x', nested: [{ any: null }] };
    expect(accepts({ events: [{ op: 'insert', event: { data } }] })).toBe(true);
    expect(accepts({ events: [{ op: 'patch', where: {}, path: 'a.b', value: data }] })).toBe(true);
    expect(accepts({ events: [{ op: 'insert', event: { dta: data } }] })).toBe(false);
  });
});
