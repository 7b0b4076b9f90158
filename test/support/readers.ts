import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ReadResult, ReadTask } from './reader-process.js';

export type { Reading, ReadResult } from './reader-process.js';

/** Readers in a process of their own, so that their reading is not the server's event loop. */
export interface Readers {
  run(task: ReadTask): Promise<ReadResult[]>;
  /** Lets the paused clients read what there is. */
  resumePaused(): void;
  stop(): void;
}

export function startReaders(): Readers {
  const path = fileURLToPath(new URL('./reader-process.ts', import.meta.url));
  const child: ChildProcess = fork(path, { execArgv: ['--import', 'tsx'] });
  return {
    run: async (task) => {
      child.send(task);
      const [results]: ReadResult[][] = await once(child, 'message');
      if (!results) throw new Error('the readers gave no result');
      return results;
    },
    resumePaused: () => {
      child.send('resume');
    },
    stop: () => {
      child.kill();
    },
  };
}
