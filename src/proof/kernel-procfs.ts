import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { addressBytes } from './address.js';
import { type Counters, flushedOf, type Kernel } from './counters.js';

/**
 * The same counters from /proc/net/tcp and tcp6 (proc(5)), for machines without koffi. A read costs 6 ms with few
 * sockets and 31 with 10,000 (measured: the kernel walks its whole table), so one reading serves all who ask meanwhile,
 * and Node's thread pool does it.
 *
 * `tx_queue` of our row is what isn't acknowledged; `rx_queue` of the client's row, on the same host, what it hasn't
 * read. Both are of the same moment only when all is acknowledged, so `read` is a lower bound until then.
 */
const FILES = ['/proc/net/tcp', '/proc/net/tcp6'] as const;

interface Row {
  readonly txQueue: number;
  readonly rxQueue: number;
}

type Table = ReadonlyMap<string, Row>;

export async function procfsKernel(): Promise<Kernel | undefined> {
  if (process.platform !== 'linux') return undefined;
  try {
    await readFile(FILES[0]);
  } catch {
    return undefined;
  }
  const table = sharedTable();
  return { source: 'procfs', probe: (socket) => ({ look: () => look(socket, table) }) };
}

/** Whoever asks while a reading is under way gets the next one: the one under way may be older than the question. */
function sharedTable(): () => Promise<Table> {
  let current: Promise<Table> | undefined;
  let following: Promise<Table> | undefined;
  const read = (): Promise<Table> => {
    const reading = readTables().finally(() => {
      current = undefined;
    });
    current = reading;
    return reading;
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

async function readTables(): Promise<Table> {
  const rows = new Map<string, Row>();
  for (const file of FILES) {
    const text = await readFile(file, 'latin1').catch(() => '');
    for (const line of text.split('\n').slice(1)) {
      // The row's number is padded with spaces, up to four digits.
      const [, local, remote, , queues] = line.trim().split(/\s+/);
      if (!local || !remote || !queues) continue;
      const [tx = '', rx = ''] = queues.split(':');
      rows.set(`${local} ${remote}`, { txQueue: Number.parseInt(tx, 16), rxQueue: Number.parseInt(rx, 16) });
    }
  }
  return rows;
}

async function look(socket: Socket, table: () => Promise<Table>): Promise<Counters | undefined> {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  // Before the reading: what is flushed while it is made may be in its queues, so `acked` is too low at worst.
  const flushed = flushedOf(socket);
  const rows = await table();
  const [ours, theirs] = [addressBytes(localAddress), addressBytes(remoteAddress)];
  if (flushed === undefined || !ours || !theirs || !localPort || !remotePort) return undefined;
  const find = (from: Buffer, fromPort: number, to: Buffer, toPort: number): Row | undefined =>
    forms(from, to)
      .map((form) => rows.get(`${form(from)}:${hexPort(fromPort)} ${form(to)}:${hexPort(toPort)}`))
      .find((row) => row !== undefined);
  const our = find(ours, localPort, theirs, remotePort);
  if (!our) return undefined;
  const their = find(theirs, remotePort, ours, localPort);
  const acked = Math.max(0, flushed - our.txQueue);
  return { flushed, acked, read: their ? Math.max(0, acked - their.rxQueue) : null };
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
