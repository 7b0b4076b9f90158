import type { Ledger } from './ledger.js';

/** A ledger that can be made, at the price of keeping what it is made of. */
export interface Makeable {
  make(): Ledger;
  /** Nobody will ask for it any more. */
  drop(): void;
}

/** The newest ledgers, each made when somebody first asks for it: most are never looked at. */
export interface Shelf {
  put(exchange: number, ledger: Makeable): void;
  all(): readonly Ledger[];
  find(exchange: number): Ledger | undefined;
}

export function shelf(size: number): Shelf {
  /** Rings, of one order: an array that is shifted is moved each time. */
  const numbers: number[] = [];
  const kept: Makeable[] = [];
  let oldest = 0;
  return {
    put: (exchange, ledger) => {
      if (kept.length < size) {
        numbers.push(exchange);
        kept.push(ledger);
        return;
      }
      kept[oldest]?.drop();
      numbers[oldest] = exchange;
      kept[oldest] = ledger;
      oldest = (oldest + 1) % size;
    },
    all: () => [...kept.slice(oldest), ...kept.slice(0, oldest)].map((ledger) => ledger.make()),
    find: (exchange) => kept[numbers.indexOf(exchange)]?.make(),
  };
}
