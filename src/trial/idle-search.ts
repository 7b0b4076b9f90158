/**
 * Finds an unknown limit by asking whether something outlives so many milliseconds: doubling until it doesn't, then
 * bisection between the last two answers. Pure: it has no clock, and asks nothing but `outlives`.
 */
export interface Search {
  /** What is asked first. */
  readonly startMs: number;
  /** Nothing longer is asked. */
  readonly maxMs: number;
  /** The two bounds come as near as this, or as near as `toleranceShare` of the upper one, whichever is more. */
  readonly toleranceMs: number;
  /** 0.05: a twentieth. */
  readonly toleranceShare: number;
}

/** The limit lies between the two. */
export interface Bounds {
  /** The longest that was outlived; `null`: not even the shortest that was asked. */
  readonly survivedMs: number | null;
  /** The shortest that was not; `null`: `maxMs` was outlived. */
  readonly failedMs: number | null;
  readonly tries: number;
}

export async function searchLimit(search: Search, outlives: (ms: number) => Promise<boolean>): Promise<Bounds> {
  const { startMs, maxMs, toleranceMs, toleranceShare } = search;
  const found: { -readonly [K in keyof Bounds]: Bounds[K] } = { survivedMs: null, failedMs: null, tries: 0 };
  const ask = async (ms: number): Promise<void> => {
    found.tries++;
    if (await outlives(ms)) found.survivedMs = ms;
    else found.failedMs = ms;
  };
  await ask(Math.min(startMs, maxMs));
  while (found.failedMs === null && found.survivedMs !== null && found.survivedMs < maxMs) {
    await ask(Math.min(found.survivedMs * 2, maxMs));
  }
  // Below the first question there is 0, which anything outlives.
  for (;;) {
    const { survivedMs, failedMs } = found;
    const low = survivedMs ?? 0;
    if (failedMs === null || failedMs - low <= Math.max(toleranceMs, failedMs * toleranceShare)) return found;
    await ask((low + failedMs) / 2);
  }
}
