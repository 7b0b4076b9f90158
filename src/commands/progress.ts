import type { CommandOutput } from './output.js';

/** What commands have in common that run clients for a long time. */
export interface Step {
  readonly done: number;
  readonly total: number;
  /** `undefined` while nothing is known. */
  readonly etaMs: number | undefined;
  /** What the newest run came to, in words. */
  readonly what: string | undefined;
}

/** One line that is written over on a terminal; elsewhere a line for each run. */
export function reporter(output: CommandOutput): (step: Step) => void {
  const { err } = output;
  const live = isLive(output);
  return ({ done, total, etaMs, what }) => {
    const eta = etaMs === undefined ? '' : `, ${timeOf(etaMs)} left`;
    const said = what === undefined ? '' : ` ${what}`;
    if (live) err.write(`\r\u001b[K${done}/${total}${eta}${said}${done === total ? '\n' : ''}`);
    else if (what !== undefined) err.write(`${done}/${total}${eta}${said}\n`);
  };
}

/** Whether progress is told on a terminal. */
export function isLive({ err }: CommandOutput): boolean {
  return err === process.stderr && process.stderr.isTTY === true;
}

function timeOf(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 100 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** What a shell calls a program that was interrupted. */
export const STOPPED = 130;

/** Clients are groups of their own: what ends us by a signal has to end them, too. */
export async function stoppable<T>(work: () => Promise<T>): Promise<T> {
  const stop = (): never => process.exit(STOPPED);
  for (const signal of SIGNALS) process.once(signal, stop);
  try {
    return await work();
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, stop);
  }
}
