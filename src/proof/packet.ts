import net from 'node:net';
import { WirefaultError } from '../errors.js';
import type { Packet } from './pcap.js';

/** From a packet to its TCP segment. Checksums aren't looked at: a sender's network card often makes them later. */
export interface TcpSegment {
  readonly atMs: number;
  readonly source: Address;
  readonly target: Address;
  readonly sequence: number;
  readonly acknowledgment: number;
  readonly flags: TcpFlags;
  /** As far as it was captured. */
  readonly payload: Buffer;
  /** As it was on the wire. */
  readonly payloadBytes: number;
}

export interface Address {
  readonly address: string;
  readonly port: number;
}

export interface TcpFlags {
  readonly fin: boolean;
  readonly syn: boolean;
  readonly rst: boolean;
  readonly ack: boolean;
}

const ETHERTYPE_IPV4 = 0x0800;
const ETHERTYPE_IPV6 = 0x86dd;
/** IEEE 802.1Q and 802.1ad: four more bytes before the type. */
const VLAN_TYPES = [0x8100, 0x88a8];
const IPPROTO_TCP = 6;
/** Hop-by-hop, routing and destination options: a length in units of 8 bytes, the first not counted (RFC 8200). */
const IPV6_EXTENSIONS = [0, 43, 60];
const IPV6_HEADER_BYTES = 40;
const TCP_HEADER_BYTES = 20;

/**
 * Bytes before the IP packet, and where among them stands the type of what follows. Without one it is IP anyway.
 * https://www.tcpdump.org/linktypes.html
 */
const LINK_TYPES: Readonly<Record<number, { readonly name: string; readonly bytes: number; readonly type?: number }>> =
  {
    0: { name: 'NULL', bytes: 4 },
    1: { name: 'Ethernet', bytes: 14, type: 12 },
    12: { name: 'RAW', bytes: 0 },
    14: { name: 'RAW', bytes: 0 },
    101: { name: 'RAW', bytes: 0 },
    108: { name: 'LOOP', bytes: 4 },
    113: { name: 'LINUX_SLL', bytes: 16, type: 14 },
    228: { name: 'IPV4', bytes: 0 },
    229: { name: 'IPV6', bytes: 0 },
    276: { name: 'LINUX_SLL2', bytes: 20, type: 0 },
  };

/**
 * `undefined` for what isn't TCP, and for a fragment of IP.
 * @throws WirefaultError `bad_evidence` where the capture is of a link that isn't known
 */
export function segmentOf(packet: Packet): TcpSegment | undefined {
  const { bytes } = packet;
  const link = LINK_TYPES[packet.linkType];
  if (!link) {
    const known = [...new Set(Object.values(LINK_TYPES).map(({ name }) => name))].join(', ');
    throw new WirefaultError('bad_evidence', `capture: link type ${packet.linkType} is not known (known: ${known})`);
  }
  let at = link.bytes;
  if (link.type !== undefined) {
    let type = u16(bytes, link.type);
    while (type !== undefined && VLAN_TYPES.includes(type)) {
      type = u16(bytes, at + 2);
      at += 4;
    }
    if (type !== ETHERTYPE_IPV4 && type !== ETHERTYPE_IPV6) return undefined;
  }
  const ip = ipPayload(bytes.subarray(at));
  return ip && tcpOf(ip, packet.atMs);
}

function u16(bytes: Buffer, at: number): number | undefined {
  return at + 2 <= bytes.length ? bytes.readUInt16BE(at) : undefined;
}

interface IpPayload {
  readonly source: string;
  readonly target: string;
  readonly bytes: Buffer;
  /** As it was on the wire. */
  readonly length: number;
}

function ipPayload(ip: Buffer): IpPayload | undefined {
  const version = (ip[0] ?? 0) >> 4;
  if (version === 4) return ipv4Payload(ip);
  return version === 6 ? ipv6Payload(ip) : undefined;
}

function ipv4Payload(ip: Buffer): IpPayload | undefined {
  const headerBytes = ((ip[0] ?? 0) & 0xf) * 4;
  if (headerBytes < 20 || ip.length < headerBytes || ip[9] !== IPPROTO_TCP) return undefined;
  const fragment = ip.readUInt16BE(6) & 0x3fff;
  if (fragment !== 0) return undefined;
  // 0: a packet that is larger than the field, before the network card has cut it up.
  const total = ip.readUInt16BE(2) || ip.length;
  return {
    source: ip.subarray(12, 16).join('.'),
    target: ip.subarray(16, 20).join('.'),
    bytes: ip.subarray(headerBytes, total),
    length: total - headerBytes,
  };
}

function ipv6Payload(ip: Buffer): IpPayload | undefined {
  if (ip.length < IPV6_HEADER_BYTES) return undefined;
  const end = IPV6_HEADER_BYTES + (ip.readUInt16BE(4) || ip.length - IPV6_HEADER_BYTES);
  let next = ip.readUInt8(6);
  let at = IPV6_HEADER_BYTES;
  while (IPV6_EXTENSIONS.includes(next) && at + 2 <= ip.length) {
    next = ip.readUInt8(at);
    at += (ip.readUInt8(at + 1) + 1) * 8;
  }
  if (next !== IPPROTO_TCP || at > ip.length) return undefined;
  return {
    source: ipv6Text(ip.subarray(8, 24)),
    target: ipv6Text(ip.subarray(24, 40)),
    bytes: ip.subarray(at, end),
    length: end - at,
  };
}

/** The shortest form (RFC 5952), as Node writes it. */
function ipv6Text(bytes: Buffer): string {
  const words = Array.from({ length: 8 }, (_, n) => bytes.readUInt16BE(n * 2).toString(16)).join(':');
  return new net.SocketAddress({ address: words, family: 'ipv6' }).address;
}

function tcpOf(ip: IpPayload, atMs: number): TcpSegment | undefined {
  const { bytes } = ip;
  if (bytes.length < TCP_HEADER_BYTES) return undefined;
  const headerBytes = (bytes.readUInt8(12) >> 4) * 4;
  const flags = bytes.readUInt8(13);
  if (headerBytes < TCP_HEADER_BYTES || headerBytes > ip.length) return undefined;
  return {
    atMs,
    source: { address: ip.source, port: bytes.readUInt16BE(0) },
    target: { address: ip.target, port: bytes.readUInt16BE(2) },
    sequence: bytes.readUInt32BE(4),
    acknowledgment: bytes.readUInt32BE(8),
    flags: { fin: (flags & 1) !== 0, syn: (flags & 2) !== 0, rst: (flags & 4) !== 0, ack: (flags & 16) !== 0 },
    payload: bytes.subarray(headerBytes),
    payloadBytes: ip.length - headerBytes,
  };
}
