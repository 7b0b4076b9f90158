import seedrandom from 'seedrandom';

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

/** Writes the text of each recipe, ids in the order in which they are asked for. */
export function stampWriter(seed: string, now: Date): (recipe: StampRecipe) => string {
  const random = seedrandom.alea(seed);
  return (recipe) => {
    switch (recipe.kind) {
      case 'id': {
        const letters = ALPHABETS[recipe.alphabet];
        const codes = new Array<number>(recipe.width);
        for (let i = 0; i < recipe.width; i++) codes[i] = letters.charCodeAt(Math.floor(random() * letters.length));
        return String.fromCharCode(...codes);
      }
      case 'unix_seconds':
        return String(Math.floor(now.getTime() / 1000));
      case 'http_date':
        return new Date(now.getTime() + recipe.laterMs).toUTCString();
      case 'rfc3339':
        return `${new Date(now.getTime() + recipe.laterMs).toISOString().slice(0, 19)}Z`;
      default:
        return recipe satisfies never;
    }
  };
}

/** Stamps drawn from `seed` and `now`; `onStamp` sees each one, in order. */
export function stampsFrom(seed: string, now: Date, onStamp?: (recipe: StampRecipe, text: string) => void): Stamps {
  const write = stampWriter(seed, now);
  const stamp = (recipe: StampRecipe): string => {
    const text = write(recipe);
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
