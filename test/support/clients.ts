import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { ClientMessage, ClientTask } from './client-process.js';

export type { ClientMessage } from './client-process.js';

/** A client in a process of its own. */
export interface ClientProcess {
  /** Resolves with the first message, past or coming, for which `wanted` holds. */
  message(wanted: (message: ClientMessage) => boolean): Promise<ClientMessage>;
  /** SIGKILL, and waits until the process is gone. */
  kill(): Promise<void>;
}

/** Started by `wrapper` (`ip netns exec NAME`), where there is one. */
export function startClient(task: ClientTask, wrapper: readonly string[] = []): ClientProcess {
  const path = fileURLToPath(new URL('./client-process.ts', import.meta.url));
  const [command = '', ...args] = [...wrapper, process.execPath, '--import', 'tsx', path, JSON.stringify(task)];
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  const messages: ClientMessage[] = [];
  const watchers = new Set<() => void>();
  child.on('message', (message: ClientMessage) => {
    messages.push(message);
    for (const watcher of watchers) watcher();
  });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  return {
    message: (wanted) =>
      new Promise((resolve, reject) => {
        const watcher = (): void => {
          const found = messages.find(wanted);
          if (!found) return;
          watchers.delete(watcher);
          resolve(found);
        };
        watchers.add(watcher);
        watcher();
        exited.then(() => reject(new Error('the client has ended without that message')));
      }),
    kill,
  };
}
