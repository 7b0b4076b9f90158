import { addressBytes } from './address.js';
import type { Address } from './packet.js';

/**
 * An exchange as a capture file that Wireshark opens. The packets are made from what was recorded, not seen on a wire:
 * the bytes, the order and the end are those of the exchange; sizes of segments and acknowledgments are not.
 */
export interface RecordedExchange {
  readonly client: Address;
  readonly server: Address;
  readonly request: Recorded;
  /** Of the answer, in order. */
  readonly response: readonly Recorded[];
  readonly end: RecordedEnd;
  /** Since 1970. */
  readonly endAtMs: number;
}

export interface Recorded {
  /** Since 1970. */
  readonly atMs: number;
  readonly bytes: Buffer;
}

/** Who ended the connection first, and how; `open`: nobody did. */
export type RecordedEnd = 'server_rst' | 'server_fin' | 'client_rst' | 'client_fin' | 'open';

const LINKTYPE_RAW = 101;
const SNAP_BYTES = 262_144;
const IPPROTO_TCP = 6;
const HOPS = 64;
const WINDOW = 65_535;
const TCP_HEADER_BYTES = 20;
/** What an Ethernet of 1500 bytes carries in IPv6. */
const SEGMENT_BYTES = 1440;
/** Any number will do; these make the relative ones that Wireshark shows easy to check. */
const CLIENT_INITIAL = 1000;
const SERVER_INITIAL = 2000;

const FIN = 0x01;
const SYN = 0x02;
const RST = 0x04;
const PSH = 0x08;
const ACK = 0x10;

type Side = 'client' | 'server';

export function pcapOf(exchange: RecordedExchange): Buffer {
  const next = { client: CLIENT_INITIAL, server: SERVER_INITIAL };
  const records: Buffer[] = [];
  const send = (by: Side, flags: number, atMs: number, payload: Buffer = Buffer.alloc(0)): void => {
    const to = by === 'client' ? 'server' : 'client';
    const acknowledgment = flags & ACK ? next[to] : 0;
    const tcp = tcpSegment(exchange[by], exchange[to], { flags, sequence: next[by], acknowledgment, payload });
    records.push(record(atMs, ipPacket(exchange[by], exchange[to], tcp)));
    next[by] = (next[by] + payload.length + (flags & (SYN | FIN) ? 1 : 0)) >>> 0;
  };
  const sendAll = (by: Side, { atMs, bytes }: Recorded): void => {
    for (let at = 0; at < bytes.length; at += SEGMENT_BYTES) {
      send(by, PSH | ACK, atMs, bytes.subarray(at, at + SEGMENT_BYTES));
    }
    if (bytes.length > 0) send(by === 'client' ? 'server' : 'client', ACK, atMs);
  };

  const { request, response, end, endAtMs } = exchange;
  send('client', SYN, request.atMs);
  send('server', SYN | ACK, request.atMs);
  send('client', ACK, request.atMs);
  sendAll('client', request);
  for (const part of response) sendAll('server', part);
  switch (end) {
    case 'server_rst':
    case 'client_rst':
      send(end === 'server_rst' ? 'server' : 'client', RST | ACK, endAtMs);
      break;
    case 'server_fin':
    case 'client_fin': {
      const [first, second]: [Side, Side] = end === 'server_fin' ? ['server', 'client'] : ['client', 'server'];
      send(first, FIN | ACK, endAtMs);
      send(second, FIN | ACK, endAtMs);
      send(first, ACK, endAtMs);
      break;
    }
    case 'open':
      break;
    default:
      end satisfies never;
  }
  return Buffer.concat([fileHeader(), ...records]);
}

function fileHeader(): Buffer {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b2c3d4, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(SNAP_BYTES, 16);
  header.writeUInt32LE(LINKTYPE_RAW, 20);
  return header;
}

function record(atMs: number, packet: Buffer): Buffer {
  const header = Buffer.alloc(16);
  const micros = Math.round(atMs * 1000);
  header.writeUInt32LE(Math.floor(micros / 1e6), 0);
  header.writeUInt32LE(micros % 1e6, 4);
  header.writeUInt32LE(packet.length, 8);
  header.writeUInt32LE(packet.length, 12);
  return Buffer.concat([header, packet]);
}

interface Segment {
  readonly flags: number;
  readonly sequence: number;
  readonly acknowledgment: number;
  readonly payload: Buffer;
}

function tcpSegment(source: Address, target: Address, { flags, sequence, acknowledgment, payload }: Segment): Buffer {
  const header = Buffer.alloc(TCP_HEADER_BYTES);
  header.writeUInt16BE(source.port, 0);
  header.writeUInt16BE(target.port, 2);
  header.writeUInt32BE(sequence, 4);
  header.writeUInt32BE(acknowledgment, 8);
  header.writeUInt8((TCP_HEADER_BYTES / 4) << 4, 12);
  header.writeUInt8(flags, 13);
  header.writeUInt16BE(WINDOW, 14);
  const segment = Buffer.concat([header, payload]);
  // The pseudo-header of RFC 9293, section 3.1; IPv6's has wider fields of the same sum (RFC 8200, section 8.1).
  const pseudo = Buffer.concat([ipBytes(source), ipBytes(target), Buffer.from([0, IPPROTO_TCP, 0, 0])]);
  pseudo.writeUInt16BE(segment.length, pseudo.length - 2);
  segment.writeUInt16BE(checksum(Buffer.concat([pseudo, segment])), 16);
  return segment;
}

function ipPacket(source: Address, target: Address, tcp: Buffer): Buffer {
  const [from, to] = [ipBytes(source), ipBytes(target)];
  if (from.length === 4) {
    const header = Buffer.alloc(20);
    header.writeUInt8(0x45, 0);
    header.writeUInt16BE(header.length + tcp.length, 2);
    header.writeUInt16BE(0x4000, 6); // don't fragment
    header.writeUInt8(HOPS, 8);
    header.writeUInt8(IPPROTO_TCP, 9);
    header.set(from, 12);
    header.set(to, 16);
    header.writeUInt16BE(checksum(header), 10);
    return Buffer.concat([header, tcp]);
  }
  const header = Buffer.alloc(8);
  header.writeUInt8(0x60, 0);
  header.writeUInt16BE(tcp.length, 4);
  header.writeUInt8(IPPROTO_TCP, 6);
  header.writeUInt8(HOPS, 7);
  return Buffer.concat([header, from, to, tcp]);
}

/** An address that isn't one becomes 0.0.0.0: the bytes of the exchange are what counts. */
function ipBytes({ address }: Address): Buffer {
  return addressBytes(address) ?? Buffer.alloc(4);
}

/** The Internet checksum (RFC 1071): the complement of the one's complement sum of all 16-bit words. */
function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 1 < bytes.length; at += 2) sum += bytes.readUInt16BE(at);
  if (bytes.length % 2 === 1) sum += bytes.readUInt8(bytes.length - 1) << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
