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

interface Kept {
  readonly exchange: number;
  readonly ledger: Makeable;
}

export function shelf(size: number): Shelf {
  /** A ring: an array that is shifted is moved each time. */
  const ring: Kept[] = [];
  let oldest = 0;
  return {
    put: (exchange, ledger) => {
      if (ring.length < size) {
        ring.push({ exchange, ledger });
        return;
      }
      ring[oldest]?.ledger.drop();
      ring[oldest] = { exchange, ledger };
      oldest = (oldest + 1) % size;
    },
    all: () => [...ring.slice(oldest), ...ring.slice(0, oldest)].map(({ ledger }) => ledger.make()),
    find: (exchange) => ring.find((one) => one.exchange === exchange)?.ledger.make(),
  };
}
