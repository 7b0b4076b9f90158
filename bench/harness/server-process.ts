import './report.js';
import type { FaultServer, FaultServerOptions } from '../../src/fault-server.js';
import { CHUNK_SIZE, textOf } from './answer.js';
import { chunkOf, listening, writeBlocks } from './bare-servers.js';
import { piecesOf, wheelOf } from './wheel.js';

/** What a server process is to do; it tells its port when it listens. */
export interface ServerSpec {
  /** `bare` writes `answer`, `wheel` its events paced, `blocks` one chunk `times` times. */
  readonly kind: 'bare' | 'wheel' | 'blocks' | 'wirefault' | 'dsh' | 'aimock';
  readonly role: Role;
  readonly deltas: number;
  /** wirefault alone, over the role. */
  readonly options?: FaultServerOptions;
  /** What `bare` and `wheel` write, in base64. */
  readonly answer?: string;
  /** Of `blocks`. */
  readonly blockBytes?: number;
  readonly times?: number;
}

/** `stall`: headers, then silence. `paced`: `PACE_MS` after each delta. */
export type Role = 'success' | 'stall' | 'paced';

export const PACE_MS = 25;

const BEHAVIORS = { success: 'success', stall: 'stall', paced: 'slow_success' } as const;

const STREAM_HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';

let faultServer: FaultServer | undefined;

const SERVERS: Readonly<Record<ServerSpec['kind'], (spec: ServerSpec) => Promise<number>>> = {
  bare: ({ answer = '' }) => {
    const bytes = Buffer.from(answer, 'base64');
    return listening((socket) => socket.write(bytes));
  },
  wheel: ({ answer = '', deltas }) => listening(wheelOf(piecesOf(Buffer.from(answer, 'base64'), deltas), PACE_MS)),
  blocks: ({ blockBytes = 0, times = 0 }) => {
    const block = chunkOf(Buffer.alloc(blockBytes, 'x'));
    return listening((socket) => void writeBlocks(socket, STREAM_HEAD, block, times));
  },
  wirefault: async ({ role, deltas, options }) => {
    // What is built and published; tsx would add its own work to the closures of src.
    const built = new URL('../../dist/index.js', import.meta.url).href;
    const { startFaultServer } = (await import(built)) as typeof import('../../src/index.js');
    const content = { successText: textOf(deltas), chunkSize: CHUNK_SIZE, chunkDelayMs: PACE_MS };
    const script = { sequence: [BEHAVIORS[role]], repeatLast: true };
    faultServer = await startFaultServer({ ...content, ...script, ...options });
    return faultServer.port;
  },
  dsh: async ({ role, deltas }) => {
    const { startMockLlmServer } = await import('@deepseek-ai/dsh-llm-mock-server');
    const content = { successText: textOf(deltas), chunkSize: CHUNK_SIZE, chunkDelayMs: PACE_MS };
    return (await startMockLlmServer({ ...content, sequence: [BEHAVIORS[role]], repeatLast: true })).port;
  },
  aimock: async ({ role, deltas }) => {
    const { LLMock } = await import('@copilotkit/aimock');
    const mock = new LLMock({ port: 0, chunkSize: CHUNK_SIZE });
    // It has no stall, but a pace so slow that it is one. Without `ttft: 0` not even the headers would come.
    const never = { streamingProfile: { ttft: 0, tps: 0.0001 } };
    const options = { success: {}, stall: never, paced: { latency: PACE_MS } }[role];
    mock.onMessage(/./, { content: textOf(deltas) }, options);
    await mock.start();
    return mock.port;
  },
};

process.once('message', async (spec: ServerSpec) => {
  try {
    process.send?.({ port: await SERVERS[spec.kind](spec) });
  } catch (thrown) {
    process.send?.({ failed: String(thrown) });
  }
});

/** wirefault alone: until every ledger is made and written. */
process.on('message', async (command) => {
  if (command !== 'idle') return;
  await faultServer?.idle();
  process.send?.({});
});
