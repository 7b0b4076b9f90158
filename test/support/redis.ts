import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

/** Debian's redis-server on a port of its own, in a folder of its own; nothing of it is left behind. */
export interface RedisServer {
  readonly url: string;
  /** As the kernel ends it, and nobody is asked. */
  kill(): Promise<void>;
  /** Lets it do nothing, and go on. */
  pause(): void;
  resume(): void;
  /** At the same port, with what it had stored, if it stores. */
  start(): Promise<void>;
}

/** Why there is none to test with, or `undefined`. */
export const NO_REDIS =
  spawnSync('redis-server', ['--version']).status === 0 ? undefined : 'redis-server is not installed';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** `durable`: each write is on the disk before it is answered, so that a kill loses nothing. */
export async function redisServer({ durable = false }: { readonly durable?: boolean } = {}): Promise<RedisServer> {
  const dir = await mkdtemp(join(tmpdir(), 'wirefault-redis-'));
  const port = await freePort();
  let child: ReturnType<typeof spawn> | undefined;

  async function start(): Promise<void> {
    const stored = durable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : [];
    const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', dir, '--save', '', ...stored];
    const started = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    child = started;
    const lines = createInterface(started.stdout);
    for await (const line of lines) if (line.includes('Ready to accept connections')) break;
    started.stdout.resume();
  }
  async function kill(): Promise<void> {
    const running = child;
    child = undefined;
    if (!running || running.exitCode !== null) return;
    running.kill('SIGKILL');
    await once(running, 'exit');
  }
  await start();
  onTestFinished(async () => {
    await kill();
    await rm(dir, { recursive: true, force: true });
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    start,
    pause: () => child?.kill('SIGSTOP'),
    resume: () => child?.kill('SIGCONT'),
  };
}
