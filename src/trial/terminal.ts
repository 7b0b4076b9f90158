import { execFile, spawn, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { messageOf } from '../errors.js';
import { atExit } from './at-exit.js';
import { filledIn, type Terminal, type TrialClient } from './client.js';
import { type ClientRun, environmentOf, type RunOptions } from './run-client.js';

/**
 * Runs an interactive client in a terminal of tmux, types what is to be typed, and looks at the visible screen as a
 * user would: what has scrolled away isn't looked at again.
 */
export interface TerminalOptions extends RunOptions {
  /** Where the transcript goes: `screen.jsonl`, a line for each change. */
  readonly dir: string;
  /** Whether it has asked, and no answer is under way. */
  isIdle(): boolean;
}

export interface Frame {
  readonly ms: number;
  readonly text: string;
}

const SAMPLE_MS = 400;
const DEFAULT_QUIET_MS = 4000;
const DEFAULT_COLUMNS = 120;
/** Tall enough for a whole answer: what scrolls away can't be compared. */
const DEFAULT_ROWS = 90;
/** What tmux itself writes below a program that has ended. */
const DEAD = /^Pane is dead.*$/m;
const CONFIG = 'set -g remain-on-exit on\nset -g status off\nset -g default-terminal "screen-256color"\n';

const run = promisify(execFile);

export async function runInTerminal(
  client: TrialClient,
  terminal: Terminal,
  options: TerminalOptions,
): Promise<ClientRun> {
  const { places, timeoutMs, cap, onTimeout } = options;
  // The path of a Unix socket has to be short.
  const own = await mkdtemp(join(tmpdir(), 'wf-tmux-'));
  const socket = join(own, 's');
  const config = join(own, 'conf');
  const statusFile = join(own, 'status');
  await writeFile(config, CONFIG);
  const env = environmentOf(client, places);
  const tmux = async (...args: string[]): Promise<string> =>
    (await run('tmux', ['-S', socket, '-f', config, ...args], { env })).stdout;
  const told = async (format: string): Promise<string> => (await tmux('display-message', '-p', format)).trim();
  const forget = atExit(() => {
    spawnSync('tmux', ['-S', socket, 'kill-server'], { stdio: 'ignore' });
    rmSync(own, { recursive: true, force: true });
  });
  const startMs = performance.now();
  const frames: Frame[] = [];
  const result = (ended: Partial<ClientRun>): ClientRun => ({
    stdout: frames.at(-1)?.text ?? '',
    stderr: '',
    exitCode: 0,
    signal: null,
    durationMs: Math.round(performance.now() - startMs),
    ended: undefined,
    failed: undefined,
    ...ended,
  });
  try {
    const { columns = DEFAULT_COLUMNS, rows = DEFAULT_ROWS, quietMs = DEFAULT_QUIET_MS } = terminal;
    const command = [...TELLING_SHELL, statusFile, ...client.command.map((word) => filledIn(word, places))];
    await tmux('new-session', '-d', '-x', `${columns}`, '-y', `${rows}`, '-c', places.dir, '--', ...command);
    const typing = typist(terminal, (text) => filledIn(text, places), tmux);
    for (;;) {
      const ms = Math.round(performance.now() - startMs);
      const text = (await tmux('capture-pane', '-p', '-J')).replace(DEAD, '');
      if (text !== frames.at(-1)?.text) frames.push({ ms, text });
      if ((await told('#{pane_dead}')) === '1') {
        const end = await endOf(statusFile);
        const last = (await tmux('capture-pane', '-p', '-J')).replace(DEAD, '');
        if (last !== text) frames.push({ ms, text: last });
        return result(end);
      }
      if (cap.aborted) return result({ ended: 'capped', exitCode: null });
      if (ms >= timeoutMs) {
        onTimeout?.();
        return result({ ended: 'timeout', exitCode: null });
      }
      await typing.look(text);
      const still = ms - (frames.at(-1)?.ms ?? 0) >= quietMs;
      if (still && terminal.type.length > 0 && typing.done && options.isIdle()) return result({});
      await sleep(SAMPLE_MS);
    }
  } catch (thrown) {
    return result({ exitCode: null, failed: messageOf(thrown) });
  } finally {
    await tmux('kill-server').catch(() => {});
    forget();
    await rm(own, { recursive: true, force: true });
    await writeFile(join(options.dir, 'screen.jsonl'), frames.map((frame) => `${JSON.stringify(frame)}\n`).join(''));
  }
}

/**
 * A shell that writes down how the program ended: tmux 3.3 can lose its status where the terminal is closed before it has
 * waited for the program (measured: 1 in 5 on a busy machine).
 */
const TELLING_SHELL = ['sh', '-c', 'status=$1; shift; "$@"; echo $? > "$status"', 'sh'];
/** Shells say so that a signal ended a program (POSIX, section 2.8.2). */
const SIGNAL_BASE = 128;

async function endOf(statusFile: string): Promise<Partial<ClientRun>> {
  const status = Number((await readFile(statusFile, 'utf8').catch(() => '')).trim() || Number.NaN);
  if (Number.isNaN(status)) return { exitCode: null, signal: 'unknown signal' };
  if (status <= SIGNAL_BASE) return { exitCode: status };
  const known = Object.entries(constants.signals).find(([, number]) => number === status - SIGNAL_BASE);
  return known ? { exitCode: null, signal: known[0] } : { exitCode: status };
}

interface Typist {
  readonly done: boolean;
  look(screen: string): Promise<void>;
}

function typist(
  { type }: Terminal,
  filled: (text: string) => string,
  tmux: (...args: string[]) => Promise<string>,
): Typist {
  let next = 0;
  /** The step that the last look met. */
  let met: number | undefined;
  return {
    get done() {
      return next >= type.length;
    },
    look: async (screen) => {
      const at = metBy(screen, type, next);
      // Programs draw before they listen: what is typed at the first sight of a screen can be lost.
      const seenTwice = at !== undefined && at === met;
      met = at;
      const step = at === undefined ? undefined : type[at];
      if (!step || at === undefined || !seenTwice) return;
      met = undefined;
      if (step.text !== undefined) await tmux('send-keys', '-l', '--', filled(step.text));
      // Terminal programs take what comes at once for something pasted, in which Enter is a line break.
      if (step.text !== undefined && step.keys) await sleep(SAMPLE_MS);
      for (const key of step.keys ?? []) await tmux('send-keys', key);
      // A question that still stands there has not got its answer.
      next = step.optional && step.text === undefined ? at : at + 1;
    },
  };
}

/** The first step whose words are on the screen, of those that may come next. */
function metBy(screen: string, type: Terminal['type'], next: number): number | undefined {
  for (let n = next; n < type.length; n++) {
    const step = type[n];
    if (step && new RegExp(step.when, 'm').test(screen)) return n;
    if (!step?.optional) return undefined;
  }
  return undefined;
}

/** Whether tmux can be run at all. */
export function hasTmux(): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn('tmux', ['-V'], { stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}
