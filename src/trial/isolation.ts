import { spawn } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WirefaultError } from '../errors.js';
import { atExit } from './at-exit.js';
import { type CellTask, PACKAGE, runCell } from './cell.js';
import { evidenceSchema, type RunEvidence } from './evidence.js';

/**
 * A cell in network, mount and process namespaces of its own: the client reaches nothing but the cell's server, its
 * look-ups of other hosts are written down, and whatever it leaves behind ends with the namespace.
 */
export const ISOLATIONS = ['auto', 'namespace', 'none'] as const;
export type Isolation = Exclude<(typeof ISOLATIONS)[number], 'auto'>;

const UNSHARE = ['-n', '-m', '-p', '--fork', '--kill-child', '--mount-proc'];

/** What `unshare` needs on this machine, or `undefined` where it can't do it: root, or namespaces of users. */
async function unshareArgs(): Promise<readonly string[] | undefined> {
  if (process.platform !== 'linux') return undefined;
  const root = process.getuid?.() === 0;
  const args = root ? UNSHARE : ['-r', ...UNSHARE];
  const { code } = await ended('unshare', [...args, '--', 'ip', 'link', 'set', 'lo', 'up']);
  return code === 0 ? args : undefined;
}

/** Runs cells. */
export interface CellRunner {
  readonly isolation: Isolation;
  run(task: CellTask): Promise<RunEvidence>;
}

/** @throws WirefaultError `bad_option` where namespaces were asked for and can't be had */
export async function cellRunner(asked: (typeof ISOLATIONS)[number]): Promise<CellRunner> {
  const args = asked === 'none' ? undefined : await unshareArgs();
  if (args) return { isolation: 'namespace', run: (task) => runIsolated(task, args) };
  if (asked === 'namespace') {
    const message =
      '--isolate: "namespace" is not possible here; it needs Linux with unshare and ip, and root or namespaces of users';
    throw new WirefaultError('bad_option', message);
  }
  return { isolation: 'none', run: runCell };
}

/** Beyond the client's own limit: for the start of the server and the settling of the evidence. */
const MORE_MS = 30_000;

async function runIsolated(task: CellTask, args: readonly string[]): Promise<RunEvidence> {
  await mkdir(task.dir, { recursive: true });
  const [asked, told] = [join(task.dir, 'task.json'), join(task.dir, 'evidence.json')];
  await rm(told, { force: true });
  await writeFile(asked, JSON.stringify(task));
  const program = fileURLToPath(new URL('./trial/cell-process.js', `file://${PACKAGE}/`));
  const run = await ended('unshare', [...args, '--', process.execPath, program, asked, told], task.timeoutMs + MORE_MS);
  const text = await readFile(told, 'utf8').catch(() => undefined);
  await Promise.all([rm(asked, { force: true }), rm(`${told}.resolv.conf`, { force: true })]);
  if (text === undefined) {
    const why = run.stderr.trim().split('\n').at(-1) ?? '';
    throw new WirefaultError(
      'listen_failed',
      `a cell in its own namespace ended without evidence (${run.code}): ${why}`,
    );
  }
  return evidenceSchema.parse(JSON.parse(text));
}

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

function ended(program: string, args: readonly string[], limitMs = 10_000): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...process.env, WIREFAULT_CALLED_FROM: process.env.WIREFAULT_CALLED_FROM ?? process.cwd() };
    const child = spawn(program, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env,
      timeout: limitMs,
      killSignal: 'SIGKILL',
    });
    // With unshare everything in its namespaces ends.
    const forget = atExit(() => child.kill('SIGKILL'));
    let stderr = '';
    child.stderr.on('data', (bytes: Buffer) => {
      stderr = (stderr + bytes.toString('utf8')).slice(-10_000);
    });
    const done = (result: Ended): void => {
      forget();
      resolve(result);
    };
    child.once('error', (error) => done({ code: null, stderr: error.message }));
    child.once('close', (code) => done({ code, stderr }));
  });
}
