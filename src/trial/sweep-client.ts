import { type ChildProcess, fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { atExit } from './at-exit.js';
import { filledIn, type Places, type TrialClient } from './client.js';
import type { Told } from './drivers/tell.js';
import { type ClientRun, environmentOf, prepareHome, type RunOptions, runClient } from './run-client.js';

/** The client of a sweep, which is asked again and again. */
export interface SweptClient {
  /** One question, in a home that `options` doesn't know yet. */
  run(options: Omit<RunOptions, 'places'> & { readonly places: Omit<Places, 'dir'> }): Promise<ClientRun>;
  /** The next question finds what takes time once, such as a loaded SDK. */
  readonly warm: boolean;
  close(): Promise<void>;
}

interface Home {
  readonly dir: string;
  remove(): Promise<void>;
}

async function newHome(): Promise<Home> {
  const dir = await mkdtemp(join(tmpdir(), 'wf-sweep-'));
  const forget = atExit(() => rmSync(dir, { recursive: true, force: true }));
  return {
    dir,
    remove: async () => {
      await rm(dir, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
      forget();
    },
  };
}

/** A process, and a home, for each question. */
export function processClient(client: TrialClient): SweptClient {
  return {
    warm: true,
    run: async (options) => {
      const { dir, remove } = await newHome();
      const places = { ...options.places, dir };
      try {
        await prepareHome(client, places);
        return await runClient(client, { ...options, places });
      } finally {
        await remove();
      }
    },
    close: async () => {},
  };
}

/** A driver of ours in a process that lives as long as it can. `maxRetries`: of its SDK; `undefined`: what that does. */
export async function driverClient(client: TrialClient, maxRetries: number | undefined): Promise<SweptClient> {
  const { dir, remove } = await newHome();
  const retries = maxRetries === undefined ? {} : { maxRetries };
  let running: Running | undefined;
  return {
    get warm() {
      return running !== undefined;
    },
    run: async (options) => {
      const places = { ...options.places, dir };
      running ??= await started(client, places);
      const { baseURL, key: apiKey, prompt } = places;
      const run = await asked(running, { baseURL, apiKey, prompt, retries }, options);
      if (running.child.exitCode !== null || running.child.signalCode !== null) running = undefined;
      return run;
    },
    close: async () => {
      if (running) await running.end();
      await remove();
    },
  };
}

interface Running {
  readonly child: ChildProcess;
  /** Resolves with all that it said on stderr. */
  readonly stderr: Promise<string>;
  readonly closed: Promise<void>;
  end(): Promise<void>;
}

async function started(client: TrialClient, places: Places): Promise<Running> {
  await prepareHome(client, places);
  const [, module = '', ...args] = client.command.map((word) => filledIn(word, places));
  const child = fork(module, args, {
    cwd: places.dir,
    env: environmentOf(client, places),
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  const forget = atExit(kill);
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => {
      forget();
      resolve();
    });
  });
  // A process that can't be started closes too; a message to one that has gone fails, which its end says better.
  child.on('error', () => {});
  const stderr = child.stderr ? text(child.stderr) : Promise.resolve('');
  return {
    child,
    stderr,
    closed,
    end: async () => {
      kill();
      await closed;
    },
  };
}

type Limits = Pick<RunOptions, 'timeoutMs' | 'cap' | 'onTimeout'>;

/** One question to a driver: what it tells, or how its process ended instead. */
async function asked(running: Running, question: object, { timeoutMs, cap, onTimeout }: Limits): Promise<ClientRun> {
  const { child } = running;
  const startMs = performance.now();
  let ended: ClientRun['ended'];
  const end = (why: NonNullable<ClientRun['ended']>): void => {
    ended ??= why;
    void running.end();
  };
  const timer = setTimeout(() => {
    onTimeout?.();
    end('timeout');
  }, timeoutMs);
  const onCap = (): void => end('capped');
  cap.addEventListener('abort', onCap, { once: true });
  let onMessage: (told: Told) => void = () => {};
  const told = new Promise<Told>((resolve) => {
    onMessage = resolve;
    child.once('message', onMessage);
  });
  child.send(question);
  const answer = await Promise.race([told, running.closed]);
  clearTimeout(timer);
  cap.removeEventListener('abort', onCap);
  child.removeListener('message', onMessage);
  const durationMs = Math.round(performance.now() - startMs);
  const common = { durationMs, ended, failed: undefined };
  if (answer && !ended) {
    const { got, threw } = answer;
    return { ...common, stdout: `${JSON.stringify(got)}\n`, stderr: '', exitCode: threw ? 1 : 0, signal: null };
  }
  await running.closed;
  const { exitCode, signalCode } = child;
  return { ...common, stdout: '', stderr: await running.stderr, exitCode, signal: ended ? null : signalCode };
}
