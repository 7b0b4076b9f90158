import { stripVTControlCharacters } from 'node:util';
import { blocksIn, withoutBlocks } from '../fault/content-blocks.js';
import type { Ledger } from '../proof/ledger.js';

/** What of the numbered paragraphs a client showed, and of which answers they were. */
export interface ShownBlocks {
  /** Numbers of shown paragraphs by exchange. */
  readonly byExchange: ReadonlyMap<number, readonly number[]>;
  /** The client's own words: everything else. */
  readonly ownWords: string;
}

/** Terminals wrap lines, draw frames and color words; none of it changes what is said. */
const FRAMES = /[│┃║▌▐╎┆┊|]\s*$|^\s*[│┃║▌▐╎┆┊|•●⏺>]/gm;

/** Text as a reader takes it: no escapes, one blank between words, a paragraph's mark in one piece. */
export function folded(text: string): string {
  return stripVTControlCharacters(text)
    .replace(FRAMES, ' ')
    .replace(/\s+/g, ' ')
    .replace(
      /\[(\d+):([A-Za-z0-9 ]{12,24})\]/g,
      (_, number: string, mark: string) => `[${number}:${mark.replaceAll(' ', '')}]`,
    );
}

export function shownBlocks(shown: string, exchanges: readonly Ledger[]): ShownBlocks {
  const text = folded(shown);
  const owner = new Map<string, number>();
  for (const { exchange, blocks } of exchanges) for (const mark of blocks?.marks ?? []) owner.set(mark, exchange);
  const byExchange = new Map<number, number[]>();
  for (const { number, mark } of blocksIn(text)) {
    const exchange = owner.get(mark);
    if (exchange === undefined) continue;
    byExchange.set(exchange, [...(byExchange.get(exchange) ?? []), number]);
  }
  return { byExchange, ownWords: withoutBlocks(text).trim() };
}

/** Whether every paragraph that an answer told was shown. */
export function isWhole({ exchange, blocks }: Ledger, { byExchange }: ShownBlocks): boolean {
  const numbers = new Set(byExchange.get(exchange));
  return blocks !== null && blocks.told > 0 && numbers.size === blocks.told;
}
