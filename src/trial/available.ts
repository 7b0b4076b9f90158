import { execFile } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { PACKAGE } from './cell.js';
import { filledIn, type TrialClient } from './client.js';
import { folderOf } from './npm-package.js';
import { environmentOf } from './run-client.js';
import { hasTmux } from './terminal.js';

const VERSION_LIMIT_MS = 30_000;

/** Why a client can't be run here, or `undefined`. */
export async function whyNotHere(client: TrialClient): Promise<string | undefined> {
  if (client.unsupported !== undefined) return client.unsupported;
  const missing = (client.needs ?? []).filter((name) => folderOf(name) === undefined);
  if (missing.length > 0) return `npm package ${missing.join(' and ')} not found from here`;
  const program = filledIn(client.command[0] ?? '', { ...NOWHERE, dir: '.' });
  if (!isProgram(program)) return `program ${program} not on PATH`;
  if (client.probe) {
    const [probe = '', ...args] = client.probe;
    const found = await new Promise<boolean>((resolve) => {
      execFile(probe, args, { timeout: VERSION_LIMIT_MS }, (error) => resolve(error === null)).stdin?.end();
    });
    if (!found) return `not installed: ${client.probe.join(' ')} fails`;
  }
  if (client.terminal && !(await hasTmux())) return 'it is interactive, and program tmux is not on PATH';
  return undefined;
}

const NOWHERE = { baseURL: 'http://127.0.0.1:9', key: 'none', prompt: '', node: process.execPath, package: PACKAGE };

function isProgram(program: string): boolean {
  const places = program.includes('/')
    ? [program]
    : (process.env.PATH ?? '').split(delimiter).map((dir) => join(dir, program));
  return places.some((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** What its version command prints first, or `null`. */
export async function versionOfClient(client: TrialClient): Promise<string | null> {
  const dir = mkdtempSync(join(tmpdir(), 'wf-version-'));
  try {
    const places = { ...NOWHERE, dir };
    const [program, ...args] = (client.version ?? []).map((word) => filledIn(word, places));
    if (program === undefined) return null;
    const options = { env: environmentOf(client, places), cwd: dir, timeout: VERSION_LIMIT_MS };
    const printed = await new Promise<string>((resolve) => {
      execFile(program, args, options, (_, stdout, stderr) => resolve(stdout.trim() || stderr.trim())).stdin?.end();
    });
    return printed.split('\n')[0]?.trim().slice(0, 200) || null;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
