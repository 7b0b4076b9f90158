/** Longer memory, of a slow disk, isn't kept for the next lines. */
const MAX_KEPT_BYTES = 16_777_216;

/** Lines one behind the other, as a file has them, in memory that is used again. */
export class Lines {
  private memory = Buffer.alloc(0);
  private length = 0;
  count = 0;

  add(line: Buffer): void {
    const end = this.length + line.length;
    if (end >= this.memory.length) this.grow(end + 1);
    this.memory.set(line, this.length);
    this.memory[end] = LINE_END;
    this.length = end + 1;
    this.count++;
  }

  bytes(): Buffer {
    return this.memory.subarray(0, this.length);
  }

  clear(): void {
    if (this.memory.length > MAX_KEPT_BYTES) this.memory = Buffer.alloc(0);
    this.length = 0;
    this.count = 0;
  }

  private grow(most: number): void {
    const larger = Buffer.allocUnsafeSlow(2 * most);
    larger.set(this.bytes());
    this.memory = larger;
  }
}

const LINE_END = '\n'.charCodeAt(0);

/** The lines that are whole in bytes that may end inside one. */
export function wholeLines(bytes: Buffer): { readonly count: number; readonly bytes: number } {
  let count = 0;
  let end = 0;
  for (let at = bytes.indexOf(LINE_END); at >= 0; at = bytes.indexOf(LINE_END, end)) {
    count++;
    end = at + 1;
  }
  return { count, bytes: end };
}
