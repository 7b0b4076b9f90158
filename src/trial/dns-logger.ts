import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** The only resolver of a namespace: it writes down what is looked up, and knows nobody. */
export interface DnsLogger {
  /** Each name once, in order. */
  readonly names: readonly string[];
  readonly port: number;
  close(): Promise<void>;
}

const HEADER_BYTES = 12;
/** QR and RA set, NXDOMAIN (RFC 1035, section 4.1.1). */
const NO_SUCH_NAME = 0x8083;

export async function dnsLogger(port = 53, host = '127.0.0.1'): Promise<DnsLogger> {
  const names = new Set<string>();
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const question = questionOf(query);
    if (!question) return;
    names.add(question.name);
    const answer = Buffer.alloc(question.end);
    query.copy(answer, 0, 0, question.end);
    answer.writeUInt16BE(NO_SUCH_NAME, 2);
    // One question, and no records: what the query had beyond it isn't repeated.
    answer.writeUInt16BE(1, 4);
    answer.fill(0, 6, HEADER_BYTES);
    socket.send(answer, from.port, from.address);
  });
  socket.bind(port, host);
  await once(socket, 'listening');
  return {
    get names() {
      return [...names];
    },
    port: socket.address().port,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** The name that is asked for, and where the question ends; `undefined` for what is no query. */
export function questionOf(query: Buffer): { readonly name: string; readonly end: number } | undefined {
  if (query.length <= HEADER_BYTES || query.readUInt16BE(4) < 1) return undefined;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (;;) {
    const length = query[at];
    if (length === undefined || length > 63) return undefined;
    at++;
    if (length === 0) break;
    labels.push(query.toString('latin1', at, at + length));
    at += length;
  }
  const end = at + 4;
  return end <= query.length ? { name: labels.join('.').toLowerCase(), end } : undefined;
}
