import type { JsonBytes } from './json-bytes.js';

/**
 * Values made out of something else, and their JSON, which is cheaper to write down at once than to have written of the
 * value: both come out of one table of fields, so neither can tell what the other doesn't.
 */
export interface Field<From, T> {
  of(from: From): T;
  /** Writes what `JSON.stringify` makes of the value, byte for byte; `false`: it leaves the field out. */
  put(from: From, to: JsonBytes): boolean;
}

/** The fields of an object in their order. */
export type Fields<From, T> = { readonly [Name in keyof T]-?: Field<From, T[Name]> };

/** All fields of an object, or the first or last of them. */
export interface Members<From, T> {
  of(from: From): T;
  /** Without the braces of the object. The first field is always there. */
  put(from: From, to: JsonBytes): void;
}

/** Anything, as dear as `JSON.stringify` is. */
export function value<From, T>(of: (from: From) => T): Field<From, T> {
  return {
    of,
    put: (from, to) => {
      to.text(JSON.stringify(of(from)));
      return true;
    },
  };
}

/** Mostly nothing: `null`, or left out. */
export function seldom<From, T>(of: (from: From) => T): Field<From, T> {
  return {
    of,
    put: (from, to) => {
      const made = of(from);
      if (made === undefined) return false;
      to.text(made === null ? 'null' : JSON.stringify(made));
      return true;
    },
  };
}

export function number<From, T extends number | null | undefined>(of: (from: From) => T): Field<From, T> {
  return {
    of,
    put: (from, to) => {
      const made = of(from);
      if (made === undefined) return false;
      to.number(made);
      return true;
    },
  };
}

/** A string of which there are few different ones. */
export function word<From, T extends string | null>(of: (from: From) => T): Field<From, T> {
  return {
    of,
    put: (from, to) => {
      to.text(wordJson(of(from)));
      return true;
    },
  };
}

/** A string that is mostly another one, of characters that JSON has as they are: a hash, a time. */
export function bare<From, T extends string | null>(of: (from: From) => T): Field<From, T> {
  return {
    of,
    put: (from, to) => {
      const made = of(from);
      if (made === null) to.text('null');
      else {
        to.text('"');
        to.text(made);
        to.text('"');
      }
      return true;
    },
  };
}

export function flag<From, T extends boolean>(of: (from: From) => T): Field<From, T> {
  return {
    of,
    put: (from, to) => {
      to.text(of(from) ? 'true' : 'false');
      return true;
    },
  };
}

export function object<From, T extends object>(
  fields: Fields<From, T>,
  together: readonly Together<From, T>[] = [],
): Field<From, T> {
  const all = members(fields, together);
  return {
    of: all.of,
    put: (from, to) => {
      to.text('{');
      all.put(from, to);
      to.text('}');
      return true;
    },
  };
}

/** Neighbours in their object whose JSON is mostly what it was the last time. */
export interface Together<From, T> {
  readonly names: readonly (keyof T)[];
  /** An object that those have in common of whom the JSON is the same; `undefined`: there is none. */
  by(from: From): object | undefined;
  /** Whatever else it is made of: the same is what is `===`. */
  readonly of: readonly ((from: From) => unknown)[];
}

export function members<From, T extends object>(
  fields: Fields<From, T>,
  together: readonly Together<From, T>[] = [],
): Members<From, T> {
  const names = Object.keys(fields) as (keyof T)[];
  const makers = names.map((name) => ({ name, field: fields[name] }));
  const pieces = makers.map(({ name, field }, n) => labelled(`${n === 0 ? '' : ','}${JSON.stringify(name)}:`, field));
  const all = grouped(names, pieces, together);
  return {
    of: (from) => {
      const made: Partial<T> = {};
      for (const { name, field } of makers) {
        const one = field.of(from);
        if (one !== undefined) made[name] = one;
      }
      return made as T;
    },
    put: (from, to) => {
      for (const piece of all) piece(from, to);
    },
  };
}

/** Writes its own. */
type Piece<From> = (from: From, to: JsonBytes) => void;

function labelled<From>(label: string, field: Field<From, unknown>): Piece<From> {
  return (from, to) => {
    const { length } = to;
    to.text(label);
    if (!field.put(from, to)) to.length = length;
  };
}

function grouped<From, T>(
  names: readonly (keyof T)[],
  pieces: readonly Piece<From>[],
  together: readonly Together<From, T>[],
): Piece<From>[] {
  const made: Piece<From>[] = [...pieces];
  for (const { names: own, by, of } of together) {
    const first = names.indexOf(own[0] as keyof T);
    if (own.some((name, n) => names[first + n] !== name)) throw new Error(`${own.join(', ')}: no neighbours`);
    const inner = pieces.slice(first, first + own.length);
    const all: Piece<From> = (from, to) => {
      for (const piece of inner) piece(from, to);
    };
    made.fill(nothing, first, first + own.length);
    made[first] = keptBytes(all, by, ...of);
  }
  return made.filter((piece) => piece !== nothing);
}

function nothing(): void {}

/** Keeps the bytes that were last written with an object that many have in common. */
export function keptBytes<From>(
  put: Piece<From>,
  by: (from: From) => object | undefined,
  ...of: readonly ((from: From) => unknown)[]
): Piece<From> {
  let to: JsonBytes | undefined;
  const bytes = kept(
    (from: From): Buffer => {
      if (!to) throw new Error('nobody has asked');
      const { length } = to;
      put(from, to);
      const made = to.copyFrom(length);
      to.length = length;
      return made;
    },
    by,
    ...of,
  );
  return (from, asked) => {
    to = asked;
    asked.bytes(bytes(from));
  };
}

/** Keeps what was last made with an object that many have in common and that never changes; `of`: as in `Together`. */
export function kept<From, Made>(
  make: (from: From) => Made,
  by: (from: From) => object | undefined,
  ...of: readonly ((from: From) => unknown)[]
): (from: From) => Made {
  const last = new WeakMap<object, { readonly of: readonly unknown[]; readonly made: Made }>();
  const same = (known: readonly unknown[], from: From): boolean => {
    for (let n = 0; n < of.length; n++) if (of[n]?.(from) !== known[n]) return false;
    return true;
  };
  return (from) => {
    const shared = by(from);
    if (!shared) return make(from);
    const known = last.get(shared);
    if (known && same(known.of, from)) return known.made;
    const made = make(from);
    last.set(shared, { of: of.map((one) => one(from)), made });
    return made;
  };
}

/** Words come again and again: behaviors, lanes, addresses. */
const words = new Map<string, string>();
const MAX_WORDS = 1000;

function wordJson(made: string | null): string {
  if (made === null) return 'null';
  const known = words.get(made);
  if (known !== undefined) return known;
  const json = JSON.stringify(made);
  if (words.size >= MAX_WORDS) words.clear();
  words.set(made, json);
  return json;
}
