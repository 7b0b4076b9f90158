/**
 * Work on bytes that have gone on already: hashing them, counting their events. It waits until nothing more comes, so
 * that it holds nothing up, but not beyond a limit of bytes that all streams share, so that it can't fill memory.
 */
export interface IdleWork {
  add(bytes: Buffer): void;
  /** Does what is left, now. */
  flush(): void;
}

/** Of all streams together. */
const MAX_WAITING_BYTES = 8_388_608;
/** Done at a time, some milliseconds at most. */
const SLICE_BYTES = 262_144;

let waitingBytes = 0;
const busy = new Set<() => void>();
let scheduled = false;
let quiet = true;

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  setImmediate(tick);
}

/** One turn of the event loop without new bytes is idle enough. */
function tick(): void {
  scheduled = false;
  if (quiet || waitingBytes > MAX_WAITING_BYTES) {
    const [first] = busy;
    first?.();
  }
  quiet = true;
  if (busy.size > 0) schedule();
}

export function idleWork(work: (bytes: Buffer) => void): IdleWork {
  let queue: Buffer[] = [];
  let next = 0;

  function some(most: number): void {
    let done = 0;
    while (next < queue.length && done < most) {
      const bytes = queue[next];
      next++;
      if (!bytes) continue;
      done += bytes.length;
      waitingBytes -= bytes.length;
      work(bytes);
    }
    // Others take turns.
    busy.delete(turn);
    if (next < queue.length) busy.add(turn);
    else {
      queue = [];
      next = 0;
    }
  }

  const turn = (): void => some(SLICE_BYTES);

  return {
    add: (bytes) => {
      queue.push(bytes);
      waitingBytes += bytes.length;
      quiet = false;
      busy.add(turn);
      if (waitingBytes > MAX_WAITING_BYTES) some(Number.POSITIVE_INFINITY);
      else schedule();
    },
    flush: () => some(Number.POSITIVE_INFINITY),
  };
}
