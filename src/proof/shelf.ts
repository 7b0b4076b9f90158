import type { Ledger } from './ledger.js';

/** The newest ledgers, each made when somebody first asks for it: most are never looked at. */
export interface Shelf {
  /** Puts one away that is to be made, at the price of keeping what it is made of. */
  put(exchange: number, make: () => Ledger): void;
  all(): readonly Ledger[];
  find(exchange: number): Ledger | undefined;
}

interface Kept {
  readonly exchange: number;
  make: (() => Ledger) | undefined;
  ledger: Ledger | undefined;
}

export function shelf(size: number): Shelf {
  const kept: Kept[] = [];
  const read = (one: Kept): Ledger[] => {
    one.ledger ??= one.make?.();
    one.make = undefined;
    return one.ledger ? [one.ledger] : [];
  };
  return {
    put: (exchange, make) => {
      kept.push({ exchange, make, ledger: undefined });
      if (kept.length > size) kept.shift();
    },
    all: () => kept.flatMap(read),
    find: (exchange) => {
      const found = kept.find((one) => one.exchange === exchange);
      return found && read(found)[0];
    },
  };
}

/** Makes it once, whoever asks first. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
