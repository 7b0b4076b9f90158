import seedrandom from 'seedrandom';

/**
 * The filler with which providers hide the size of tokens. It is a function of its place in the stream,
 * not of the request, so that an answer has the same length each time.
 */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** The longest filler that was recorded, for OpenAI's `obfuscation` and Anthropic's spaces alike. */
const LONGEST = 15;

export interface Masking {
  /** 0 to 15 letters and digits: the value of OpenAI's `obfuscation`. */
  letters(): string;
  /** 0 to 15 spaces: Anthropic's padding before the last brace. */
  spaces(): string;
}

export function masking(seed: string): Masking {
  const random = seedrandom.alea(seed);
  const length = (): number => Math.floor(random() * (LONGEST + 1));
  return {
    letters: () => {
      let text = '';
      for (let left = length(); left > 0; left--) text += LETTERS[Math.floor(random() * LETTERS.length)];
      return text;
    },
    spaces: () => ' '.repeat(length()),
  };
}
