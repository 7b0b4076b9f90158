const NO_BYTES = Buffer.alloc(0);

/** The bytes of the last event that went out whole. */
export function lastEventKeeper() {
  /** The last one that went out, and those that are known to come. */
  const known: { start: number; end: number }[] = [];
  let kept: Buffer = NO_BYTES;
  return {
    seen: (start: number, end: number): void => {
      known.push({ start, end });
    },
    wrote: (bytes: Buffer, sent: number): void => {
      kept = Buffer.concat([kept, bytes]);
      while (known[1] && known[1].end <= sent) known.shift();
      const from = Math.min(known[0]?.start ?? sent, sent);
      if (known[0] && known[0].end <= sent) kept = kept.subarray(Math.max(0, kept.length - (sent - from)));
    },
    bytes: (sent: number): Buffer => {
      const [last] = known;
      if (!last || last.end > sent) return NO_BYTES;
      const from = kept.length - (sent - last.start);
      return kept.subarray(from, from + last.end - last.start);
    },
  };
}
