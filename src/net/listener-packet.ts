/**
 * The bytes of the packets with which connects are refused by hand: a SYN is read, and a RST, or the SYN once more,
 * made. Addresses are 4 or 16 bytes.
 */
export interface Syn {
  readonly source: Buffer;
  readonly target: Buffer;
  readonly sourcePort: number;
  readonly targetPort: number;
  readonly sequence: number;
  /** TCP Fast Open (RFC 7413) puts data into a SYN. */
  readonly payloadBytes: number;
  /** The whole TCP segment. */
  readonly segment: Buffer;
}

/** RFC 9293, section 3.1: where the header has what. */
const TCP_HEADER_BYTES = 20;
const OFFSET_AT = 12;
const FLAGS_AT = 13;
const CHECKSUM_AT = 16;
const SYN = 0x02;
const RST = 0x04;
const ACK = 0x10;
/** FIN, SYN, RST and ACK: what a SYN must have and what it must not. */
const HANDSHAKE_FLAGS = 0x17;
const IPPROTO_TCP = 6;
const HOP_LIMIT = 64;
const DONT_FRAGMENT = 0x4000;

export interface Endpoints {
  readonly source: Buffer;
  readonly target: Buffer;
}

/** The bytes are copied; `undefined` for every other segment. */
export function synOf(bytes: Buffer, { source, target }: Endpoints): Syn | undefined {
  if (bytes.length < TCP_HEADER_BYTES || (bytes.readUInt8(FLAGS_AT) & HANDSHAKE_FLAGS) !== SYN) return undefined;
  return {
    source: Buffer.from(source),
    target: Buffer.from(target),
    sourcePort: bytes.readUInt16BE(0),
    targetPort: bytes.readUInt16BE(2),
    sequence: bytes.readUInt32BE(4),
    payloadBytes: Math.max(0, bytes.length - (bytes.readUInt8(OFFSET_AT) >> 4) * 4),
    segment: Buffer.from(bytes),
  };
}

/** RFC 791, section 3.1: the addresses and the segment of an IPv4 packet. */
export function ipv4Parts(packet: Buffer): Endpoints & { readonly segment: Buffer } {
  const headerBytes = (packet.readUInt8(0) & 0x0f) * 4;
  return {
    source: packet.subarray(12, 16),
    target: packet.subarray(16, 20),
    segment: packet.subarray(headerBytes),
  };
}

/** The answer of a closed port (RFC 9293, section 3.5.2, group 1), as an IP packet. */
export function resetPacket(syn: Syn): Buffer {
  const reset = Buffer.alloc(TCP_HEADER_BYTES);
  reset.writeUInt16BE(syn.targetPort, 0);
  reset.writeUInt16BE(syn.sourcePort, 2);
  // A SYN takes a number of the sequence itself.
  reset.writeUInt32BE((syn.sequence + 1 + syn.payloadBytes) >>> 0, 8);
  reset.writeUInt8((TCP_HEADER_BYTES / 4) << 4, OFFSET_AT);
  reset.writeUInt8(RST | ACK, FLAGS_AT);
  return ipPacket({ source: syn.target, target: syn.source }, reset);
}

/** The SYN as an IP packet. IP options are left out. */
export function synPacket(syn: Syn): Buffer {
  return ipPacket(syn, Buffer.from(syn.segment));
}

/** The segment's checksum is made anew: on loopback, nobody has made one. */
function ipPacket(endpoints: Endpoints, segment: Buffer): Buffer {
  segment.writeUInt16BE(0, CHECKSUM_AT);
  segment.writeUInt16BE(checksum(endpoints, segment), CHECKSUM_AT);
  return Buffer.concat([
    endpoints.source.length === 4 ? ipv4Header(endpoints, segment) : ipv6Header(endpoints, segment),
    segment,
  ]);
}

/** RFC 9293, section 3.1: the ones' complement sum of a pseudo header (addresses, protocol, length) and the segment. */
function checksum({ source, target }: Endpoints, segment: Buffer): number {
  let sum = wordsOf(source) + wordsOf(target) + IPPROTO_TCP + segment.length + wordsOf(segment);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

function wordsOf(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
  return sum;
}

/** RFC 791, section 3.1. The kernel fills in the checksum and the identification (raw(7)). */
function ipv4Header({ source, target }: Endpoints, segment: Buffer): Buffer {
  const header = Buffer.alloc(20);
  header.writeUInt8(0x45, 0);
  header.writeUInt16BE(header.length + segment.length, 2);
  header.writeUInt16BE(DONT_FRAGMENT, 6);
  header.writeUInt8(HOP_LIMIT, 8);
  header.writeUInt8(IPPROTO_TCP, 9);
  header.set(source, 12);
  header.set(target, 16);
  return header;
}

/** RFC 8200, section 3. */
function ipv6Header({ source, target }: Endpoints, segment: Buffer): Buffer {
  const header = Buffer.alloc(40);
  header.writeUInt8(0x60, 0);
  header.writeUInt16BE(segment.length, 4);
  header.writeUInt8(IPPROTO_TCP, 6);
  header.writeUInt8(HOP_LIMIT, 7);
  header.set(source, 8);
  header.set(target, 24);
  return header;
}
