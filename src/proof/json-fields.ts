/**
 * Values made out of something else, and their JSON, which is cheaper to write down at once than to have written of the
 * value: both come out of one table of fields, so neither can tell what the other doesn't.
 */
export interface Field<From, T> {
  of(from: From): T;
  /** What `JSON.stringify` makes of the value, byte for byte; `undefined`: it leaves the field out. */
  json(from: From): string | undefined;
}

/** The fields of an object in their order. */
export type Fields<From, T> = { readonly [Name in keyof T]-?: Field<From, T[Name]> };

/** All fields of an object, or the first or last of them. */
export interface Members<From, T> {
  of(from: From): T;
  /** Without the braces of the object. The first field is always there. */
  json(from: From): string;
}

/** Anything, as dear as `JSON.stringify` is. */
export function value<From, T>(of: (from: From) => T): Field<From, T> {
  return { of, json: (from) => JSON.stringify(of(from)) };
}

/** Mostly nothing: `null`, or left out. */
export function seldom<From, T>(of: (from: From) => T): Field<From, T> {
  return {
    of,
    json: (from) => {
      const made = of(from);
      return made === null ? 'null' : made === undefined ? undefined : JSON.stringify(made);
    },
  };
}

export function number<From, T extends number | null | undefined>(of: (from: From) => T): Field<From, T> {
  return {
    of,
    json: (from) => {
      const made = of(from);
      return made === undefined ? undefined : numberJson(made);
    },
  };
}

/** A string of which there are few different ones. */
export function word<From, T extends string | null>(of: (from: From) => T): Field<From, T> {
  return { of, json: (from) => wordJson(of(from)) };
}

/** A string that is mostly another one, of characters that JSON has as they are: a hash, a time. */
export function bare<From, T extends string | null>(of: (from: From) => T): Field<From, T> {
  return {
    of,
    json: (from) => {
      const made = of(from);
      return made === null ? 'null' : `"${made}"`;
    },
  };
}

export function flag<From, T extends boolean>(of: (from: From) => T): Field<From, T> {
  return { of, json: (from) => (of(from) ? 'true' : 'false') };
}

export function object<From, T extends object>(
  fields: Fields<From, T>,
  together: readonly Together<From, T>[] = [],
): Field<From, T> {
  const all = members(fields, together);
  return { of: all.of, json: (from) => `{${all.json(from)}}` };
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
  const json = grouped(names, pieces, together);
  return {
    of: (from) => {
      const made: Partial<T> = {};
      for (const { name, field } of makers) {
        const one = field.of(from);
        if (one !== undefined) made[name] = one;
      }
      return made as T;
    },
    json: (from) => {
      let text = '';
      for (const piece of json) text = piece(text, from);
      return text;
    },
  };
}

/** Adds its own to the text. */
type Piece<From> = (text: string, from: From) => string;

function labelled<From>(label: string, { json }: Field<From, unknown>): Piece<From> {
  return (text, from) => {
    const one = json(from);
    return one === undefined ? text : text + label + one;
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
    const text = kept((from: From) => inner.reduce((before, piece) => piece(before, from), ''), by, ...of);
    made.fill(nothing, first, first + own.length);
    made[first] = (before, from) => before + text(from);
  }
  return made.filter((piece) => piece !== nothing);
}

function nothing(text: string): string {
  return text;
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

/** Thousandths as they are written behind a whole number: times are milliseconds to a microsecond. */
const THOUSANDTHS = Array.from({ length: 1000 }, (_, n) => `${n / 1000}`.slice(1));
const MAX_THOUSANDTHS = 2 ** 31;

/** A fraction made of two known texts costs 20 ns instead of 90 (measured). */
function numberJson(made: number | null): string {
  if (made === null || !Number.isFinite(made)) return 'null';
  if (Number.isInteger(made)) return `${made}`;
  const thousandths = Math.round(made * 1000);
  if (thousandths / 1000 !== made || thousandths < 0 || thousandths > MAX_THOUSANDTHS) return `${made}`;
  const whole = Math.floor(thousandths / 1000);
  return `${whole}${THOUSANDTHS[thousandths - whole * 1000]}`;
}
