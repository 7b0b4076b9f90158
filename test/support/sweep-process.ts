import { type SweepAnswer, type SweepCut, sweep } from './sweep.js';

/** A process that sweeps: it takes the cuts of an answer, and answers with what is wrong with them. */
export interface SweepTask {
  readonly answer: SweepAnswer;
  readonly cuts: readonly SweepCut[];
}

process.on('message', async ({ answer, cuts }: SweepTask) => {
  process.send?.(await sweep(answer, cuts));
});
