import { IdLetters } from './id-letters.js';

/**
 * What differs between two answers of one plan: ids and the time. Everything else about an answer is the same
 * each time, so an answer is compiled once with stand-ins of the same width, and stamped for each request.
 */
export type Alphabet = 'alnum' | 'hex' | 'base58';

const ALPHABETS: Readonly<Record<Alphabet, string>> = {
  alnum: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
  hex: '0123456789abcdef',
  base58: '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz',
};

/** How one stamp is made; its text has the same width for every request. */
export type StampRecipe =
  | { readonly kind: 'id'; readonly alphabet: Alphabet; readonly width: number }
  | { readonly kind: 'unix_seconds' }
  | { readonly kind: 'http_date'; readonly laterMs: number }
  | { readonly kind: 'rfc3339'; readonly laterMs: number };

/** The source of stamps for one answer. Ids come in a fixed order, so the nth id of an answer is a pure function of the seed. */
export interface Stamps {
  /** The next id of `width` characters. */
  id(alphabet: Alphabet, width: number): string;
  /** Ten digits (until the year 2286). */
  unixSeconds(): string;
  /** IMF-fixdate, 29 characters (RFC 9110, section 5.6.7), `laterMs` from now. */
  httpDate(laterMs?: number): string;
  /** `2026-08-19T14:34:11Z`, 20 characters (RFC 3339), `laterMs` from now. */
  rfc3339(laterMs?: number): string;
}

/** The codes of a stamp's characters, which are ASCII. Written without a text between: an answer has some 25 stamps. */
export type StampCodes = Uint8Array<ArrayBuffer>;

/** How many characters the stamps of a recipe have. */
export function widthOf(recipe: StampRecipe): number {
  return recipe.kind === 'id' ? recipe.width : TIME_WIDTHS[recipe.kind];
}

const TIME_WIDTHS = { unix_seconds: 10, http_date: 29, rfc3339: 20 } as const;

const CODES: Readonly<Record<Alphabet, StampCodes>> = {
  alnum: codesOf(ALPHABETS.alnum),
  hex: codesOf(ALPHABETS.hex),
  base58: codesOf(ALPHABETS.base58),
};

function codesOf(text: string): StampCodes {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

/** Writes the codes of each recipe to the beginning of those it is given, which have room for them; ids in the order in which they are asked for; returns their number. */
export function stampWriter(seed: string, now: Date): (recipe: StampRecipe, codes: StampCodes) => number {
  const drawn = new IdLetters(seed);
  return (recipe, codes) => {
    switch (recipe.kind) {
      case 'id':
        drawn.write(CODES[recipe.alphabet], codes, recipe.width);
        return recipe.width;
      case 'unix_seconds':
      case 'http_date':
      case 'rfc3339': {
        const text = timeText(recipe, now);
        for (let i = 0; i < text.length; i++) codes[i] = text.charCodeAt(i);
        return text.length;
      }
      default:
        return recipe satisfies never;
    }
  };
}

type TimeRecipe = Exclude<StampRecipe, { kind: 'id' }>;

/** No text tells more than the second, and answers come by thousands in one. */
const lastTimes = new WeakMap<TimeRecipe, { readonly second: number; readonly text: string }>();

function timeText(recipe: TimeRecipe, now: Date): string {
  const atMs = now.getTime() + (recipe.kind === 'unix_seconds' ? 0 : recipe.laterMs);
  const second = Math.floor(atMs / 1000);
  const last = lastTimes.get(recipe);
  if (last?.second === second) return last.text;
  const text = timeTextAt(recipe.kind, atMs);
  lastTimes.set(recipe, { second, text });
  return text;
}

function timeTextAt(kind: TimeRecipe['kind'], atMs: number): string {
  switch (kind) {
    case 'unix_seconds':
      return String(Math.floor(atMs / 1000));
    case 'http_date':
      return new Date(atMs).toUTCString();
    case 'rfc3339':
      return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
    default:
      return kind satisfies never;
  }
}

/** Stamps drawn from `seed` and `now`; `onStamp` sees each one, in order. */
export function stampsFrom(seed: string, now: Date, onStamp?: (recipe: StampRecipe, text: string) => void): Stamps {
  const write = stampWriter(seed, now);
  const stamp = (recipe: StampRecipe): string => {
    const codes = new Uint8Array(widthOf(recipe));
    const text = String.fromCharCode(...codes.subarray(0, write(recipe, codes)));
    onStamp?.(recipe, text);
    return text;
  };
  return {
    id: (alphabet, width) => stamp({ kind: 'id', alphabet, width }),
    unixSeconds: () => stamp({ kind: 'unix_seconds' }),
    httpDate: (laterMs = 0) => stamp({ kind: 'http_date', laterMs }),
    rfc3339: (laterMs = 0) => stamp({ kind: 'rfc3339', laterMs }),
  };
}
