import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

/** A process that a bench started: it answers messages one at a time, and is ended by its handle. */
export interface Child {
  readonly pid: number;
  /** Sends a message and resolves with the next one that comes back. */
  ask<Answer>(message: unknown): Promise<Answer>;
  stop(): Promise<void>;
}

export interface ChildOptions {
  /** Flags of node. */
  readonly nodeFlags?: readonly string[];
  /** Where stdout goes: a file descriptor, or `ignore`. */
  readonly stdout?: number | 'ignore';
  /** The one core that all its threads run on, where the machine has `taskset` and more than one core. */
  readonly core?: number | undefined;
}

/** Servers and their client, each on a core of its own. */
export const SERVER_CORE = 0;
export const CLIENT_CORE = 1;

/** Whether processes can be kept on a core. */
export const PINNED = cpus().length > 1 && spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/** A child that doesn't end by itself after its channel was closed is killed after this time. */
const STOP_MS = 20_000;

const running = new Set<ChildProcess>();

// Whatever happens to the bench, nothing of it is left behind.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

export function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}

export function startChild(script: string, args: readonly string[], options: ChildOptions = {}): Child {
  const name = [script.replace(/^.*\//, ''), ...args].join(' ').slice(0, 80);
  const pinned = PINNED && options.core !== undefined ? ['taskset', '-c', String(options.core)] : [];
  const node = [process.execPath, '--import', 'tsx', ...(options.nodeFlags ?? []), script, ...args];
  const [command = process.execPath, ...rest] = [...pinned, ...node];
  const child = spawn(command, rest, {
    cwd: pathOf('../..'),
    stdio: ['ignore', options.stdout ?? 'ignore', 'inherit', 'ipc'],
  });
  running.add(child);
  let ended: string | undefined;
  const gone = new Promise<void>((resolve) => {
    const end = (how: string): void => {
      ended ??= how;
      running.delete(child);
      resolve();
    };
    child.once('error', (error) => end(error.message));
    child.once('exit', (code, signal) => end(`ended with ${signal ?? code}`));
  });

  return {
    pid: child.pid ?? 0,
    ask: <Answer>(message: unknown) =>
      new Promise<Answer>((resolve, reject) => {
        const lost = (): void => reject(new Error(`${name}: ${ended}`));
        if (ended !== undefined) return lost();
        gone.then(lost);
        child.once('message', (answer) => {
          if (typeof answer === 'object' && 'failed' in answer) reject(new Error(`${name}: ${answer.failed}`));
          else resolve(answer as Answer);
        });
        child.send(message as object, (error) => error && reject(error));
      }),
    stop: async () => {
      if (child.connected) child.disconnect();
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await gone;
      clearTimeout(timer);
    },
  };
}

/** Runs `use`, and ends the children whatever becomes of it. */
export async function withChildren<T>(use: (keep: <C extends Child>(child: C) => C) => Promise<T>): Promise<T> {
  const children: Child[] = [];
  try {
    return await use((child) => {
      children.push(child);
      return child;
    });
  } finally {
    await Promise.all(children.map((child) => child.stop()));
  }
}
