import net, { type Socket } from 'node:net';
import './report.js';

/** What stands in a chain: the upstream, or what is between it and the client. */
export interface ChainSpec {
  readonly part: 'upstream' | 'pipe' | 'wirefault';
  /** The port of the upstream. */
  readonly to?: number;
  /** wirefault alone: without them no byte is hashed and no event is counted. */
  readonly ledgers?: false;
}

export type Load = 'big' | 'events' | 'timed';

export const BIG_BYTES = 104_857_600;
export const EVENTS = 10_000;
export const TIMED_EVENTS = 1000;
const TIMED_GAP_MS = 1;

const BLOCK = Buffer.alloc(65_536, 'x');
const FILLER = JSON.stringify({ id: 'chatcmpl-x', object: 'chat.completion.chunk', obfuscation: 'abcdefgh' }).slice(1);

function eventChunk(content: string): string {
  const data = `data: {"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}],${FILLER}\n\n`;
  return `${data.length.toString(16)}\r\n${data}\r\n`;
}

/** Resolves when the socket has room again. */
function written(socket: Socket, bytes: Buffer | string): Promise<void> | undefined {
  if (socket.write(bytes)) return undefined;
  return new Promise((resolve) => socket.once('drain', resolve));
}

const STREAM = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const END = '0\r\n\r\n';

const ANSWERS: Readonly<Record<Load, (socket: Socket) => Promise<void>>> = {
  big: async (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: ${BIG_BYTES}\r\n\r\n`);
    for (let sent = 0; sent < BIG_BYTES; sent += BLOCK.length) await written(socket, BLOCK);
  },
  events: async (socket) => {
    socket.write(STREAM);
    const event = eventChunk('hello wo');
    for (let n = 0; n < EVENTS; n++) await written(socket, event);
    socket.write(END);
  },
  timed: async (socket) => {
    socket.write(STREAM);
    for (let n = 0; n < TIMED_EVENTS; n++) {
      await new Promise((resolve) => setTimeout(resolve, TIMED_GAP_MS));
      // The monotonic clock of the machine, which all its processes share.
      socket.write(eventChunk(`at=${process.hrtime.bigint()};`));
    }
    socket.write(END);
  },
};

async function listen(server: net.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1' }, resolve));
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

const PARTS: Readonly<Record<ChainSpec['part'], (spec: ChainSpec) => Promise<number>>> = {
  upstream: () =>
    listen(
      net.createServer({ noDelay: true }, (socket) => {
        socket.on('error', () => {});
        socket.on('data', (bytes) => {
          const load = /"load":"(\w+)"/.exec(bytes.toString('latin1'))?.[1] as Load | undefined;
          if (load) void ANSWERS[load](socket);
        });
      }),
    ),
  // As little as can be done.
  pipe: ({ to = 0 }) =>
    listen(
      net.createServer({ noDelay: true }, (client) => {
        const upstream = net.connect({ port: to, host: '127.0.0.1', noDelay: true });
        for (const socket of [client, upstream]) socket.on('error', () => {});
        client.pipe(upstream);
        upstream.pipe(client);
      }),
    ),
  wirefault: async ({ to, ledgers }) => {
    const built = new URL('../../dist/index.js', import.meta.url).href;
    const { startFaultProxy } = (await import(built)) as typeof import('../../src/index.js');
    const books = ledgers === false ? { ledgerHistory: 0, control: false } : {};
    return (await startFaultProxy({ upstream: `http://127.0.0.1:${to}`, ...books })).port;
  },
};

process.once('message', async (spec: ChainSpec) => {
  try {
    process.send?.({ port: await PARTS[spec.part](spec) });
  } catch (thrown) {
    process.send?.({ failed: String(thrown) });
  }
});
