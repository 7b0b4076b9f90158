import { readdirSync, readFileSync } from 'node:fs';
import net, { type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type FaultProxyOptions, type ServerEvent, startFaultProxy } from '../../../src/index.js';
import type { Protocol } from '../../../src/sse/dialect.js';

/** An upstream of the test's own, made of nothing but sockets. */
export interface RawUpstream {
  readonly url: string;
  readonly port: number;
  /** Everything that came, a string for each connection. */
  readonly requests: readonly string[];
  readonly connections: readonly Socket[];
  close(): Promise<void>;
}

/** `answer` is sent for each whole request; a function does what it likes with the socket. */
export async function rawUpstream(
  answer: Buffer | ((socket: Socket, nth: number) => void),
  { onEnd = (socket: Socket) => void socket.end() } = {},
): Promise<RawUpstream> {
  const requests: string[] = [];
  const connections: Socket[] = [];
  let answered = 0;
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    const at = connections.push(socket) - 1;
    requests.push('');
    let pending = '';
    socket.on('error', () => {});
    socket.on('end', () => onEnd(socket));
    socket.on('data', (bytes) => {
      requests[at] += bytes.toString('latin1');
      pending += bytes.toString('latin1');
      for (let length = requestLength(pending); length > 0; length = requestLength(pending)) {
        pending = pending.slice(length);
        answered++;
        if (typeof answer === 'function') answer(socket, answered);
        else socket.write(answer);
      }
    });
  });
  const port = await listening(server);
  const close = (): Promise<void> => {
    for (const socket of connections) socket.destroy();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  onTestFinished(() => (server.listening ? close() : undefined));
  return { url: `http://127.0.0.1:${port}`, port, requests, connections, close };
}

/** The length of the first whole request in `text`; 0 where there is none. */
function requestLength(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return 0;
  const length = head + 4 + Number(/content-length: *(\d+)/i.exec(text.slice(0, head))?.[1] ?? 0);
  return text.length >= length ? length : 0;
}

export async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as net.AddressInfo).port;
}

/** A proxy for one test, closed at its end. */
export async function proxied(options: FaultProxyOptions) {
  const events: ServerEvent[] = [];
  const proxy = await startFaultProxy({
    settleTimeoutMs: 1000,
    ...options,
    onEvent: (event) => {
      events.push(event);
    },
  });
  onTestFinished(() => proxy.close());
  return Object.assign(proxy, { events });
}

const RECORDINGS = '/work/shared/dialects/recordings';

export interface Recording {
  readonly name: string;
  readonly protocol: Protocol;
  readonly body: Buffer;
}

const PROTOCOL_OF: Readonly<Record<string, Protocol>> = {
  'openai-chat': 'openai-chat',
  'deepseek-chat': 'openai-chat',
  'azure-chat': 'openai-chat',
  'compat-chat': 'openai-chat',
  'openai-responses': 'openai-responses',
  'compat-responses': 'openai-responses',
  anthropic: 'anthropic-messages',
};

/** What real providers sent, where the folder is there. */
export function recordings(): Recording[] {
  try {
    return Object.entries(PROTOCOL_OF).flatMap(([folder, protocol]) =>
      readdirSync(join(RECORDINGS, folder))
        .filter((name) => name.endsWith('.sse'))
        .map((name) => ({ name: `${folder}/${name}`, protocol, body: readFileSync(join(RECORDINGS, folder, name)) })),
    );
  } catch {
    return [];
  }
}

export const PATH_OF: Readonly<Record<Protocol, string>> = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
};

/** A body as an upstream sends it: in chunks that end where events don't. */
export function chunkedAnswer(body: Buffer, chunkBytes = 1000, type = 'text/event-stream'): Buffer {
  const parts: Buffer[] = [
    Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`),
  ];
  for (let at = 0; at < body.length; at += chunkBytes) {
    const data = body.subarray(at, at + chunkBytes);
    parts.push(Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
