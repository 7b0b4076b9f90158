/**
 * The letters of ids, a pure function of a seed text. An answer needs some 80, and each has a seed of its own: a
 * generator of seedrandom makes its functions anew for each seed, 1.3 µs and a kilobyte, and draws once for a letter;
 * this takes 0.4 µs and an object (measured). What ids need is that two seeds have different ones, so the
 * state is 128 bits wide: the generator is Chris Doty-Humphrey's sfc32 (PractRand), the words of the seed are FNV-1a's
 * with four multipliers (draft-eastlake-fnv).
 */
export class IdLetters {
  private a = 0x1c9dc511;
  private b = 0x1e3779b9;
  private c = 0x243f6a88;
  private counter = 1;

  constructor(seed: string) {
    let { a, b, c, counter } = this;
    for (let i = 0; i < seed.length; i++) {
      const code = seed.charCodeAt(i);
      a = Math.imul(a ^ code, 0x01000193);
      b = Math.imul(b ^ code, 0x85ebca6b);
      c = Math.imul(c ^ code, 0xc2b2ae35);
      counter = Math.imul(counter ^ code, 0x27d4eb2f);
    }
    this.a = a;
    this.b = b;
    this.c = c;
    this.counter = counter;
    // As many draws as PractRand takes, so that seeds that are nearly the same have nothing in common.
    for (let i = 0; i < 12; i++) this.draw();
  }

  /** Writes the next `width` of `letters` to the beginning of `codes`. Each half of a draw is one: none of 62 comes 0.1 % more often. */
  write(letters: Uint8Array, codes: Uint8Array, width: number): void {
    const count = letters.length;
    for (let i = 0; i < width; i += 2) {
      const drawn = this.draw();
      codes[i] = letters[((drawn & 0xffff) * count) >>> 16] ?? 0;
      if (i + 1 < width) codes[i + 1] = letters[((drawn >>> 16) * count) >>> 16] ?? 0;
    }
  }

  private draw(): number {
    const { a, b, c, counter } = this;
    const sum = (a + b + counter) | 0;
    this.counter = (counter + 1) | 0;
    this.a = b ^ (b >>> 9);
    this.b = (c + (c << 3)) | 0;
    this.c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum;
  }
}
