import { type Child, CLIENT_CORE, pathOf, startChild } from './children.js';
import type { Load } from './client-process.js';
import type { Server } from './servers.js';
import { progress } from './stats.js';

/** Servers that are asked in turn, round by round, so that noise of the machine hits all alike. */
export interface Contender {
  readonly name: string;
  readonly server: Server;
  readonly samples: LoadSample[];
}

export interface LoadSample {
  readonly requestsPerSecond: number;
  /**
   * For each second of CPU that the server used: what one core gives that has nothing else to do. Where the machine is
   * busy with others, the share of the core that the server got isn't in it.
   */
  readonly perCore: number;
  /** Of all threads of the server's process. */
  readonly cpuMicros: number;
  /** Share of one core. */
  readonly serverBusy: number;
}

/** Keep-alive connections that ask, and ask again as soon as they have their answer. */
export const CONNECTIONS = 32;

export function startClient(): Child {
  return startChild(pathOf('client-process.ts'), [], { core: CLIENT_CORE });
}

async function sampleOf(server: Server, client: Child, durationMs: number): Promise<LoadSample> {
  const before = await server.usage();
  const command = { kind: 'load', port: server.port, connections: CONNECTIONS, durationMs };
  const { requests, elapsedMs } = await client.ask<Load>(command);
  const used = (await server.usage()).cpuMicros - before.cpuMicros;
  return {
    requestsPerSecond: (requests * 1000) / elapsedMs,
    perCore: (requests * 1_000_000) / used,
    cpuMicros: used / requests,
    serverBusy: used / 1000 / elapsedMs,
  };
}

export interface ContestOptions {
  readonly name: string;
  readonly rounds: number;
  readonly roundMs: number;
}

/** Half a round of warm-up, then the rounds; each begins with another contender. */
export async function contest(
  contenders: readonly Contender[],
  client: Child,
  { name, rounds, roundMs }: ContestOptions,
): Promise<void> {
  for (const { server } of contenders) await sampleOf(server, client, roundMs / 2);
  for (let round = 1; round <= rounds; round++) {
    progress(`${name}: round ${round} of ${rounds}, ${contenders.length} servers, ${roundMs} ms each`);
    const from = round % contenders.length;
    const order = [...contenders.slice(from), ...contenders.slice(0, from)];
    for (const { server, samples } of order) samples.push(await sampleOf(server, client, roundMs));
  }
}

export function column(contenders: readonly Contender[], name: string, key: keyof LoadSample): number[] {
  const found = contenders.find((one) => one.name === name);
  if (!found) throw new Error(`no contender is called ${name}`);
  return found.samples.map((sample) => sample[key]);
}
