import net from 'node:net';
import './report.js';
import { CHUNK_SIZE, textOf } from './answer.js';

/** What a server process is to do; it tells its port when it listens. */
export interface ServerSpec {
  readonly kind: 'ceiling' | 'wirefault' | 'dsh' | 'aimock';
  readonly role: Role;
  readonly deltas: number;
  /** wirefault alone: `plain` has no masking and only the headers that a client needs. */
  readonly fidelity?: 'full' | 'plain';
  /** wirefault alone: without them the kernel is asked for nothing. */
  readonly ledgers?: false;
  /** What `ceiling` writes, in base64. */
  readonly answer?: string;
}

/** `stall`: headers, then silence. `paced`: `PACE_MS` after each delta. */
export type Role = 'success' | 'stall' | 'paced';

export const PACE_MS = 25;

const BEHAVIORS = { success: 'success', stall: 'stall', paced: 'slow_success' } as const;

const SERVERS: Readonly<Record<ServerSpec['kind'], (spec: ServerSpec) => Promise<number>>> = {
  ceiling: async ({ answer }) => {
    const bytes = Buffer.from(answer ?? '', 'base64');
    const server = net.createServer({ noDelay: true }, (socket) => serveFixed(socket, bytes));
    await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, resolve));
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  },
  wirefault: async ({ role, deltas, fidelity = 'full', ledgers }) => {
    // What is built and published; tsx would add its own work to the closures of src.
    const built = new URL('../../dist/index.js', import.meta.url).href;
    const { startFaultServer } = (await import(built)) as typeof import('../../src/index.js');
    const content = { successText: textOf(deltas), chunkSize: CHUNK_SIZE, chunkDelayMs: PACE_MS };
    const books = ledgers === false ? { ledgerHistory: 0 } : {};
    const script = { sequence: [BEHAVIORS[role]], repeatLast: true };
    return (await startFaultServer({ ...content, ...script, ...books, fidelity })).port;
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

/** As little as can be done: no parser, no routes, no record. */
function serveFixed(socket: net.Socket, answer: Buffer): void {
  let pending: Buffer | undefined;
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    let seen = pending ? Buffer.concat([pending, bytes]) : bytes;
    while (seen.length > 0) {
      const head = seen.indexOf('\r\n\r\n');
      if (head < 0) break;
      const length = /content-length: (\d+)/i.exec(seen.toString('latin1', 0, head))?.[1] ?? '0';
      const end = head + 4 + Number(length);
      if (seen.length < end) break;
      socket.write(answer);
      seen = seen.subarray(end);
    }
    pending = seen.length > 0 ? seen : undefined;
  });
}

process.once('message', async (spec: ServerSpec) => {
  try {
    process.send?.({ port: await SERVERS[spec.kind](spec) });
  } catch (thrown) {
    process.send?.({ failed: String(thrown) });
  }
});
