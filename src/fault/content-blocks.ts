import type { Stamps } from '../sse/stamps.js';

/**
 * Text that can be judged: numbered paragraphs, each with a mark that nobody can guess, so that what a client shows
 * can be traced to the last delivered paragraph, and taken out of a transcript before it is searched.
 */

/** Characters of a mark: 62^12 is some 71 bits. */
const MARK_WIDTH = 12;

/**
 * Words of no language. A judge looks for "truncated", "retry", "error" and their like, in many languages; none of
 * them can be made of these.
 */
const WORDS = ['lumo', 'vana', 'tesi', 'rako', 'mulo', 'sena', 'piva', 'koru', 'neli', 'daso', 'fumi', 'gavo'];
const WORDS_IN_BLOCK = 18;

/** The beginnings of words: a paragraph may be cut anywhere. */
const BEGINNINGS = WORDS.flatMap((word) => [1, 2, 3].map((length) => word.slice(0, length)));

/**
 * `[3:Qx3kT9ZpLm2a]`, and what follows of the paragraph's words, up to the cut. What a client says behind them is its
 * own.
 */
const BLOCK = new RegExp(
  `\\[(\\d+):([A-Za-z0-9]{${MARK_WIDTH}})\\](?:\\s+(?:${WORDS.join('|')})\\b)*(?:\\s+(?:${BEGINNINGS.join('|')})\\b)?\\.?`,
  'g',
);

function paragraph(number: number, mark: string): string {
  const words = Array.from({ length: WORDS_IN_BLOCK }, (_, n) => WORDS[(number * 5 + n * 7) % WORDS.length]);
  return `[${number}:${mark}] ${words.join(' ')}.`;
}

/** `count` paragraphs with a blank line between them. The marks are stamps: each answer has its own. */
export function contentBlocks(count: number, stamps: Stamps): string[] {
  return Array.from({ length: count }, (_, n) => paragraph(n + 1, stamps.id('alnum', MARK_WIDTH)));
}

export interface FoundBlock {
  /** Counts from 1. */
  readonly number: number;
  readonly mark: string;
}

/** The paragraphs whose marks stand in `transcript`, in the order in which they stand there. */
export function blocksIn(transcript: string): FoundBlock[] {
  return [...transcript.matchAll(BLOCK)].map(([, number, mark = '']) => ({ number: Number(number), mark }));
}

/** A mark that was cut. */
const CUT_MARK = /\[\d+:[A-Za-z0-9]{0,11}(?![A-Za-z0-9\]])/g;

/** `transcript` without the paragraphs, so that what is left is the client's own words. */
export function withoutBlocks(transcript: string): string {
  return transcript.replace(BLOCK, '').replace(CUT_MARK, '');
}
