import type { Step } from '../fault/wire-plan.js';

function isWrite(step: Step | undefined): boolean {
  return step?.op === 'write';
}

function isWriteOrPulse(step: Step | undefined): boolean {
  return step?.op === 'write' || step?.op === 'pulse';
}

function lastIndexOf(steps: readonly Step[], is: (step: Step | undefined) => boolean): number {
  let index = steps.length - 1;
  while (index >= 0 && !is(steps[index])) index--;
  return index;
}

/** Whether the end is nothing that the client sees. */
export function endsQuietly(steps: readonly Step[]): boolean {
  const teardown = steps.at(-1);
  return teardown?.op === 'teardown' && (teardown.kind === 'keep_alive' || teardown.kind === 'eof');
}

/** The step before which the client has seen everything but the end. */
export function lastVisible(steps: readonly Step[]): number {
  return endsQuietly(steps) ? lastIndexOf(steps, isWrite) : steps.length - 1;
}

/** The last step that writes anything. */
export function lastWritten(steps: readonly Step[]): number {
  return lastIndexOf(steps, isWriteOrPulse);
}
