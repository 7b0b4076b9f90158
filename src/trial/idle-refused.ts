import { once } from 'node:events';
import net from 'node:net';
import { closedPort } from '../net/hold.js';
import { libc } from '../net/listener-libc.js';
import { openTaps, type Taps } from '../net/listener-taps.js';
import { attemptsCountable } from '../net/syn-counter.js';
import type { TrialClient } from './client.js';
import { inHome, startClient } from './idle-run.js';
import type { ClientRun } from './run-client.js';

/** A run of a client whose connects are all refused. */
export interface RefusedRun {
  /** When each connect came, from the first one; `undefined` where SYNs can't be counted (Linux, with the right to raw sockets). */
  readonly connectsMs: readonly number[] | undefined;
  /** It still ran after the limit. */
  readonly outlived: boolean;
  readonly process: ClientRun;
}

export interface RefusedTask {
  readonly client: TrialClient;
  /** From the first connect, or from the start of the process where connects can't be seen. */
  readonly limitMs: number;
  readonly prompt: string;
}

const HOST = '127.0.0.1';
const POLL_MS = 1;

export async function runRefused({ client, limitMs, prompt }: RefusedTask): Promise<RefusedRun> {
  const server = net.createServer();
  server.listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const closed = closedPort({ server, address: HOST, port });
  const taps = await tapsOf(port);
  const stop = new AbortController();
  const connects = new Map<string, number>();
  const limit = (): NodeJS.Timeout => setTimeout(() => stop.abort(), limitMs);
  let limiting = taps ? undefined : limit();
  const poll = setInterval(() => {
    for (const { name } of taps?.read() ?? []) {
      // What holds the port has connected to itself; and a SYN whose RST was lost comes again.
      if (name.includes(` ${port} `) || connects.has(name)) continue;
      connects.set(name, performance.now());
      limiting ??= limit();
    }
  }, POLL_MS);
  try {
    const ran = await inHome(client, `http://${HOST}:${port}`, prompt, (places) =>
      startClient(client, places, stop.signal),
    );
    const times = [...connects.values()];
    const [first = 0] = times;
    const connectsMs = taps && times.map((ms) => ms - first);
    return { connectsMs, outlived: stop.signal.aborted, process: ran };
  } finally {
    clearInterval(poll);
    clearTimeout(limiting);
    taps?.close();
    await closed.lift();
  }
}

/** The kernel refuses without telling anybody; raw sockets get the SYNs all the same. */
async function tapsOf(port: number): Promise<Taps | undefined> {
  const calls = (await attemptsCountable()) === undefined ? await libc() : undefined;
  const taps = calls && openTaps(calls, HOST, port);
  return typeof taps === 'object' ? taps : undefined;
}
