/**
 * Gates hold answers until they are released, so that a test can say "now" instead of waiting for the clock. A release
 * lets one exchange through, the one that waits longest or the next that comes.
 */
export interface Gates {
  /** Calls `resume` when the gate lets this exchange through; the returned function gives up waiting. */
  pass(name: string, resume: () => void): () => void;
  /** Lets `count` exchanges through; `Infinity` opens the gate for good. */
  release(name: string, count?: number): void;
  /** Resolves when so many exchanges wait at the gate. */
  waiting(name: string, count?: number): Promise<void>;
  /** Exchanges that wait, by gate. */
  readonly held: ReadonlyMap<string, number>;
}

interface Gate {
  permits: number;
  readonly queue: (() => void)[];
  readonly watchers: { readonly count: number; resolve(): void }[];
}

export function gatesOf(): Gates {
  const gates = new Map<string, Gate>();
  const gate = (name: string): Gate => {
    const known = gates.get(name) ?? { permits: 0, queue: [], watchers: [] };
    gates.set(name, known);
    return known;
  };
  const told = ({ queue, watchers }: Gate): void => {
    const met = watchers.filter(({ count }) => queue.length >= count);
    for (const watcher of met) {
      watchers.splice(watchers.indexOf(watcher), 1);
      watcher.resolve();
    }
  };
  return {
    pass: (name, resume) => {
      const known = gate(name);
      if (known.permits > 0) {
        known.permits--;
        queueMicrotask(resume);
        return () => {};
      }
      known.queue.push(resume);
      told(known);
      return () => {
        const at = known.queue.indexOf(resume);
        if (at >= 0) known.queue.splice(at, 1);
      };
    },
    release: (name, count = 1) => {
      const known = gate(name);
      const through = known.queue.splice(0, count);
      known.permits += count - through.length;
      for (const resume of through) resume();
    },
    waiting: (name, count = 1) =>
      new Promise((resolve) => {
        const known = gate(name);
        known.watchers.push({ count, resolve });
        told(known);
      }),
    get held() {
      return new Map([...gates].flatMap(([name, { queue }]) => (queue.length > 0 ? [[name, queue.length]] : [])));
    },
  };
}
