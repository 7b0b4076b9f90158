import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '../errors.js';
import { atExit } from './at-exit.js';
import { filledIn, type Places, type TrialClient } from './client.js';

/** A client's run: what it printed, and how it ended. */
export interface ClientRun {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly durationMs: number;
  /** Ended by us, and why. */
  readonly ended: 'timeout' | 'capped' | undefined;
  /** It could not be started. */
  readonly failed: string | undefined;
}

export interface RunOptions {
  readonly places: Places;
  readonly timeoutMs: number;
  /** Aborted when it has asked too often. */
  readonly cap: AbortSignal;
  /** Called when the limit has come, while its connections are still open. */
  onTimeout?(): void;
}

/** Output beyond this is dropped, from the middle: a looping client prints without end. */
const MAX_OUTPUT_BYTES = 4_194_304;

/** What a client may have of our own environment; all else could point it somewhere else. */
const INHERITED = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'TERM', 'SSL_CERT_FILE'];

/** The environment of a cell: its own home, no proxies, no keys of ours. */
export function environmentOf(client: TrialClient, places: Places): Record<string, string> {
  const inherited = INHERITED.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const own = Object.entries(client.env ?? {}).map(([name, value]) => [name, filledIn(value, places)] as const);
  const { dir } = places;
  const homes = {
    HOME: dir,
    XDG_CONFIG_HOME: join(dir, '.config'),
    XDG_DATA_HOME: join(dir, '.local/share'),
    XDG_STATE_HOME: join(dir, '.local/state'),
    XDG_CACHE_HOME: join(dir, '.cache'),
    TMPDIR: join(dir, 'tmp'),
    DO_NOT_TRACK: '1',
    NO_PROXY: '127.0.0.1,localhost',
    // Where the packages of SDK drivers are looked for.
    WIREFAULT_CALLED_FROM: process.env.WIREFAULT_CALLED_FROM ?? process.cwd(),
  };
  // With CI set, terminal libraries draw only the last frame.
  const quiet = client.terminal ? {} : { NO_COLOR: '1', CI: '1' };
  return { ...Object.fromEntries(inherited), ...homes, ...quiet, ...Object.fromEntries(own) };
}

/** Writes the files that a client wants in its home. */
export async function prepareHome(client: TrialClient, places: Places): Promise<void> {
  await mkdir(join(places.dir, 'tmp'), { recursive: true });
  for (const [name, text] of Object.entries(client.files ?? {})) {
    const path = join(places.dir, filledIn(name, places));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, filledIn(text, places));
  }
}

export function runClient(client: TrialClient, options: RunOptions): Promise<ClientRun> {
  const { places, timeoutMs, cap, onTimeout } = options;
  const [program = '', ...args] = client.command.map((word) => filledIn(word, places));
  const startMs = performance.now();
  return new Promise((resolve) => {
    // A group of its own, so that its children end with it.
    const child = spawn(program, args, {
      cwd: places.dir,
      env: environmentOf(client, places),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const forget = atExit(() => killGroup(child.pid));
    const stdout = collector();
    const stderr = collector();
    child.stdout.on('data', stdout.add);
    child.stderr.on('data', stderr.add);
    let ended: ClientRun['ended'];
    const end = (why: NonNullable<ClientRun['ended']>): void => {
      ended ??= why;
      killGroup(child.pid);
    };
    const timer = setTimeout(() => {
      onTimeout?.();
      end('timeout');
    }, timeoutMs);
    const onCap = (): void => end('capped');
    cap.addEventListener('abort', onCap, { once: true });
    const done = (exitCode: number | null, signal: string | null, failed?: string): void => {
      clearTimeout(timer);
      forget();
      cap.removeEventListener('abort', onCap);
      // What it left behind in its group has nobody to talk to any more.
      killGroup(child.pid);
      const durationMs = Math.round(performance.now() - startMs);
      const told = { stdout: stdout.text(), stderr: stderr.text(), durationMs, ended, failed };
      resolve({ ...told, exitCode, signal: ended ? null : signal });
    };
    child.once('error', (error) => done(null, null, messageOf(error)));
    child.once('close', (code, signal) => done(code, signal));
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}

function collector(): { add(bytes: Buffer): void; text(): string } {
  const head: Buffer[] = [];
  let tail: Buffer[] = [];
  let bytes = 0;
  let tailBytes = 0;
  return {
    add: (chunk) => {
      if (bytes < MAX_OUTPUT_BYTES / 2) {
        head.push(chunk);
        bytes += chunk.length;
        return;
      }
      tail.push(chunk);
      tailBytes += chunk.length;
      while (tailBytes > MAX_OUTPUT_BYTES / 2 && tail.length > 1) {
        tailBytes -= tail[0]?.length ?? 0;
        tail = tail.slice(1);
      }
    },
    text: () => Buffer.concat([...head, ...tail]).toString('utf8'),
  };
}
