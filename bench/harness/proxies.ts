import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Child, pathOf } from './children.js';
import { progress } from './stats.js';

/** Proxies by others, which a bench measures beside ours. What can't be had is left out, and said. */
export interface OtherProxy {
  readonly name: string;
  readonly version: string;
  /** In front of the server on `port`. */
  start(port: number): Promise<{ readonly child: Child; readonly port: number }>;
}

export interface Found {
  readonly proxies: readonly OtherProxy[];
  /** Why there is no other, a line each. */
  readonly missing: readonly string[];
}

const CACHE = pathOf('../../node_modules/.cache/wirefault-bench');
const TOXIPROXY = { module: 'github.com/Shopify/toxiproxy/v2/cmd/server', version: 'v2.5.0' } as const;
const TOXIPROXY_FOLDER = join(CACHE, `toxiproxy-${TOXIPROXY.version}`);
/** How `go install` calls it. */
const TOXIPROXY_BINARY = join(TOXIPROXY_FOLDER, 'server');
/** A program that doesn't listen by then doesn't start. */
const START_MS = 20_000;
const INSTALL_MS = 300_000;
const POLL_MS = 25;
/** Of the times in /proc: USER_HZ, which is 100 on every Linux that Node runs on. */
const TICK_MICROS = 10_000;

const running = new Set<ReturnType<typeof spawn>>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** @param mayInstall what isn't here may be fetched */
export async function otherProxies(mayInstall: boolean): Promise<Found> {
  const found = [mitmdump(), await toxiproxy(mayInstall)];
  return {
    proxies: found.filter((one) => typeof one !== 'string'),
    missing: found.filter((one) => typeof one === 'string'),
  };
}

function mitmdump(): OtherProxy | string {
  const version = /Mitmproxy: (\S+)/.exec(outputOf('mitmdump', '--version'))?.[1];
  if (version === undefined) return 'mitmdump is not here (Debian: apt-get install mitmproxy)';
  const settings = {
    // From the first byte on; without it an answer is kept until it is whole.
    stream_large_bodies: '1',
    http2: 'false',
    flow_detail: '0',
    confdir: join(CACHE, 'mitmproxy'),
  };
  const set = Object.entries(settings).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  return {
    name: 'mitmdump',
    version,
    start: async (to) => {
      const port = await freePort();
      const where = ['--listen-host', '127.0.0.1', '--listen-port', String(port)];
      const child = startProgram('mitmdump', ['--quiet', '--mode', `reverse:http://127.0.0.1:${to}`, ...where, ...set]);
      await accepting(port);
      return { child, port };
    },
  };
}

async function toxiproxy(mayInstall: boolean): Promise<OtherProxy | string> {
  if (!existsSync(TOXIPROXY_BINARY)) {
    if (!mayInstall) return 'toxiproxy is not here (a run without --quick installs it, where there is Go)';
    if (outputOf('go', 'version') === '') return 'toxiproxy is not here, nor is Go, which would install it';
    progress(`installing toxiproxy ${TOXIPROXY.version}`);
    const env = { ...process.env, GOBIN: TOXIPROXY_FOLDER };
    const install = ['install', `${TOXIPROXY.module}@${TOXIPROXY.version}`];
    const failed = await promisify(execFile)('go', install, { env, timeout: INSTALL_MS }).then(
      () => undefined,
      (error: Error) => error.message.trim().split('\n').at(-1),
    );
    if (failed !== undefined) return `toxiproxy can't be installed: ${failed}`;
  }
  return {
    name: 'toxiproxy',
    version: TOXIPROXY.version.slice(1),
    start: async (to) => {
      const api = await freePort();
      const child = startProgram(TOXIPROXY_BINARY, ['-host', '127.0.0.1', '-port', String(api)]);
      await accepting(api);
      const response = await fetch(`http://127.0.0.1:${api}/proxies`, {
        method: 'POST',
        body: JSON.stringify({ name: 'bench', listen: '127.0.0.1:0', upstream: `127.0.0.1:${to}`, enabled: true }),
      });
      const { listen } = (await response.json()) as { readonly listen: string };
      return { child, port: Number(listen.split(':').at(-1)) };
    },
  };
}

/** What a program prints; empty where there is no such program. */
function outputOf(command: string, ...args: readonly string[]): string {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return '';
  }
}

/** A program of any language. It answers `usage` alone, from /proc; where there is none, by a time that is no number. */
function startProgram(command: string, args: readonly string[]): Child {
  const child = spawn(command, args, { stdio: 'ignore' });
  running.add(child);
  const gone = new Promise<void>((resolve) => {
    const end = (): void => {
      running.delete(child);
      resolve();
    };
    child.once('error', end);
    child.once('exit', end);
  });
  return {
    pid: child.pid ?? 0,
    ask: async <Answer>(message: unknown) => {
      if (message !== 'usage') throw new Error(`${command} knows nothing of ${JSON.stringify(message)}`);
      return { cpuMicros: cpuMicrosOf(child.pid) } as Answer;
    },
    stop: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** User and system time of all threads (proc_pid_stat(5): fields 14 and 15, counted behind the name). */
function cpuMicrosOf(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MICROS;
  } catch {
    return Number.NaN;
  }
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1' }, resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

/** Resolves when something listens. */
async function accepting(port: number): Promise<void> {
  for (const beginMs = performance.now(); performance.now() - beginMs < START_MS; ) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = net.connect({ port, host: '127.0.0.1' }, () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`nothing listens on ${port}`);
}
