import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** The built command line, as a process: `npm test` builds it first. */
export const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A server that should not have started at all is stopped, so that it doesn't outlive the test. */
const STOP = { timeout: 15_000, killSignal: 'SIGKILL' } as const;

/** Runs the command line to its end. */
export function run(...args: string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [CLI, ...args], STOP, (_, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}

export type Line = Readonly<Record<string, unknown>>;

export interface Running {
  readonly child: ChildProcess;
  /** Text lines on stdout so far. */
  readonly lines: readonly string[];
  /** What is on stderr so far. */
  readonly stderr: () => string;
  /** Resolves with the first line, past or coming, for which `wanted` holds; rejects when there will be none. */
  line(wanted: (line: string) => boolean): Promise<string>;
  /** As `line`, for JSON lines: the `n`th of a type, counted from 1. */
  event(type: string, n?: number): Promise<Line>;
  /** The exit code, or the signal. Resolves when all output is read. */
  readonly ended: Promise<number | string | null>;
}

/** Starts a process for one test, stopped at its end. */
export function started(command: string, args: readonly string[], stdin: 'ignore' | 'pipe' = 'ignore'): Running {
  const child = spawn(command, args, { stdio: [stdin, 'pipe', 'pipe'] });
  const lines: string[] = [];
  const watchers = new Set<() => void>();
  let over = false;
  const tell = (): void => {
    for (const watcher of watchers) watcher();
  };
  if (!child.stdout || !child.stderr) throw new Error('both are pipes');
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line);
    tell();
  });
  let stderr = '';
  child.stderr.on('data', (bytes: Buffer) => {
    stderr += bytes;
  });
  const ended = new Promise<number | string | null>((resolve) => {
    child.once('close', (code, signal) => {
      over = true;
      resolve(code ?? signal);
      tell();
    });
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const until = <T>(look: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const watcher = (): void => {
        const found = look();
        if (found !== undefined) resolve(found);
        else if (over) reject(new Error(`the process ended after ${JSON.stringify(lines)} and ${stderr}`));
        else return;
        watchers.delete(watcher);
      };
      watchers.add(watcher);
      watcher();
    });
  return {
    child,
    lines,
    stderr: () => stderr,
    line: (wanted) => until(() => lines.find(wanted)),
    event: (type, n = 1) =>
      until(() => {
        const found = lines.filter((line) => line.includes(`"type":"${type}"`))[n - 1];
        return found === undefined ? undefined : (JSON.parse(found) as Line);
      }),
    ended,
  };
}

export interface Serving extends Running {
  readonly port: number;
  readonly ready: Line;
}

/** `wirefault --port 0`, ready. */
export const serving = (...args: string[]): Promise<Serving> => ready('--port', '0', ...args);

/** `wirefault proxy --port 0`, ready. */
export const proxying = (...args: string[]): Promise<Serving> => ready('proxy', '--port', '0', ...args);

async function ready(...args: string[]): Promise<Serving> {
  const running = started(process.execPath, [CLI, ...args]);
  const told = await running.event('ready');
  return { ...running, ready: told, port: portIn(String(told.baseURL)) };
}

export const portIn = (text: string): number => Number(/:(\d+)\/v1/.exec(text)?.[1]);
