/**
 * Memory for the bytes of answers that is used again. Each answer has bytes of its own for as long as anybody may look
 * at them; left to the collector, 200 MB a second of them made it run four times a second and cost a fifth of the CPU
 * (measured, bench/throughput). Whoever doesn't let go of a lease leaves its memory to the collector: that is always right.
 */
export interface Lease {
  /** Somebody more looks at the bytes. */
  hold(): void;
  /** Nobody has them any more who held them: not the kernel, not a ledger that is still to be made. */
  letGo(): void;
}

export interface Leased {
  readonly bytes: Buffer;
  readonly lease: Lease;
}

export interface LeasedText extends Lease {
  text(): string;
}

/** Node's own pool is for 4 KiB at most; memory of its own for each answer costs more than copying it. */
const SLAB_BYTES = 262_144;
/** What waits to be used again: as much as 1,000 ledgers that are still to be made may keep. */
const MAX_FREE = 64;
/** Longer answers have memory of their own. */
export const MAX_LEASED_BYTES = SLAB_BYTES / 8;

class Slab {
  readonly memory = Buffer.allocUnsafeSlow(SLAB_BYTES);
  used = 0;
  /** Answers in it that somebody has, and one for being the slab that is filled. */
  holders = 1;

  letGo(): void {
    this.holders--;
    if (this.holders > 0) return;
    if (poisoned) this.memory.fill(POISON);
    this.used = 0;
    this.holders = 1;
    if (free.length < MAX_FREE) free.push(this);
  }
}

class SlabLease implements Lease {
  private readonly slab: Slab;
  private readonly start: number;
  private readonly end: number;
  private holders = 1;

  constructor(slab: Slab, length: number) {
    this.slab = slab;
    this.start = slab.used;
    this.end = slab.used + length;
    slab.used = this.end;
    slab.holders++;
  }

  hold(): void {
    this.holders++;
  }

  letGo(): void {
    this.holders--;
    if (this.holders === 0) this.slab.letGo();
    if (this.holders < 0) throw new Error('a lease was let go of more often than it was held');
  }

  bytes(): Buffer {
    return this.slab.memory.subarray(this.start, this.end);
  }

  text(): string {
    return this.slab.memory.toString('utf8', this.start, this.end);
  }

  write(text: string): void {
    this.slab.memory.write(text, this.start, this.end - this.start, 'utf8');
  }
}

const free: Slab[] = [];
let filling: Slab | undefined;

function leaseOf(length: number): SlabLease {
  if (!filling || filling.used + length > SLAB_BYTES) {
    filling?.letGo();
    filling = free.pop() ?? new Slab();
  }
  return new SlabLease(filling, length);
}

/** A copy of bytes that aren't longer than `MAX_LEASED_BYTES`. */
export function leasedCopyOf(bytes: Buffer): Leased {
  const lease = leaseOf(bytes.length);
  const copy = lease.bytes();
  copy.set(bytes);
  return { bytes: copy, lease };
}

/** Text that is kept outside of the heap, where a collection doesn't move it; `undefined`: it is too long for that. */
export function leasedTextOf(text: string): LeasedText | undefined {
  const length = Buffer.byteLength(text);
  if (length > MAX_LEASED_BYTES) return undefined;
  const lease = leaseOf(length);
  lease.write(text);
  return lease;
}

const POISON = 0xa5;
let poisoned = false;

/** For tests: what is used again is overwritten first, so that whoever still looks at it gets something else. */
export function poisonWhatIsLetGo(): void {
  poisoned = true;
}
