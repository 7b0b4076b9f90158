/**
 * Memory for the bytes of answers that is used again. Each answer has bytes of its own for as long as anybody may look
 * at them; left to the collector, 200 MB a second of them made it run four times a second and cost a fifth of the CPU
 * (measured, bench/throughput). Whoever doesn't let go of a lease leaves its memory to the collector: that is always right.
 */
export interface Lease {
  /** A view of them: only who keeps the bytes for long does better without one (100 bytes each). */
  bytes(): Buffer;
  /** Somebody more looks at the bytes. */
  hold(): void;
  /** Nobody has them any more who held them: not the kernel, not a ledger that is still to be made. */
  letGo(): void;
}

/** Node's own pool is for 4 KiB at most; memory of its own for each answer costs more than copying it. */
const SLAB_BYTES = 262_144;
/** What waits to be used again: as much as 1,000 ledgers that are still to be made may keep. */
const MAX_FREE = 64;
/** What is longer has memory of its own. */
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

  constructor(slab: Slab, bytes: Buffer) {
    this.slab = slab;
    this.start = slab.used;
    this.end = slab.used + bytes.length;
    slab.memory.set(bytes, slab.used);
    slab.used = this.end;
    slab.holders++;
  }

  bytes(): Buffer {
    return this.slab.memory.subarray(this.start, this.end);
  }

  hold(): void {
    this.holders++;
  }

  letGo(): void {
    this.holders--;
    if (this.holders === 0) this.slab.letGo();
    // Does no harm by itself, but who does it may do it too early as well.
    if (poisoned && this.holders < 0) throw new Error('a lease was let go of more often than it was held');
  }
}

const free: Slab[] = [];
let filling: Slab | undefined;

/** Of bytes that are too long to share a slab: the collector's, whoever holds them. */
class OwnMemory implements Lease {
  private readonly memory: Buffer;

  constructor(bytes: Buffer) {
    this.memory = Buffer.from(bytes);
  }

  bytes(): Buffer {
    return this.memory;
  }

  hold(): void {}

  letGo(): void {}
}

export function leasedCopyOf(bytes: Buffer): Lease {
  if (bytes.length > MAX_LEASED_BYTES) return new OwnMemory(bytes);
  if (!filling || filling.used + bytes.length > SLAB_BYTES) {
    filling?.letGo();
    filling = free.pop() ?? new Slab();
  }
  return new SlabLease(filling, bytes);
}

const POISON = 0xa5;
let poisoned = false;

/** For tests: what is used again is overwritten first, so that whoever still looks at it gets something else. */
export function poisonWhatIsLetGo(): void {
  poisoned = true;
}
