import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type ConcreteBehaviorName, type RequestRecord, startFaultServer } from '../../../src/index.js';
import { QUICK, type Told } from './sdk.js';

/** Clients from PyPI: an interpreter that has them, and their scripts. */
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const CANDIDATES = process.env.WIREFAULT_PYTHON
  ? [process.env.WIREFAULT_PYTHON]
  : [here('../../../.venv/bin/python'), 'python3'];

/** Nothing of the machine's settings shall reach the clients. */
const ENVIRONMENT = { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1', NO_PROXY: '*' };

function hasModules(python: string): boolean {
  return spawnSync(python, ['-c', 'import openai, anthropic'], { env: ENVIRONMENT }).status === 0;
}

export const PYTHON = CANDIDATES.find(hasModules);
export const NO_PYTHON = `no python with openai and anthropic (looked at ${CANDIDATES.join(', ')}); to have one: python3 -m venv .venv && .venv/bin/pip install openai anthropic`;

/** What a script tells of one call. */
export interface PythonTold extends Told {
  readonly output_tokens: number | null;
  readonly error: {
    readonly class: string;
    /** Its classes, and the classes of the errors behind it. */
    readonly bases: readonly string[];
    readonly chain: readonly string[];
    readonly status: number | null;
    readonly code: string | null;
    readonly request_id: string | null;
    readonly message: string;
  } | null;
}

export interface Row {
  readonly call: string;
  /** Absent for calls that consume nothing of the script. */
  readonly behavior?: ConcreteBehaviorName;
  /** What is told of the call, or more. */
  readonly told: { readonly [K in keyof PythonTold]?: unknown };
}

export interface PythonRun {
  readonly results: readonly PythonTold[];
  readonly requests: readonly RequestRecord[];
}

/** Starts a script once for all rows: an interpreter takes longer to start than all of its calls. */
export async function runScript(python: string, script: string, rows: readonly Row[]): Promise<PythonRun> {
  await using server = await startFaultServer({ sequence: rows.flatMap(({ behavior }) => behavior ?? []), ...QUICK });
  const args = [here(`../python/${script}`), server.baseURL, ...rows.map(({ call }) => call)];
  const { stdout } = await promisify(execFile)(python, args, { env: ENVIRONMENT });
  return { results: JSON.parse(stdout), requests: [...server.requests] };
}
