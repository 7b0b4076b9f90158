/**
 * The pauses of an answer that passes, as the player has them: they add up on a clock of their own, so that timers which
 * fire late don't drift; it is put right where something else was waited for.
 */
export interface PauseClock {
  /** A pause begins where the last one ended. `between`: it is over where nothing comes behind it. */
  pause(ms: number, between: boolean): void;
  /** Time that was spent until now is nobody's delay. */
  catchUp(): void;
  /** How long it is until the answer goes on, or until it is cut. */
  leftMs(atCut: boolean): number;
  /** All pauses, in the time of the plan. */
  totalMs(): number;
}

/** @param timeScale pauses are so many times shorter */
export function pauseClock(timeScale: number): PauseClock {
  let clockMs = performance.now();
  let goOnMs = 0;
  let cutNoSoonerMs = 0;
  let totalMs = 0;
  return {
    pause: (ms, between) => {
      clockMs += ms / timeScale;
      totalMs += ms;
      goOnMs = clockMs;
      if (!between) cutNoSoonerMs = clockMs;
    },
    catchUp: () => {
      clockMs = Math.max(clockMs, performance.now());
    },
    leftMs: (atCut) => (atCut ? cutNoSoonerMs : goOnMs) - performance.now(),
    totalMs: () => totalMs,
  };
}
