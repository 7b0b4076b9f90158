import { describe, expect, it } from 'vitest';
import { leasedCopyOf, MAX_LEASED_BYTES } from '../src/slabs.js';

/** Bytes of their own kind, as many as fit into a slab many times over. */
function copies(count: number) {
  return Array.from({ length: count }, (_, n) => {
    const lease = leasedCopyOf(Buffer.alloc(MAX_LEASED_BYTES, n % 100));
    return { lease, bytes: lease.bytes() };
  });
}

function isStill(bytes: Buffer, n: number): boolean {
  return bytes.equals(Buffer.alloc(MAX_LEASED_BYTES, n % 100));
}

describe('memory that is used again', () => {
  it('is not, as long as anybody has it', () => {
    const kept = copies(100);
    copies(100);
    expect(kept.filter(({ bytes }, n) => !isStill(bytes, n))).toEqual([]);
  });

  it('is, once all of its holders have let go', () => {
    const first = copies(40);
    const memories = new Set(first.map(({ bytes }) => bytes.buffer));
    first[0]?.lease.hold();
    for (const { lease } of first) lease.letGo();
    const second = copies(40);
    expect(second.some(({ bytes }) => memories.has(bytes.buffer))).toBe(true);
    // One holder is enough for a whole slab.
    expect(first[0] && isStill(first[0].bytes, 0)).toBe(true);
    first[0]?.lease.letGo();
    for (const { lease } of second) lease.letGo();
  });

  it('is overwritten at once in tests, so that who still looks at it is found out', () => {
    const all = copies(40);
    for (const { lease } of all) lease.letGo();
    const gone = all.filter(({ bytes }) => bytes.equals(Buffer.alloc(MAX_LEASED_BYTES, 0xa5)));
    expect(gone.length).toBeGreaterThan(20);
  });

  it('is not shared by what is long, which stays as it is', () => {
    const long = Buffer.alloc(MAX_LEASED_BYTES + 1, 7);
    const lease = leasedCopyOf(long);
    const bytes = lease.bytes();
    lease.letGo();
    copies(40);
    expect(bytes.equals(long)).toBe(true);
    expect(bytes.buffer).not.toBe(long.buffer);
  });

  it('can be let go of no more often than it was held', () => {
    const lease = leasedCopyOf(Buffer.alloc(10));
    lease.letGo();
    expect(() => lease.letGo()).toThrow('more often');
  });
});
