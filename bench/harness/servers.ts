import { openSync } from 'node:fs';
import net from 'node:net';
import { CHUNK_SIZE, DELTAS, END_OF_ANSWER, REQUEST, textOf } from './answer.js';
import { type Child, type ChildOptions, pathOf, SERVER_CORE, startChild } from './children.js';
import type { Usage } from './report.js';
import type { ServerSpec } from './server-process.js';

export interface Server extends Child {
  readonly port: number;
  usage(): Promise<Usage>;
}

/** Where the CPU profiles of servers go; none are made without it. */
let profileDir: string | undefined;
export function profileServersInto(directory: string): void {
  profileDir = directory;
}

function flagsOf(label: string, collectable: boolean): string[] {
  return [
    ...(collectable ? ['--expose-gc'] : []),
    ...(profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}/${label}`]),
  ];
}

function serverOf(child: Child, port: number): Server {
  return { ...child, port, usage: () => child.ask<Usage>('usage') };
}

/** A server in a process of its own, on a core of its own, on a free port. `collectable`: garbage is collected before each `usage`. */
export async function startServer(spec: ServerSpec, { collectable = false } = {}): Promise<Server> {
  const nodeFlags = flagsOf(`${spec.kind}-${spec.role}`, collectable);
  const child = startChild(pathOf('server-process.ts'), [], { nodeFlags, core: SERVER_CORE });
  try {
    const { port } = await child.ask<{ port: number }>(spec);
    return serverOf(child, port);
  } catch (thrown) {
    await child.stop();
    throw thrown;
  }
}

export interface CliOptions {
  readonly flags: readonly string[];
  /** Where its lines go; `silent`: it prints none. */
  readonly logs: 'silent' | '/dev/null';
  /** Garbage is collected at SIGUSR2, in workers too. */
  readonly collectable?: boolean;
  readonly pinned?: boolean;
}

/** The built command line. A silent one can't tell its port, so it is given one that was free just now. */
export async function startCli({ flags, logs, collectable = false, pinned = true }: CliOptions): Promise<Server> {
  const port = await freePort();
  const options: ChildOptions = {
    nodeFlags: [...flagsOf('cli', collectable), '--import', pathOf('report.ts')],
    stdout: logs === 'silent' ? 'ignore' : openSync(logs, 'w'),
    core: pinned ? SERVER_CORE : undefined,
  };
  const content = ['--success-text', textOf(DELTAS), '--chunk-size', String(CHUNK_SIZE)];
  const level = logs === 'silent' ? ['--log-level', 'silent'] : [];
  const all = ['--port', String(port), '--repeat-last', ...content, ...level, ...flags];
  const child = startChild(pathOf('../../dist/cli.js'), all, options);
  try {
    await accepting(port);
    return serverOf(child, port);
  } catch (thrown) {
    await child.stop();
    throw thrown;
  }
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

/** 50 ms apart: a busy machine takes its time to start several processes. */
const ACCEPTING_ATTEMPTS = 400;

async function accepting(port: number): Promise<void> {
  for (let attempt = 0; attempt < ACCEPTING_ATTEMPTS; attempt++) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = net.connect({ port, host: '127.0.0.1' });
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on port ${port} after ${ACCEPTING_ATTEMPTS} attempts`);
}

/** One whole answer, as it came. */
export function fetchAnswer(port: number, end = END_OF_ANSWER): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`port ${port} closed the connection before the answer ended`)));
    socket.on('data', (bytes) => {
      parts.push(bytes);
      const answer = Buffer.concat(parts);
      if (!answer.includes(end)) return;
      resolve(answer);
      socket.destroy();
    });
    socket.write(REQUEST);
  });
}

export function eventsIn(answer: Buffer): number {
  return answer.toString('latin1').split('data: ').length - 1;
}
