import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { addressBytes } from './address.js';
import { flushedOf, type Kernel, type SocketProbe, withoutFin } from './counters.js';

/**
 * The same counters from /proc/net/tcp and tcp6 (proc(5)), for machines without koffi. A read costs 6 ms with few
 * sockets and 31 with 10,000 (measured: the kernel walks its whole table), so one reading serves all who ask meanwhile,
 * and Node's thread pool does it.
 *
 * `tx_queue` of our row is what isn't acknowledged; `rx_queue` of the client's row, on the same host, what it hasn't
 * read. The rows are not of one moment: bytes that come between the two would count as read where the client's row was
 * the first. What is acknowledged before the client's row was read is received by then, so `read` is never too high.
 */
const FILES = ['/proc/net/tcp', '/proc/net/tcp6'] as const;

interface Row {
  readonly txQueue: number;
  readonly rxQueue: number;
  /** Rows are read one after the other. */
  readonly order: number;
}

interface Table {
  readonly rows: ReadonlyMap<string, Row>;
  /** Readings are counted. */
  readonly reading: number;
}

export async function procfsKernel(): Promise<Kernel | undefined> {
  if (process.platform !== 'linux') return undefined;
  try {
    await readFile(FILES[0]);
  } catch {
    return undefined;
  }
  const table = sharedTable();
  return { source: 'procfs', probe: (socket) => probeOf(socket, table) };
}

/** Whoever asks while a reading is under way gets the next one: the one under way may be older than the question. */
function sharedTable(): () => Promise<Table> {
  let current: Promise<Table> | undefined;
  let following: Promise<Table> | undefined;
  let readings = 0;
  const read = (): Promise<Table> => {
    const reading = ++readings;
    const table = readRows().then((rows) => {
      current = undefined;
      return { rows, reading };
    });
    current = table;
    return table;
  };
  return () => {
    if (!current) return read();
    following ??= current.then(() => {
      following = undefined;
      return read();
    });
    return following;
  };
}

async function readRows(): Promise<Table['rows']> {
  const rows = new Map<string, Row>();
  for (const file of FILES) {
    const text = await readFile(file, 'latin1').catch(() => '');
    for (const line of text.split('\n').slice(1)) {
      // The row's number is padded with spaces, up to four digits.
      const [, local, remote, , queues] = line.trim().split(/\s+/);
      if (!local || !remote || !queues) continue;
      const [tx = '', rx = ''] = queues.split(':');
      const [txQueue, rxQueue] = [Number.parseInt(tx, 16), Number.parseInt(rx, 16)];
      rows.set(`${local} ${remote}`, { txQueue, rxQueue, order: rows.size });
    }
  }
  return rows;
}

function probeOf(socket: Socket, table: () => Promise<Table>): SocketProbe {
  let last = { reading: 0, acked: 0 };
  let ackedBefore = 0;
  return {
    look: async () => {
      const { remoteAddress, remotePort, localAddress, localPort } = socket;
      // Before the reading: what is flushed while it is made may be in its queues, so `acked` is too low at worst.
      const flushed = flushedOf(socket);
      const finished = socket.writableFinished;
      const { rows, reading } = await table();
      const [ours, theirs] = [addressBytes(localAddress), addressBytes(remoteAddress)];
      if (flushed === undefined || !ours || !theirs || !localPort || !remotePort) return undefined;
      const our = find(rows, ours, localPort, theirs, remotePort);
      if (!our) return undefined;
      const their = find(rows, theirs, remotePort, ours, localPort);
      const acked = Math.max(last.acked, flushed - withoutFin(our.txQueue, finished));
      if (last.reading !== reading) ackedBefore = last.acked;
      last = { reading, acked };
      if (!their) return { flushed, acked, read: null };
      const ordered = our.order < their.order;
      // With nothing in our queue the client had our FIN, too.
      const unread = withoutFin(their.rxQueue, finished && ordered && our.txQueue === 0);
      return { flushed, acked, read: Math.max(0, (ordered ? acked : ackedBefore) - unread) };
    },
  };
}

function find(rows: Table['rows'], from: Buffer, fromPort: number, to: Buffer, toPort: number): Row | undefined {
  return forms(from, to)
    .map((form) => rows.get(`${form(from)}:${hexPort(fromPort)} ${form(to)}:${hexPort(toPort)}`))
    .find((row) => row !== undefined);
}

/** How rows write the addresses: an IPv4 address stands by itself, or mapped where the socket is an IPv6 one. */
function forms(from: Buffer, to: Buffer): ((address: Buffer) => string)[] {
  const mapped = (address: Buffer): string => `0000000000000000FFFF0000${hexWords(address)}`;
  return from.length === 4 && to.length === 4 ? [hexWords, mapped] : [hexWords];
}

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');

/** The kernel prints each 32-bit word of an address in the byte order of the host. */
function hexWords(address: Buffer): string {
  const swapped = Buffer.from(address).swap32();
  return swapped.toString('hex').toUpperCase();
}
