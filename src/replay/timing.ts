export const REPLAY_TIMINGS = ['recorded', 'none'] as const;
/** Whether an answer comes at the times at which it was recorded, or at once. */
export type ReplayTiming = (typeof REPLAY_TIMINGS)[number];
